// Which of a group's operations run on the arithmetic machine together, and the machine's programs.
#pragma once

#include "../../ops/math.hpp"
#include "fused_program.hpp"

namespace wengert::tiling {

namespace detail {

template <class A, class T> Arith arith_of(TileKernel kernel)
{
    if (kernel == elementwise_primitive<Add, A, T, T, T>.value) return Arith::add;
    if (kernel == elementwise_primitive<Subtract, A, T, T, T>.value) return Arith::subtract;
    if (kernel == elementwise_primitive<Multiply, A, T, T, T>.value) return Arith::multiply;
    return Arith::none;
}
/// Which operation of the machine a primitive is. Told by the kernel, so that another primitive of the same name is not.
template <class A> Arith arith_of(const Primitive& p)
{
    if (p.dtype == DType::float32) return arith_of<A, float>(p.value);
    if (p.dtype == DType::float64) return arith_of<A, double>(p.value);
    return Arith::none;
}
template <class A> bool is_square(const Primitive& p)
{
    return p.value == elementwise_primitive<Square, A, float, float>.value ||
           p.value == elementwise_primitive<Square, A, double, double>.value;
}

/// One step of a group: a primitive's kernel, or several operations on the machine.
struct Item {
    std::vector<ValueId> nodes;  ///< one, or those of a segment
    std::vector<ValueId> in;     ///< read from memory, each once in a segment
    std::vector<ValueId> out;    ///< written to memory
    bool segment = false;
};

/// An operation of the machine.
struct MachineNode {
    Arith op{};
    ValueId value = no_value, left = no_value, right = no_value;
    bool wanted = false;  ///< its value is read outside of the segment
};

/// Chooses accumulators for the values of a segment, in order. A value that is written over while it is still needed has
/// been stored before; the one whose next reading is farthest gives way (Belady 1966).
class MachineProgram {
public:
    /// `place(v)`: the operand number of what lies in memory.
    MachineProgram(const std::vector<MachineNode>& nodes, std::size_t operands)
        : nodes_(nodes), operands_(operands)
    {}

    template <class Place> void write(const Place& place)
    {
        for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
            readings_[nodes_[i].left].push_back(i);
            if (nodes_[i].right != nodes_[i].left) readings_[nodes_[i].right].push_back(i);
        }
        for (now_ = 0; now_ < nodes_.size(); ++now_) step(nodes_[now_], place);
        ops.push_back({MicroCode::end, 0, 0});
    }
    std::vector<MicroOp> ops;
    std::size_t spills = 0;
    std::unordered_map<ValueId, std::uint32_t> last_load, stored_at;  ///< positions in ops

private:
    static constexpr std::size_t none = MicroCode::accumulators;

    std::size_t accumulator_of(ValueId v) const
    {
        std::size_t x = 0;
        while (x < none && holds_[x] != v) ++x;
        return x;
    }
    /// The next reading of v after the present one.
    std::uint32_t next(ValueId v) const
    {
        const auto it = readings_.find(v);
        if (it != readings_.end())
            for (std::uint32_t i : it->second)
                if (i > now_) return i;
        return ~0U;
    }
    void emit(std::uint8_t code, std::uint8_t a = 0, std::uint8_t b = 0) { ops.push_back({code, a, b}); }

    template <class Place> std::uint8_t load_from(ValueId v, const Place& place)
    {
        const auto spilled = spilled_.find(v);
        if (spilled != spilled_.end()) return spilled->second;
        last_load[v] = static_cast<std::uint32_t>(ops.size());
        return static_cast<std::uint8_t>(place(v));
    }
    bool in_memory(ValueId v) const { return !made_.count(v) || spilled_.count(v) || stored_at.count(v); }

