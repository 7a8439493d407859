// The text of a loop with very many operations, as functions of bounded length, so that the time to compile it grows with its length
// and not faster.
//
// The loop goes over its elements in strips of a few vectors. Each vector of a strip has a frame: places of one vector each, for the
// operands, the results, and what one function leaves to the next. A function does some hundred operations on all vectors of a strip,
// and then the next one does. Frames stay in the second-level cache. Vectors are always whole: what a strip lacks at the end is its
// last element again. So one text serves all lengths.
#pragma once

#include <functional>
#include <unordered_set>

#include "loop_text.hpp"
#include "strip_rooms.hpp"

namespace wengert::detail {

/// What the text of strips begins with.
inline constexpr const char strip_text[] = R"wg(
#line 1 "wengert"
/* where operand or result p[index], from a byte of it on, has its place in a frame; step is 0 for one number */
struct wg_place { i32 index, at, bytes, step; i64 from; };
struct wg_part { void (*run)(char* s, i64 frame, i32 vectors, f64 zero, const u32* q); const u32* q; };
struct wg_strips { i32 lanes, width, most; i64 frame; const wg_place *in, *in_end, *out, *out_end; const wg_part *part, *part_end; };
static void wg_fill(char* to, const char* from, i64 have, i64 lanes, i64 bytes)
{
    memcpy(to, from, have * bytes);
    for (i64 l = have; l < lanes; ++l) memcpy(to + l * bytes, to + (have - 1) * bytes, bytes);
}
static void wg_move(char* frames, char* p, const wg_strips* t, const wg_place* q, i64 count, bool out)
{
    const i64 lanes = t->lanes, bytes = lanes * q->bytes;
    frames += q->at;
    for (; count >= lanes; count -= lanes, frames += t->frame, p += bytes)
        if (bytes == register_bytes) memcpy(out ? p : frames, out ? frames : p, register_bytes);
        else memcpy(out ? p : frames, out ? frames : p, bytes);
    if (count > 0 && out) memcpy(p, frames, count * q->bytes);
    else if (count > 0) wg_fill(frames, p, count, lanes, q->bytes);
}
static void wg_put_numbers(const char* frames, void* const* p, const wg_strips* t)
{
    for (const wg_place* q = t->out; q < t->out_end; ++q)
        if (q->bytes == 8) memcpy((char*)p[q->index] + q->from, frames + q->at, 8);
        else memcpy((char*)p[q->index] + q->from, frames + q->at, q->bytes);
}
static void wg_run_strips(const wg_strips* t, void* const* p, char* frames, i64 n, f64 zero)
{
    const i64 strip = (i64)t->most * t->lanes;
    frames += (64 - (u64)frames % 64) % 64;
    for (const wg_place* q = t->in; q < t->in_end; ++q)
        for (i64 k = 0; q->step == 0 && k < t->most; ++k) wg_fill(frames + k * t->frame + q->at, (char*)p[q->index], 1, t->lanes, q->bytes);
    for (i64 i = 0; i < n; i += strip) {
        const i64 count = n - i < strip ? n - i : strip;
        for (const wg_place* q = t->in; q < t->in_end; ++q)
            if (q->step) wg_move(frames, (char*)p[q->index] + i * q->bytes, t, q, count, false);
        for (const wg_part* f = t->part; f < t->part_end; ++f) f->run(frames, t->frame, (count + t->lanes - 1) / t->lanes, zero, f->q);
        if (n == 1) wg_put_numbers(frames, p, t);
        else for (const wg_place* q = t->out; q < t->out_end; ++q) wg_move(frames, (char*)p[q->index] + i * q->bytes, t, q, count, true);
    }
}
)wg";

/// A long loop as text: what calls its parts, with the elements' number as an argument, is text().
class StripText : public FusedText {
public:
    /// Statements of a function: more of them take the compiler longer for each.
    static constexpr std::size_t most_statements = 160;
    /// Bytes that the frames of a strip may take together.
    static constexpr std::size_t strip_bytes = std::size_t{1} << 19;
    /// Adds a function to the text and returns its name, given a letter, what stands before the name, and the rest.
    using Once = std::function<std::string(char, const std::string&, const std::string&)>;

