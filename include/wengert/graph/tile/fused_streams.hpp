// What a group reads and writes: its nodes, the streams of its operands and results, and the loop over them.
#pragma once

#include "fused_segments.hpp"

namespace wengert::tiling::detail {

/// A view that shows all elements of its operand in their order is read as the operand.
inline ValueId read_as(const Graph& g, const Layouts& layouts, ValueId v)
{
    while (layouts[v].is_view(v) && !layouts[v].strided) {
        const ValueId u = g.node(v).inputs[0];
        if (layouts[u].strided || element_count(g.node(u).shape) != element_count(g.node(v).shape)) break;
        v = u;
    }
    return v;
}

/// The part of a compilation that looks at the group. Fills in the program's streams, its totals and the loop.
template <class A = xsimd::default_arch> class GroupStreams {
protected:
    using Source = FusedProgram::Source;
    using Mode = FusedProgram::Mode;

    GroupStreams(const Graph& g, const Layouts& layouts, const Group& group, FusedProgram& p)
        : g_(g), layouts_(layouts), group_(group), p_(p)
    {}

    const GraphNode& node(ValueId v) const { return g_.node(v); }
    bool member(ValueId v) const { return members_.count(v) != 0; }
    ValueId source(ValueId v) const
    {
        const ValueId u = read_as(g_, layouts_, v);
        return member(u) ? u : v;
    }

    /// Elementwise nodes, and the sums at the end.
    bool find_nodes()
    {
        for (std::size_t r = 0; r < group_.results.size(); ++r) wanted_[group_.results[r]] = true;
        for (ValueId v : group_.nodes) {
            Total total;
            if (node(v).primitive->value) {
                nodes_.push_back(v);
                members_[v] = 0;
            } else if (row_sum<A>(g_, node(v), total.rows)) {
                total.value = v;
                total.of = read_as(g_, layouts_, node(v).inputs[0]);
                total.dtype = node(v).dtype;
                wanted_[total.of] = true;
                const auto at = std::find(group_.results.begin(), group_.results.end(), v);
                if (at == group_.results.end() || !member(total.of)) return false;
                total.result = static_cast<std::uint32_t>(at - group_.results.begin());
                p_.totals.push_back(total);
            } else {
                return false;
            }
        }
        if (nodes_.empty()) return false;
        shape_ = squeezed(node(nodes_[0]).shape);
        p_.count = element_count(shape_);
        for (ValueId v : nodes_)
            if (!(squeezed(node(v).shape) == shape_)) return false;
        return p_.count > 0;
    }

    /// Strides of u as v reads it, along the axes of the group.
    Strides strides_of(ValueId u, ValueId v) const
    {
        const Shape& shape = node(v).shape;
        const Strides all = broadcast_strides(node(u).shape, layouts_[u].strides, shape);
        Strides s;
        for (std::size_t i = 0; i < shape.size(); ++i)
            if (shape[i] != 1) s.push_back(all[i]);
        return s;
    }

    bool find_streams()
    {
        for (ValueId v : nodes_)
            for (ValueId i : node(v).inputs) {
                if (member(source(i))) continue;
                if (is_literal(i)) continue;
                const Strides strides = strides_of(i, v);
                const auto [it, fresh] = stream_of_.try_emplace(i, p_.streams.size());
                if (!fresh) {
                    if (!(p_.streams[it->second].strides == strides)) return false;
                    continue;
                }
                const auto at = std::find(group_.operands.begin(), group_.operands.end(), i);
                if (at == group_.operands.end()) return false;
                add_stream(false, static_cast<std::size_t>(at - group_.operands.begin()), node(i).dtype,
                           strides);
            }
        for (std::size_t r = 0; r < group_.results.size(); ++r) {
            const ValueId v = group_.results[r];
            if (!member(v)) continue;
            stream_of_[v] = p_.streams.size();
            add_stream(true, r, node(v).dtype, row_major(shape_));
        }
        return p_.streams.size() <= FusedProgram::max_streams;
    }
    bool is_literal(ValueId v) const
    {
        return is_recipe_number(v) || (node(v).kind == Graph::Kind::constant && node(v).constant->count == 1);
    }
    void add_stream(bool result, std::size_t number, DType dtype, const Strides& strides)
    {
        Source s;
        s.result = result;
        s.number = static_cast<std::uint32_t>(number);
        s.size = static_cast<std::uint8_t>(size_of(dtype));
        s.strides = strides;
        p_.streams.push_back(s);
    }

    /// Axes merged where every stream allows it.
    void find_loop()
    {
        std::vector<kernels::Operand> operands;
        for (const Source& s : p_.streams) operands.push_back({nullptr, s.size, s.strides});
        const kernels::Loop loop(shape_, operands.data(), operands.size());
        for (std::size_t a = 0; a < loop.rank(); ++a) p_.extents.push_back(loop.extent(a));
        for (std::size_t k = 0; k < operands.size(); ++k) {
            Strides& s = p_.streams[k].strides;
            s = operands[k].strides;
            s.resize(loop.rank());
            if (shape_.empty()) s[0] = 1;
        }
        p_.inner = static_cast<std::size_t>(loop.inner());
        p_.mode = loop.rank() == 1 ? Mode::flat : p_.inner < 48 ? Mode::packed : Mode::rows;
    }

    bool gathers_any() const
    {
        for (const Source& s : p_.streams) {
            const Source::Kind k = kind_of(s);
            if (k != Source::linear && k != Source::row && k != Source::fixed) return true;
        }
        return false;
    }

    Source::Kind kind_of(const Source& s) const
    {
        if (s.strides == row_major(p_.extents)) return Source::linear;
        const std::size_t last = s.strides.size() - 1;
        bool same_rows = true;
        for (std::size_t a = 0; a < last; ++a) same_rows = same_rows && s.strides[a] == 0;
        if (same_rows && s.strides[last] == 0) return Source::fixed;
        if (p_.mode == Mode::packed) return same_rows ? Source::periodic : Source::gathered;
        return p_.mode == Mode::rows && s.strides[last] == 1 ? Source::row : Source::gathered;
    }

    const Graph& g_;
    const Layouts& layouts_;
    const Group& group_;
    FusedProgram& p_;
    Shape shape_;
    std::vector<ValueId> nodes_;
    ValueMap<char> members_;
    ValueMap<bool> wanted_;  ///< read outside of the pass, or added up
    ValueMap<std::size_t> stream_of_;
};

}  // namespace wengert::tiling::detail
