// Sums of parts, as stencils and their derivatives are: c with v₁ added to one part, v₂ to another, … Each vₖ that is a few
// elementwise operations on arrays is computed where it is added, and the whole chain is one pass over the result.
#pragma once

#include "../ir/index_program.hpp"
#include "loop_text.hpp"

namespace wengert::detail {

/// One addition: `part` of the result gets ± the value of `addend`.
struct PartLink {
    ValueId node = no_value, addend = no_value;
    Shape start, shape;
    bool minus = false;
};

struct PartChain {
    ValueId base = no_value;  ///< what the first addition is to
    std::vector<PartLink> links;
    std::vector<ValueId> cone;  ///< operations computed in place, in order
    /// Where additions begin and end along an axis, and the array.
    std::vector<std::int64_t> edges(const Shape& array, std::size_t d) const
    {
        std::set<std::int64_t> at{0, array[d]};
        for (const PartLink& l : links) at.insert({l.start[d], l.start[d] + l.shape[d]});
        return {at.begin(), at.end()};
    }
    std::vector<ValueId> nodes() const
    {
        std::vector<ValueId> all = cone;
        for (const PartLink& l : links) all.push_back(l.node);
        return all;
    }
};

/// v as an addition to a part that is a box of its array, or false.
inline bool part_link(const Graph& g, ValueId v, PartLink& link)
{
    const GraphNode& n = g.node(v);
    if (n.kind != Graph::Kind::operation || !differentiable(n.dtype)) return false;
    if (!n.primitive->index || n.inputs.size() != 2) return false;
    const Index p = index_of(g, n);
    Shape first;
    if (!adds_box(p, first)) return false;
    link = {v, n.inputs[1], first, p.shape(1), p.reads[0].minus};
    return true;
}

class PartChains {
public:
    static constexpr std::size_t most_links = 12, most_cone = 24, most_cells = 125;

    PartChains(const Graph& g, const tiling::Layouts& layouts)
        : g_(g), layouts_(layouts), uses_(readers_of(g))
    {}
    std::vector<PartChain> find()
    {
        std::vector<bool> taken(g_.size(), false);
        std::vector<PartChain> chains;
        for (ValueId v = 0; v < g_.size(); ++v) {
            PartChain c;
            PartLink link;
            if (taken[v] || !part_link(g_, v, link)) continue;
            c.base = g_.node(v).inputs[0];
            for (ValueId next = v;
                 next != no_value && c.links.size() < most_links && part_link(g_, next, link);) {
                c.links.push_back(link);
                taken[next] = true;
                next = follower(next);
            }
            find_cone(c);
            if (c.nodes().size() > 1 && cells(c) <= most_cells) chains.push_back(std::move(c));
        }
        return chains;
    }

private:
    /// The addition that is all that reads v, as what is added to.
    ValueId follower(ValueId v) const
    {
        if (uses_[v].size() != 1 || uses_[v][0] == no_value) return no_value;
        const ValueId next = uses_[v][0];
        return g_.node(next).inputs[0] == v && g_.node(next).inputs.back() != v ? next : no_value;
    }
    bool computable(ValueId v, const Shape& shape) const
    {
        const GraphNode& n = g_.node(v);
        if (n.kind != Graph::Kind::operation || !n.primitive->value || layouts_[v].root != v ||
            !(n.shape == shape))
            return false;
        const TypedProgram p = program_of(g_, layouts_, v);
        if (!p || n.dtype == DType::boolean) return false;
        for (const TermStep& s : p.steps())
            if (is_long(s.kind)) return false;
        return true;
    }
    void find_cone(PartChain& c) const
    {
        std::set<ValueId> inside;
        for (const PartLink& l : c.links) inside.insert(l.node);
        bool grown = true;
        const auto consider = [&](ValueId v, const Shape& shape) {
            if (inside.contains(v) || inside.size() > most_cone || !computable(v, shape)) return;
            for (ValueId u : uses_[v])
                if (u == no_value || !inside.contains(u)) return;
            inside.insert(v);
            c.cone.push_back(v);
            grown = true;
        };
        while (grown) {
            grown = false;
            for (const PartLink& l : c.links) consider(l.addend, l.shape);
            for (std::size_t k = 0; k < c.cone.size(); ++k)
                for (ValueId i : g_.node(c.cone[k]).inputs) consider(i, g_.node(c.cone[k]).shape);
        }
        std::sort(c.cone.begin(), c.cone.end());
    }
    std::size_t cells(const PartChain& c) const
    {
        std::size_t n = 1;
        for (std::size_t d = 0; d < c.links[0].shape.size(); ++d)
            n *= c.edges(g_.node(c.base).shape, d).size() - 1;
        return n;
    }