    StripText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group)
        : FusedText(g, layouts, group), last_(g.size(), 0), rooms_(g, layouts, group)
    {
        vectors_for(count() > 2 ? 64 : 1);
        types_ = std::exchange(out_, {});
        cut();
        place_operands();
        for (std::size_t c = 0; c + 1 < begins_.size(); ++c) part(c);
        for (const Part& p : parts_)
            if (known_.insert(p.text).second) statements_ += p.statements;
    }
    std::int64_t count() const
    {
        return static_cast<std::int64_t>(element_count(g_.node(group_.nodes[0]).shape));
    }
    /// Bytes that it works in, at most.
    std::size_t workspace() const { return vectors() * frame_bytes() + rooms_.bytes() + 64; }
    /// Of functions that differ, how many statements there are.
    std::size_t statements() const noexcept { return statements_; }
    void write(const Once& once)
    {
        const bool tables = 2 * known_.size() <= parts_.size();  // functions are alike but for their places
        std::string list;
        out_ = "(void* const* p, char* arena, i64 n, f64 zero)\n{\n" + types_;
        for (std::size_t k = 0; k < parts_.size(); ++k) {
            const std::string f = once('p', "#line 1 \"wengert\"\nstatic void ",
                                       "(char* s, i64 frame, i32 vectors, f64 zero, const u32* q)\n{\n" +
                                           types_ + "    for (; vectors > 0; --vectors, s += frame) {\n" +
                                           placed(parts_[k], tables) + "    }\n}\n");
            if (tables) add("    static const u32 q$[] = {$};", k, table(parts_[k]));
            list += filled(tables ? "{$, q$}, " : "{$, 0}, ", f, k);
        }
        add("    static const wg_place in[] = {$}, out[] = {$};", operands_, results());
        add("    static const wg_part parts[] = {$};", list);
        add("    static const wg_strips strips = {N, W, $, (W * $ + 127) / 128 * 128 + 64, in, $, out, $, "
            "parts, "
            "$};",
            vectors(), slots_, "in + " + number(fetched_), "out + sizeof out / sizeof *out - 1",
            "parts + " + number(parts_.size()));
        out_ += "    wg_run_strips(&strips, p, arena, n, zero);\n}\n";
    }

