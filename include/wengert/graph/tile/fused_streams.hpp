// What a group reads and writes: its nodes, the streams of its operands and results, and the loop over them.
#pragma once

#include "fused_partition.hpp"
#include "fused_sum.hpp"
#include "../threads/schedule.hpp"

namespace wengert::tiling::detail {

/// The part of a compilation that looks at the group. Fills in the program's streams, its totals and the loop.
class GroupStreams {
protected:
    using Source = FusedProgram::Source;

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

    /// Elementwise nodes, operations on rows, and the sums at the end.
    bool find_nodes()
    {
        for (std::size_t r = 0; r < group_.results.size(); ++r) wanted_[group_.results[r]] = true;
        for (ValueId v : group_.nodes)
            for (ValueId i : node(v).inputs) read_inside_[read_as(g_, layouts_, i)] = true;
        if (group_.nodes.size() == 1) return take_one(group_.nodes[0]) && find_shape();
        for (ValueId v : group_.nodes)
            if (!take(v)) return false;
        return !nodes_.empty() && find_shape();
    }
    /// Elementwise, or a sum that is long enough for a team to take parts of its rows.
    bool take_one(ValueId v)
    {
        if (node(v).primitive->value) return take_step(v);
        Total total;
        if (!row_sum(g_, node(v), total.rows)) return false;
        const ValueId x = node(v).inputs[0];
        if (total.rows.length * size_of(node(v).dtype) <= SumStream<double>::block_bytes ||
            element_count(node(x).shape) < least_divided)
            return false;
        add_total(total, v, x, 0);
        return true;
    }
    void add_total(Total& total, ValueId v, ValueId x, std::size_t result)
    {
        total.of = x;
        total.dtype = node(v).dtype;
        total.result = static_cast<std::uint32_t>(result);
        wanted_[x] = true;
        p_.totals.push_back(total);
    }
    bool take(ValueId v)
    {
        Total total;
        if (node(v).primitive->value || !row_sum(g_, node(v), total.rows) || read_inside_.count(v))
            return take_step(v);
        const ValueId x = read_as(g_, layouts_, node(v).inputs[0]);
        if (!member(x)) return take_step(v);
        const auto at = std::find(group_.results.begin(), group_.results.end(), v);
        if (at == group_.results.end()) return false;
        add_total(total, v, x, static_cast<std::size_t>(at - group_.results.begin()));
        return true;
    }
    bool take_step(ValueId v)
    {
        if (!node(v).primitive->value && !on_rows(v)) return false;
        nodes_.push_back(v);
        members_[v] = 0;
        return true;
    }
    bool on_rows(ValueId v) const { return row_operation(g_, node(v)).kernel != nullptr; }
    /// The elements that an operation is over.
    Shape elements_of(ValueId v) const { return squeezed(node(on_rows(v) ? node(v).inputs[0] : v).shape); }

    /// All are over the same elements, or have one element for each row of them.
    bool find_shape()
    {
        if (nodes_.empty()) shape_ = squeezed(node(p_.totals[0].of).shape);
        for (ValueId v : nodes_)
            if (const Shape s = elements_of(v); s.size() >= shape_.size()) shape_ = s;
        p_.count = element_count(shape_);
        for (std::size_t a = 0; a + 1 < shape_.size(); ++a) lead_.push_back(shape_[a]);
        for (ValueId v : nodes_) {
            const Shape made = squeezed(node(v).shape);
            p_.resident = p_.resident || on_rows(v) || !(made == shape_);
            if (on_rows(v) ? !(elements_of(v) == shape_) : !(made == shape_ || made == lead_)) return false;
        }
        for (const Total& t : p_.totals)
            if (is_narrow(t.of)) return false;
        return p_.count > 0;
    }
    bool is_narrow(ValueId v) const { return p_.resident && !(squeezed(node(v).shape) == shape_); }

    /// Strides of u as it is read over `shape`, along the axes of the group.
    Strides strides_of(ValueId u, const Shape& shape) const
    {
        const Strides all = broadcast_strides(node(u).shape, layouts_[u].strides, shape);
        Strides s;
        for (std::size_t i = 0; i < shape.size(); ++i)
            if (shape[i] != 1) s.push_back(all[i]);
        if (s.size() < shape_.size()) s.push_back(0);
        return s;
    }

    bool find_streams()
    {
        for (ValueId v : nodes_)
            if (!add_step(v)) return false;
        for (const Total& t : p_.totals)
            if (!member(t.of)) stream(t.of, strides_of(t.of, node(t.of).shape));
        for (std::size_t r = 0; r < group_.results.size(); ++r) {
            const ValueId v = group_.results[r];
            if (!member(v)) continue;
            stream_of_[v] = p_.streams.size();
            Strides strides = row_major(is_narrow(v) ? lead_ : shape_);
            if (is_narrow(v)) strides.push_back(0);
            add_stream(true, r, node(v).dtype, strides, is_narrow(v));
        }
        return p_.streams.size() <= FusedProgram::max_streams;
    }