    const Graph& g_;
    const tiling::Layouts& layouts_;
    std::vector<std::vector<ValueId>> uses_;
};

/// The text of one chain: the array is cut into boxes in each of which the same parts are added.
class PartText : public FusedText {
public:
    PartText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group,
             const PartChain& chain)
        : FusedText(g, layouts, group), chain_(chain), shape_(g.node(chain.base).shape)
    {
        add("(void* const* p, f64 zero)\n{");
        pointers(false);
        boxes(0);
        out_ += "}\n";
    }

private:
    /// All boxes with [low_, high_) in the axes before d. Those beside one another have the loops over their rows in common.
    void boxes(std::size_t d)
    {
        const bool last = d + 1 == shape_.size();
        if (last) {
            for (std::size_t k = 0; k < d; ++k)
                add("    for (long i$ = $; i$ < $; ++i$)", k, low_[k], k, high_[k], k);
            add("    {");
        }
        const std::vector<std::int64_t> edges = chain_.edges(shape_, d);
        for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
            low_.push_back(edges[k]), high_.push_back(edges[k + 1]);
            last ? box() : boxes(d + 1);
            low_.pop_back(), high_.pop_back();
        }
        if (last) add("    }");
    }
    /// Declares the elements of an operand at the row (i0, …) and column low + j of the array, less `start`.
    void load(ValueId v, const Shape& of, const Shape* start, const std::string& name)
    {
        const auto k = std::find(group_.operands.begin(), group_.operands.end(), v) - group_.operands.begin();
        const Strides s = broadcast_strides(g_.node(v).shape, layouts_[v].strides, of);
        std::int64_t offset = low_.back() * s[of.size() - 1];
        for (std::size_t d = 0; d < of.size() && start; ++d) offset -= (*start)[d] * s[d];
        add("            const auto $ = $;", name,
            loaded(v, row(filled("a$", k), s, of.size()) + filled(" + ($)", offset), s[of.size() - 1], "j"));
    }
    void box()
    {
        const std::size_t rank = shape_.size();
        const std::int64_t n = high_.back() - low_.back();
        add("        {");
        vectors_for(n);
        add("        along<N, $>([&](long j, auto c) __attribute__((always_inline)) {", n);
        load(chain_.base, shape_, nullptr, "s0");
        TermCode code(out_);
        std::size_t sums = 0;
        for (std::size_t k = 0; k < chain_.links.size(); ++k) {
            const PartLink& l = chain_.links[k];
            bool inside = true;
            for (std::size_t d = 0; d < rank; ++d)
                inside = inside && l.start[d] <= low_[d] && high_[d] <= l.start[d] + l.shape[d];
            if (!inside) continue;
            const std::string v = addend(code, k);
            add("            const auto s$ = s$ $ $;", sums + 1, sums, l.minus ? "-" : "+", v);
            ++sums;
        }
        add("            put($ + $ + j, c, s$);\n        });\n        }", row("o0", row_major(shape_), rank),
            low_.back(), sums);
    }
    /// The statements for addend k here, and the name of its value.
    std::string addend(TermCode& code, std::size_t k)
    {
        const PartLink& l = chain_.links[k];
        std::unordered_map<ValueId, std::string> names;
        const auto name_of_value = [&](ValueId v) {
            if (is_literal(v)) return literal(v);
            const auto [at, fresh] = names.emplace(v, filled("x$_$", k, names.size()));
            if (fresh) load(v, l.shape, &l.start, at->second);
            return at->second;
        };
        std::set<ValueId> needed{l.addend};
        for (std::size_t i = chain_.cone.size(); i-- > 0;)
            if (needed.contains(chain_.cone[i]))
                for (ValueId x : g_.node(chain_.cone[i]).inputs) needed.insert(x);
        for (ValueId v : chain_.cone) {
            if (!needed.contains(v)) continue;
            std::vector<std::string> in;
            for (ValueId i : g_.node(v).inputs) in.push_back(name_of_value(i));
            names[v] = code.write(program_of(g_, layouts_, v), in);
        }
        return name_of_value(l.addend);
    }

    const PartChain& chain_;
    Shape shape_;
    std::vector<std::int64_t> low_, high_;  ///< the box at hand
};

}  // namespace wengert::detail