private:
    /// A function. A place in its frames has a mark in the text: its number among `slots`.
    struct Part {
        std::string text;
        std::vector<std::uint32_t> slots;
        std::size_t statements = 0;
    };
    static constexpr char mark = '\1';

    std::size_t frame_bytes() const { return (64 * slots_ + 127) / 128 * 128 + 64; }
    std::size_t vectors() const
    {
        return count() > 2 ? std::clamp<std::size_t>(strip_bytes / frame_bytes(), 1, 16) : 1;
    }

    /// Where parts begin, and the last part that reads each value.
    void cut()
    {
        std::size_t statements = most_statements;
        for (std::size_t k = 0; k < group_.nodes.size(); ++k) {
            const ValueId v = group_.nodes[k];
            programs_.push_back(program_of(g_, layouts_, v));
            const std::size_t more = programs_.back().steps().size() - g_.node(v).inputs.size();
            if (statements + more > most_statements) {
                begins_.push_back(k);
                statements = 0;
            }
            statements += more;
            for (ValueId i : g_.node(v).inputs) last_[i] = begins_.size() - 1;
        }
        ends_.resize(begins_.size());
        begins_.push_back(group_.nodes.size());
        for (ValueId v : group_.results)
            if (!rooms_.has(v)) last_[v] = begins_.size();  // beyond all parts
    }
    void place_operands()
    {
        const Shape& shape = g_.node(group_.nodes[0]).shape;
        for (std::size_t k = 0; k < group_.operands.size(); ++k) {
            const ValueId v = group_.operands[k];
            if (is_literal(v)) continue;
            const LoopSpace space(shape, {broadcast_strides(g_.node(v).shape, layouts_[v].strides, shape)},
                                  0);
            const bool runs = space.strides[0].back() != 0;
            if (!runs) last_[v] = begins_.size();  // fetched once
            operands_ += filled("{$, $ * W, $, $}, ", k, take_slot(v), size_of(g_.node(v).dtype), int(runs));
            ++fetched_;
        }
        operands_ += "{}";
    }
    std::uint32_t take_slot(ValueId v)
    {
        std::uint32_t s = static_cast<std::uint32_t>(slots_);
        if (free_.empty())
            ++slots_;
        else
            s = *free_.begin(), free_.erase(free_.begin());
        if (last_[v] < ends_.size()) ends_[last_[v]].push_back(s);
        return slot_[v] = s;
    }
    std::string results() const
    {
        const ResultRoots roots(layouts_, group_);
        std::vector<StripResult> all;
        for (ValueId v : group_.results)
            all.push_back({group_.operands.size() + roots.argument(layouts_[v].root),
                           rooms_.has(v) ? rooms_.place(v) : slot_.at(v), size_of(g_.node(v).dtype),
                           layouts_[v].offset});
        std::string list;
        for (const StripResult& r : as_runs(std::move(all)))
            list += filled("{$, $, $, 1, $}, ", r.index, at(r.place), r.bytes, r.from);
        return list + "{}";
    }

    void part(std::size_t c)
    {
        Part p;
        std::unordered_map<ValueId, std::string> names;
        TermCode code(p.text, true);
        std::string at;
        for (std::size_t k = begins_[c]; k < begins_[c + 1]; ++k) {
            const ValueId v = group_.nodes[k];
            const GraphNode& n = g_.node(v);
            std::vector<std::string> in;
            for (ValueId i : n.inputs) in.push_back(name(p, names, i));
            if (std::string line = line_directive(n.at); !line.empty() && line != at)
                p.text += at = std::move(line);
            names[v] = code.write(programs_[k], in);
            p.statements += programs_[k].steps().size() - n.inputs.size();
            if (last_[v] > c) store(p, v, names[v]);
            if (rooms_.has(v)) put(p, v, names[v]);
        }
        for (const std::uint32_t s : ends_[c]) free_.insert(s);
        parts_.push_back(std::move(p));
    }
    std::string name(Part& p, std::unordered_map<ValueId, std::string>& names, ValueId v) const
    {
        if (is_literal(v)) return literal(v);
        const auto [at, fresh] = names.emplace(v, "x" + number(p.slots.size()));
        if (fresh) {
            const std::string read = filled("*(const $v*)($)", type(v), place(p, v));
            p.text += filled("        const auto $ = $;\n", at->second,
                             is_flag(v) ? "mask_of_bytes(" + read + ")" : read);
        }
        return at->second;
    }
    void store(Part& p, ValueId v, const std::string& value)
    {
        take_slot(v);
        const std::string to = place(p, v);
        p.text += filled(is_flag(v) ? "        *($v*)($) = ($v)bytes_of_mask<N>($);\n"
                                    : "        *($v*)($) = ($v)($);\n",
                         type(v), to, type(v), value);
    }
    /// A result has its place in its room.
    void put(Part& p, ValueId v, const std::string& value) const
    {
        p.slots.push_back(rooms_.place(v));
        p.text += filled("        *($*)($) = (($v)($))[0];\n", type(v), marked(p), type(v), value);
    }
    bool is_flag(ValueId v) const { return g_.node(v).dtype == DType::boolean; }
    std::string place(Part& p, ValueId v) const
    {
        p.slots.push_back(slot_.at(v));
        return marked(p);
    }
    static std::string marked(const Part& p)
    {
        return std::string("s + ") + mark + number(p.slots.size() - 1) + mark;
    }
    std::string at(std::size_t place) const
    {
        return place & StripRooms::in_room ? filled("$ * W + $", slots_, place - StripRooms::in_room)
                                           : filled("$ * W", place);
    }
    /// The text with the places in it, or with those that it is given.
    std::string placed(const Part& p, bool given) const
    {
        std::string out;
        std::size_t next = 0;
        for (std::size_t i = 0; i < p.text.size(); ++i) {
            if (p.text[i] != mark) {
                out += p.text[i];
                continue;
            }
            i = p.text.find(mark, i + 1);
            out += given ? filled("q[$]", next) : at(p.slots[next]);
            ++next;
        }
        return out;
    }
    std::string table(const Part& p) const
    {
        std::string list;
        for (const std::uint32_t s : p.slots) list += at(s) + ", ";
        return list;
    }

    std::string types_, operands_;
    std::vector<TypedProgram> programs_;            ///< of the nodes
    std::vector<std::size_t> begins_;               ///< of parts, and the end, among the nodes
    std::vector<std::size_t> last_;                 ///< by value: the last part that reads it
    std::vector<std::vector<std::uint32_t>> ends_;  ///< slots that are free behind each part
    std::unordered_map<ValueId, std::uint32_t> slot_;
    std::set<std::uint32_t> free_;
    std::vector<Part> parts_;
    std::unordered_set<std::string_view> known_;
    std::size_t slots_ = 0, fetched_ = 0, statements_ = 0;
    StripRooms rooms_;
};

}  // namespace wengert::detail
