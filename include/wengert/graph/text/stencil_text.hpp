// The text of a stencil: its result is cut into boxes, in each of which every operand is read as it lies.
#pragma once

#include "stencils.hpp"

namespace wengert::detail {

class StencilText : public FusedText {
public:
    /// `overwritten`: some result lies where an operand does.
    StencilText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group,
                const Stencils& all, const Stencil& stencil, bool overwritten)
        : FusedText(g, layouts, group), all_(all), stencil_(stencil), shape_(stencil.shape),
          overwritten_(overwritten)
    {
        add("(void* const* p, f64 zero)\n{");
        pointers(overwritten);
        boxes(0);
        out_ += "}\n";
    }

private:
    /// All boxes with these bounds in the axes before d. Those beside one another have the loops over their rows in common.
    void boxes(std::size_t d)
    {
        const bool last = d + 1 == shape_.size();
        if (last) {
            for (std::size_t k = 0; k < d; ++k)
                add("    for (long i$ = $; i$ < $; ++i$)", k, box_.low[k], k, box_.high[k], k);
            add("    {");
        }
        const std::vector<std::int64_t>& edges = stencil_.edges[d];
        for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
            box_.low.push_back(edges[k]), box_.high.push_back(edges[k + 1]);
            last ? box() : boxes(d + 1);
            box_.low.pop_back(), box_.high.pop_back();
        }
        if (last) add("    }");
    }
    void box()
    {
        const std::int64_t n = box_.high.back() - box_.low.back();
        names_.clear();
        loads_ = sums_ = 0;
        add("        {");
        vectors_for(n);
        add("        $<N, $>([&](long j, auto c) __attribute__((always_inline)) {",
            overwritten_ ? "along_once" : "along", n);
        TermCode code(out_);
        std::vector<std::string> made;
        for (ValueId v : group_.results) made.push_back(computed(code, v, all_places(shape_)));
        for (std::size_t k = 0; k < made.size(); ++k) {
            const ValueId v = group_.results[k];
            const bool flag = g_.node(v).dtype == DType::boolean;
            add("            put($ + $ + j, c, $);", row(filled("o$", k), row_major(shape_), shape_.size()),
                box_.low.back(), filled(flag ? "($v)bytes_of_mask<N>($)" : "($v)($)", type(v), made[k]));
        }
        add("        });\n        }");
    }
    /// The name of the elements of v at `at` in this box.
    std::string value(TermCode& code, ValueId v, const BoxPlaces& at)
    {
        if (is_literal(v)) return literal(v);
        return all_.inner(v) ? computed(code, v, at) : loaded_at(v, at);
    }
    std::string computed(TermCode& code, ValueId v, const BoxPlaces& at)
    {
        const std::pair key(v, at);
        if (const auto known = names_.find(key); known != names_.end()) return known->second;
        const GraphNode& n = g_.node(v);
        std::string name;
        if (const BoxReads* const moves = all_.moves(v)) {
            name = moved(code, v, *moves, at);
        } else {
            std::vector<std::string> in;
            for (ValueId i : n.inputs)
                in.push_back(value(code, i, places_of_operand(at, n.shape, g_.node(i).shape)));
            name = code.write(program_of(g_, layouts_, v), in);
        }
        return names_[key] = name;
    }
    std::string moved(TermCode& code, ValueId v, const BoxReads& moves, const BoxPlaces& at)
    {
        const auto number = [&](double x) {
            return filled("K<$v>($)", type(v), literal_text(x, g_.node(v).dtype));
        };
        std::string s;
        if (moves.start == Index::Start::fill) s = number(moves.fill);
        if (moves.start == Index::Start::operand) s = value(code, moves.base, at);
        for (const BoxRead& r : moves.reads) {
            StencilBox part = box_;
            if (!part.cut(at, r)) continue;
            const std::string x =
                r.operand == no_value ? number(r.number) : value(code, r.operand, places_of_read(at, r));
            const bool alone = r.how == Combine::assign;
            if (alone && !r.minus) {
                s = x;
                continue;
            }
            const std::string term = alone ? filled("neg($)", x) : filled("$ $ $", s, r.minus ? "-" : "+", x);
            s = filled("s$", sums_++);
            add("            const auto $ = $;", s, term);
        }
        return s;
    }
    /// Declares the elements of an operand at the row (i0, …) and from column low + j of the result on.
    std::string loaded_at(ValueId v, const BoxPlaces& at)
    {
        const auto [known, fresh] = names_.emplace(std::pair(v, at), "");
        if (!fresh) return known->second;
        const auto k = std::find(group_.operands.begin(), group_.operands.end(), v) - group_.operands.begin();
        const Strides& of = layouts_[v].strides;
        std::vector<std::int64_t> strides(shape_.size(), 0);
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < at.size(); ++d) {
            offset += at[d].first * of[d];
            if (at[d].axis != BoxPlace::nowhere) strides[at[d].axis] += at[d].step * of[d];
        }
        offset += box_.low.back() * strides.back();
        known->second = filled("x$", loads_++);
        add("            const auto $ = $;", known->second,
            loaded(v, row(filled("a$", k), strides, shape_.size()) + filled(" + ($)", offset), strides.back(),
                   "j"));
        return known->second;
    }

    const Stencils& all_;
    const Stencil& stencil_;
    Shape shape_;
    bool overwritten_;
    StencilBox box_;  ///< the one at hand
    std::map<std::pair<ValueId, BoxPlaces>, std::string> names_;
    std::size_t loads_ = 0, sums_ = 0;
};

}  // namespace wengert::detail