    /// An accumulator whose value may go; neither `keep` nor `also`.
    std::size_t take(std::size_t keep, std::size_t also)
    {
        std::size_t best = none;
        std::uint32_t farthest = 0;
        for (std::size_t x = 0; x < none; ++x) {
            if (x == keep || x == also) continue;
            const std::uint32_t when = holds_[x] == no_value ? ~0U : next(holds_[x]);
            if (best == none || when > farthest) best = x, farthest = when;
        }
        const ValueId v = holds_[best];
        if (v != no_value && farthest != ~0U && !in_memory(v)) {
            spilled_[v] = static_cast<std::uint8_t>(operands_ + spills++);
            emit(MicroCode::store(best), spilled_[v]);
        }
        holds_[best] = no_value;
        return best;
    }
    bool may_overwrite(ValueId v) const { return next(v) == ~0U || in_memory(v); }

    template <class Place> void step(const MachineNode& n, const Place& place)
    {
        const std::size_t l = accumulator_of(n.left), r = accumulator_of(n.right);
        const bool commutes = n.op != Arith::subtract;
        std::size_t x = none;
        if (l != none && may_overwrite(n.left)) {
            x = l;
            apply(x, n.op, r, n.right, place);
        } else if (r != none && may_overwrite(n.right)) {
            x = r;
            apply(x, commutes ? n.op : Arith::reversed, l, n.left, place);
        } else if (l != none) {
            x = take(l, r);
            emit(MicroCode::move(x, l));
            apply(x, n.op, r == l ? x : r, n.right, place);
        } else if (r != none) {
            x = take(r, none);
            emit(MicroCode::move(x, r));
            apply(x, commutes ? n.op : Arith::reversed, none, n.left, place);
        } else {
            x = take(none, none);
            const std::uint8_t a = load_from(n.left, place), b = load_from(n.right, place);
            emit(MicroCode::both(x, n.op), a, b);
        }
        finish(x, n, place);
    }
    template <class Place>
    void apply(std::size_t x, Arith op, std::size_t y, ValueId other, const Place& place)
    {
        if (y != none)
            emit(MicroCode::arith(x, op, y));
        else
            emit(MicroCode::arith(x, op, MicroCode::memory), load_from(other, place));
    }
    template <class Place> void finish(std::size_t x, const MachineNode& n, const Place& place)
    {
        made_[n.value] = true;
        holds_[x] = n.value;
        if (n.wanted) {
            stored_at[n.value] = static_cast<std::uint32_t>(ops.size());
            emit(MicroCode::store(x), static_cast<std::uint8_t>(place(n.value)));
        }
        for (ValueId& v : holds_)
            if (v != no_value && next(v) == ~0U) v = no_value;
    }