    bool add_step(ValueId v)
    {
        const GraphNode& n = node(v);
        GroupOperation s{v,
                         {},
                         n.dtype,
                         nullptr,
                         n.primitive->value,
                         row_operation(g_, n),
                         is_narrow(v),
                         wanted_.count(v) > 0};
        const bool wide = s.rows.kernel || !s.narrow;
        if (s.kernel && !s.narrow) s.node = &n;
        for (ValueId i : n.inputs) {
            s.in.push_back(input(i, v, wide));
            if (s.in.back() == no_value) return false;
        }
        append(std::move(s));
        return true;
    }
    /// What v reads as i: a member, a number, or a stream. no_value where it cannot be read in this pass.
    ValueId input(ValueId i, ValueId v, bool wide)
    {
        const ValueId u = source(i);
        if (member(u)) {
            if (!wide || !is_narrow(u)) return u;
            return spreads_along_rows(node(i).shape, node(v).shape) ? spread(u, node(u).dtype) : no_value;
        }
        if (is_literal(i)) return i;
        const ValueId x = stream(i, strides_of(i, node(on_rows(v) ? i : v).shape));
        return x != no_value && wide && p_.streams[stream_of_[x]].narrow ? spread(x, node(i).dtype) : x;
    }
    /// Spreads a value with one element a row along the rows.
    ValueId spread(ValueId x, DType dtype)
    {
        ValueId& y = spread_of_.try_emplace(x, no_value).first->second;
        if (y != no_value) return y;
        y = first_extra + extras_++;
        GroupOperation s{y,       {x},     dtype,
                         nullptr, nullptr, {spread_along_rows, static_cast<double>(size_of(dtype))}};
        append(std::move(s));
        return y;
    }
    void append(GroupOperation s)
    {
        members_[s.value] = static_cast<std::uint32_t>(operations_.size());
        operations_.push_back(std::move(s));
    }
    /// An operand has a stream for each way in which it is read; the first bears its name.
    ValueId stream(ValueId i, const Strides& strides)
    {
        const auto at = std::find(group_.operands.begin(), group_.operands.end(), i);
        if (at == group_.operands.end()) return no_value;
        const auto number = static_cast<std::size_t>(at - group_.operands.begin());
        bool first = true;
        for (const auto& [x, k] : stream_of_) {
            if (p_.streams[k].number != number) continue;
            if (p_.streams[k].strides == strides) return x;
            first = false;
        }
        const ValueId x = first ? i : first_extra + extras_++;
        stream_of_[x] = p_.streams.size();
        bool narrow = false;
        for (std::size_t a = 0; a + 1 < strides.size(); ++a) narrow = narrow || strides[a] != 0;
        add_stream(false, number, node(i).dtype, strides,
                   p_.resident && narrow && strides[strides.size() - 1] == 0);
        return x;
    }
    bool is_literal(ValueId v) const
    {
        return is_recipe_number(v) ||
               (v < g_.size() && node(v).kind == Graph::Kind::constant && node(v).constant->count == 1);
    }
    void add_stream(bool result, std::size_t number, DType dtype, const Strides& strides, bool narrow)
    {
        Source s;
        s.result = result;
        s.narrow = narrow;
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
        const kernels::Loop loop(p_.resident ? lead_ : shape_, operands.data(), operands.size());
        for (std::size_t a = 0; a < loop.rank(); ++a) p_.extents.push_back(loop.extent(a));
        if (p_.resident) p_.extents.push_back(shape_[shape_.size() - 1]);
        for (std::size_t k = 0; k < operands.size(); ++k) {
            Strides& s = p_.streams[k].strides;
            const std::int64_t last = p_.resident ? s[s.size() - 1] : 0;
            s = operands[k].strides;
            s.resize(loop.rank());
            if (p_.resident) s.push_back(last);
            if (shape_.empty()) s[0] = 1;
        }
        p_.inner = static_cast<std::size_t>(p_.extents[p_.extents.size() - 1]);
        p_.packed = p_.resident || (loop.rank() > 1 && p_.inner < FusedProgram::short_rows);
    }

    bool gathers_any() const
    {
        return std::any_of(p_.streams.begin(), p_.streams.end(), [this](const Source& s) {
            return kind_of(s) == Source::gathered || kind_of(s) == Source::periodic;
        });
    }

    Source::Kind kind_of(const Source& s) const
    {
        if (s.narrow) return in_order(s) ? Source::linear : Source::gathered;
        if (s.strides == row_major(p_.extents)) return Source::linear;
        const std::size_t last = s.strides.size() - 1;
        bool same_rows = true;
        for (std::size_t a = 0; a < last; ++a) same_rows = same_rows && s.strides[a] == 0;
        if (same_rows && s.strides[last] == 0) return Source::fixed;
        const bool whole_rows = !p_.packed || (p_.resident && p_.rows_per_tile == 1);
        if (whole_rows && s.strides[last] == 1) return Source::row;
        return p_.packed && same_rows ? Source::periodic : Source::gathered;
    }
    /// One element a row, one after the other?
    bool in_order(const Source& s) const
    {
        std::int64_t step = 1;
        for (std::size_t a = s.strides.size() - 1; a-- > 0; step *= p_.extents[a])
            if (s.strides[a] != step) return false;
        return true;
    }

    const Graph& g_;
    const Layouts& layouts_;
    const Group& group_;
    FusedProgram& p_;
    Shape shape_, lead_;  ///< of the elements, and without the rows
    std::vector<ValueId> nodes_;
    std::vector<GroupOperation> operations_;
    ValueMap<std::uint32_t> members_;  ///< by number of the operation
    ValueMap<bool> wanted_;            ///< read outside of the pass, or added up
    ValueMap<bool> read_inside_;
    ValueMap<std::size_t> stream_of_;
    ValueMap<ValueId> spread_of_;
    ValueId extras_ = 0;
};

}  // namespace wengert::tiling::detail
