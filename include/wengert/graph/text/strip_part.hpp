// One function of a long loop: statements of single numbers or vectors, or of packs.
#pragma once

#include <map>

#include "strip_places.hpp"

namespace wengert::detail {

class StripPart : public FusedText {
public:
    using Pack = NumberPacks::Pack;

    StripPart(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group, bool of_packs)
        : FusedText(g, layouts, group), of_packs_(of_packs)
    {}
    StripPart(const StripPart&) = delete;
    /// `read_behind`: a later part reads it.
    void add_statement(const Pack& x, const TypedProgram& program, StripPlaces& places, bool read_behind)
    {
        const GraphNode& n = g_.node(x[0]);
        std::vector<std::string> in;
        for (std::size_t i = 0; i < n.inputs.size(); ++i)
            in.push_back(
                name(places, of_packs_ ? places.packs.operand(x, i) : PackOrder::alone(n.inputs[i])));
        if (std::string now = line_directive(n.at); !now.empty() && now != line_)
            out_ += line_ = std::move(now);
        const std::string value = names_[x] = code_.write(program, in);
        statements_ += program.steps().size() - n.inputs.size();
        if (read_behind) store(x, places, value);
        put(x, places, value);
    }
    bool of_packs() const noexcept { return of_packs_; }
    std::size_t statements() const noexcept { return statements_; }
    /// The text with the places in it, or with those that it is given.
    std::string placed(const StripPlaces& places, bool given) const
    {
        std::string out;
        std::size_t next = 0;
        for (std::size_t i = 0; i < out_.size(); ++i) {
            if (out_[i] != mark) {
                out += out_[i];
                continue;
            }
            i = out_.find(mark, i + 1);
            out += given ? filled("q[$]", next) : places.at(slots_[next]);
            ++next;
        }
        return out;
    }
    /// The places that it is given.
    std::string table(const StripPlaces& places) const
    {
        std::string list;
        for (const std::uint32_t s : slots_) list += places.at(s) + ", ";
        return list;
    }

private:
    /// A place has a mark in the text: its number among `slots_`.
    static constexpr char mark = '\1';

    std::string marked(std::uint32_t place, const std::string& base = "s")
    {
        slots_.push_back(place);
        return base + " + " + mark + number(slots_.size() - 1) + mark;
    }
    bool is_flag(ValueId v) const { return g_.node(v).dtype == DType::boolean; }

    std::string name(const StripPlaces& places, const Pack& x)
    {
        if (is_literal(x[0])) return literal(x[0]);
        if (const auto at = names_.find(x); at != names_.end()) return at->second;
        const std::string made = "x" + number(names_.size());
        const std::string value = of_packs_ ? read_pack(places, x) : read_vector(places, x[0]);
        add("        const auto $ = $;", made, value);
        return names_[x] = made;
    }
    std::string read_vector(const StripPlaces& places, ValueId v)
    {
        if (places.packs.has(v)) return filled("K<f64v>($)", read_number(places, v));
        const std::string read = filled("*(const $v*)($)", type(v), marked(places.place(v)));
        return is_flag(v) ? "mask_of_bytes(" + read + ")" : read;
    }
    std::string read_pack(const StripPlaces& places, const Pack& x)
    {
        if (places.packs.is_pack(x)) return filled("*(const f64v*)($)", marked(places.place(x[0])));
        if (NumberPacks::is_shared(x)) return filled("K<f64v>($)", read_number(places, x[0]));
        std::string list;
        for (ValueId v : x) list += (list.empty() ? "" : ", ") + read_number(places, v);
        return "f64v{" + list + "}";
    }
    /// A lane of a pack that is there already, or from memory.
    std::string read_number(const StripPlaces& places, ValueId v)
    {
        const NumberPacks& packs = places.packs;
        if (const auto at = packs.has(v) ? names_.find(packs.of(v)) : names_.end(); at != names_.end())
            return filled("($)[$]", at->second, packs.lane(v));
        return filled("*(const f64*)($)", marked(places.place(v)));
    }
    void store(const Pack& x, StripPlaces& places, const std::string& value)
    {
        const std::string to = marked(of_packs_ ? places.slots.take_pack(x[0]) : places.slots.take(x[0]));
        const char* const t = type(x[0]);
        add(is_flag(x[0]) ? "        *($v*)($) = ($v)bytes_of_mask<N>($);" : "        *($v*)($) = ($v)($);",
            t, to, t, value);
    }
    /// Results that lie in arrays.
    void put(const Pack& x, StripPlaces& places, const std::string& value)
    {
        bool row = of_packs_;
        for (std::size_t l = 1; l < x.size(); ++l) row = row && places.roots.side_by_side(x[l - 1], x[l]);
        if (row) return add("        store((f64*)($), (f64v)($));", in_array(x[0], places), value);
        for (std::size_t l = 0; l < x.size() && x[l] != no_value; ++l)
            if (places.roots.in_array(x[l]))
                add("        *($*)($) = (($v)($))[$];", type(x[l]), in_array(x[l], places), type(x[l]), value,
                    l);
    }
    /// The address of a result in an array, whose own address comes from the frame first.
    std::string in_array(ValueId v, StripPlaces& places)
    {
        const std::string array = "o" + number(places.roots.argument(v));
        if (arrays_.insert(array).second)
            add("        char* const __restrict $ = *(char* const*)($);", array, marked(places.address(v)));
        return marked(places.in_array(v), array);
    }

    bool of_packs_;
    TermCode code_{out_, true};
    std::map<Pack, std::string> names_;
    std::string line_;
    std::vector<std::uint32_t> slots_;
    std::size_t statements_ = 0;
    std::set<std::string> arrays_;  ///< whose addresses it has read
};

}  // namespace wengert::detail