    const std::vector<MachineNode>& nodes_;
    std::size_t operands_;
    std::uint32_t now_ = 0;
    ValueId holds_[MicroCode::accumulators] = {no_value, no_value, no_value};
    std::unordered_map<ValueId, std::vector<std::uint32_t>> readings_;
    std::unordered_map<ValueId, std::uint8_t> spilled_;
    std::unordered_map<ValueId, bool> made_;
};

/// Arithmetic and other operations take turns: each operation gets a phase, arithmetic an even one, others an odd one, as
/// late as those that read it allow. The arithmetic of one phase is one segment.
template <class A = xsimd::default_arch> class Segmenter {
public:
    static constexpr std::size_t most = 30;  ///< operations of a segment: its operands are numbered in a byte

    template <class Source, class Wanted>
    Segmenter(const Graph& g, const std::vector<ValueId>& nodes, bool machine, const Source& source,
              const Wanted& wanted)
        : g_(g), nodes_(nodes)
    {
        for (std::uint32_t k = 0; k < nodes.size(); ++k) {
            Member m;
            m.op = machine ? arith_of<A>(*g.node(nodes[k]).primitive) : Arith::none;
            for (ValueId i : g.node(nodes[k]).inputs) m.in.push_back(source(i));
            if (machine && is_square<A>(*g.node(nodes[k]).primitive))
                m.op = Arith::multiply, m.in.push_back(m.in[0]);
            if (m.op != Arith::none && dtype_set_ && g.node(nodes[k]).dtype != dtype_) m.op = Arith::none;
            if (m.op != Arith::none) dtype_ = g.node(nodes[k]).dtype, dtype_set_ = true;
            if (m.op == Arith::none && m.in.size() > g.node(nodes[k]).inputs.size()) m.in.pop_back();
            m.wanted = wanted(nodes[k]);
            number_[nodes[k]] = k;
            members_.push_back(std::move(m));
        }
        find_phases();
        make_items();
    }
    std::vector<Item> items;
    const std::vector<MachineNode>& machine_nodes(const Item& item)
    {
        scratch_.clear();
        for (ValueId v : item.nodes) {
            const Member& m = members_[number_[v]];
            const bool outside = std::find(item.out.begin(), item.out.end(), v) != item.out.end();
            scratch_.push_back({m.op, v, m.in[0], m.in[1], outside});
        }
        return scratch_;
    }

private:
    struct Member {
        Arith op = Arith::none;
        bool wanted = false;
        std::uint32_t phase = 0, item = 0;
        std::vector<ValueId> in;
        bool light() const { return op != Arith::none; }
    };
    Member* member(ValueId v)
    {
        const auto it = number_.find(v);
        return it == number_.end() ? nullptr : &members_[it->second];
    }

    void find_phases()
    {
        for (Member& m : members_) {
            m.phase = m.light() ? 0 : 1;
            for (ValueId i : m.in)
                if (const Member* u = member(i))
                    m.phase = std::max(m.phase, u->phase + (u->light() != m.light()));
        }
        std::vector<std::uint32_t> latest(members_.size(), ~0U);
        for (std::size_t k = members_.size(); k-- > 0;) {
            Member& m = members_[k];
            if (!m.wanted && latest[k] != ~0U) m.phase = std::max(m.phase, latest[k]);
            for (ValueId i : m.in)
                if (const Member* u = member(i)) {
                    std::uint32_t& l = latest[number_[i]];
                    l = std::min(l, m.phase - (u->light() != m.light()));
                }
        }
    }

    void make_items()
    {
        std::vector<std::uint32_t> order(members_.size());
        for (std::uint32_t k = 0; k < order.size(); ++k) order[k] = k;
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return members_[a].phase < members_[b].phase;
        });
        for (std::size_t i = 0; i < order.size(); ++i) {
            Member& m = members_[order[i]];
            const bool joins = i > 0 && m.light() && members_[order[i - 1]].phase == m.phase &&
                               items.back().nodes.size() < most;
            if (!joins) items.emplace_back();
            items.back().nodes.push_back(nodes_[order[i]]);
            m.item = static_cast<std::uint32_t>(items.size() - 1);
        }
        for (std::uint32_t k = 0; k < items.size(); ++k) find_edges(k);
        for (Item& item : items) {
            std::sort(item.out.begin(), item.out.end());
            item.out.erase(std::unique(item.out.begin(), item.out.end()), item.out.end());
        }
    }
    void find_edges(std::uint32_t k)
    {
        Item& item = items[k];
        item.segment = item.nodes.size() > 1;
        for (ValueId v : item.nodes) {
            const Member& m = members_[number_[v]];
            if (m.wanted) item.out.push_back(v);
            const std::size_t arity = item.segment ? m.in.size() : g_.node(v).inputs.size();
            for (std::size_t j = 0; j < arity; ++j) {
                const Member* u = member(m.in[j]);
                if (u && u->item == k) continue;
                if (u) items[u->item].out.push_back(m.in[j]);
                const bool known =
                    item.segment && std::find(item.in.begin(), item.in.end(), m.in[j]) != item.in.end();
                if (!known) item.in.push_back(m.in[j]);
            }
        }
    }

    const Graph& g_;
    const std::vector<ValueId>& nodes_;
    std::vector<Member> members_;
    std::unordered_map<ValueId, std::uint32_t> number_;
    std::vector<MachineNode> scratch_;
    DType dtype_{};
    bool dtype_set_ = false;
};

}  // namespace detail

}  // namespace wengert::tiling
