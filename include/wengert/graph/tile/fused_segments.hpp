// Which of a group's operations run on the arithmetic machine together, and the machine's programs.
#pragma once

#include "../../ops/activations.hpp"
#include "fused_program.hpp"

namespace wengert::tiling {

namespace detail {

/// Numbers that recipes need, as values that no graph has.
inline constexpr double recipe_numbers[] = {1, 2, -1};
constexpr ValueId recipe_number(std::size_t k) { return no_value - 1 - static_cast<ValueId>(k); }
constexpr bool is_recipe_number(ValueId v)
{
    return v < no_value && v >= recipe_number(std::size(recipe_numbers) - 1);
}

/// A primitive as operations of the machine, each as the primitive's own kernel has it.
struct Recipe {
    /// Of operations: the primitive's inputs are 0 to 3, results of steps before 4, 5, …, and `one`, `two`, `minus_one`.
    enum : std::uint8_t { g = 0, y = 1, first = 4, second = 5, one = 8, two = 9, minus_one = 10 };
    struct Step {
        Arith op = Arith::none;
        std::uint8_t left = 0, right = 0;
    };
    TileKernel kernel = nullptr;
    Step steps[3];
    std::size_t count() const
    {
        std::size_t n = 0;
        while (n < 3 && steps[n].op != Arith::none) ++n;
        return n;
    }
};

template <class A, class T>
inline constexpr auto recipes = [] {
    using R = Recipe;
    using O = Arith;
    constexpr auto unary = []<class P>(P) { return elementwise_primitive<P, A, T, T>; };
    constexpr auto binary = []<class P>(P) { return elementwise_primitive<P, A, T, T, T>; };
    return std::array{
        R{binary(Add{}).value, {{O::add, 0, 1}}},
        R{binary(Subtract{}).value, {{O::subtract, 0, 1}}},
        R{binary(Multiply{}).value, {{O::multiply, 0, 1}}},
        R{unary(Negative{}).value, {{O::multiply, 0, R::minus_one}}},
        R{unary(Square{}).value, {{O::multiply, 0, 0}}},
        R{binary(Subtract{}).pull[1].kernel, {{O::multiply, R::g, R::minus_one}}},
        R{unary(Negative{}).pull[0].kernel, {{O::multiply, R::g, R::minus_one}}},
        R{binary(Multiply{}).pull[0].kernel, {{O::scale, R::g, R::y}}},
        R{binary(Multiply{}).pull[1].kernel, {{O::scale, R::g, R::y}}},
        R{unary(Exp{}).pull[0].kernel, {{O::scale, R::g, R::y}}},
        R{unary(Square{}).pull[0].kernel, {{O::multiply, R::two, R::y}, {O::scale, R::g, R::first}}},
        R{unary(Tanh{}).pull[0].kernel,
          {{O::multiply, R::y, R::y}, {O::subtract, R::one, R::first}, {O::scale, R::g, R::second}}},
        R{unary(Sigmoid{}).pull[0].kernel,
          {{O::subtract, R::one, R::y}, {O::multiply, R::y, R::first}, {O::scale, R::g, R::second}}},
    };
}();

/// How the machine computes a primitive, or null. Told by the kernel, so that another primitive of the same name is not meant.
template <class A> const Recipe* recipe_of(const Primitive& p)
{
    const auto find = [&](const auto& all) -> const Recipe* {
        for (const Recipe& r : all)
            if (r.kernel == p.value) return &r;
        return nullptr;
    };
    if (p.dtype == DType::float32) return find(recipes<A, float>);
    if (p.dtype == DType::float64) return find(recipes<A, double>);
    return nullptr;
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
        std::size_t x = none;
        if (l != none && may_overwrite(n.left)) {
            x = l;
            apply(x, n.op, r, n.right, place);
        } else if (r != none && may_overwrite(n.right)) {
            x = r;
            apply(x, turned(n.op), l, n.left, place);
        } else if (l != none) {
            x = take(l, r);
            emit(MicroCode::move(x, l));
            apply(x, n.op, r == l ? x : r, n.right, place);
        } else if (r != none) {
            x = take(r, none);
            emit(MicroCode::move(x, r));
            apply(x, turned(n.op), none, n.left, place);
        } else {
            x = take(none, none);
            const std::uint8_t a = load_from(n.left, place);
            const bool two = n.op <= Arith::multiply;
            emit(two ? MicroCode::both(x, n.op) : MicroCode::load(x), a, two ? load_from(n.right, place) : a);
            if (!two) apply(x, n.op, none, n.right, place);
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
        : nodes_(nodes)
    {
        for (std::uint32_t k = 0; k < nodes.size(); ++k) {
            Member m;
            for (ValueId i : g.node(nodes[k]).inputs) m.in.push_back(source(i));
            const DType dtype = g.node(nodes[k]).dtype;
            if (machine && (!any_ || dtype == dtype_)) m.recipe = recipe_of<A>(*g.node(nodes[k]).primitive);
            if (m.recipe) dtype_ = dtype, any_ = true;
            m.wanted = wanted(nodes[k]);
            number_[nodes[k]] = k;
            members_.push_back(std::move(m));
        }
        find_phases();
        make_items();
    }
    std::vector<Item> items;
    DType dtype() const { return dtype_; }  ///< of the machine's operations

    std::vector<MachineNode> machine_nodes(const Item& item)
    {
        std::vector<MachineNode> out;
        ValueId between = first_between;
        for (ValueId v : item.nodes) {
            const Member& m = members_[number_[v]];
            const std::size_t n = m.recipe->count();
            ValueId made[3];
            for (std::size_t k = 0; k < n; ++k) {
                made[k] = k + 1 == n ? v : between++;
                const auto operand = [&](std::uint8_t i) {
                    return i >= Recipe::one     ? recipe_number(i - Recipe::one)
                           : i >= Recipe::first ? made[i - Recipe::first]
                                                : m.in[i];
                };
                const Recipe::Step& s = m.recipe->steps[k];
                out.push_back({s.op, made[k], operand(s.left), operand(s.right), false});
            }
            out.back().wanted = std::binary_search(item.out.begin(), item.out.end(), v);
        }
        return out;
    }

private:
    struct Member {
        const Recipe* recipe = nullptr;
        bool wanted = false;
        std::uint32_t phase = 0, item = 0;
        std::vector<ValueId> in;
        bool light() const { return recipe != nullptr; }
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
            for (ValueId i : m.in) {
                const Member* u = member(i);
                if (u && u->item == k) continue;
                if (u) items[u->item].out.push_back(i);
                add_input(item, i);
            }
            if (!item.segment) continue;
            for (std::size_t j = 0; j < m.recipe->count(); ++j)
                for (std::uint8_t i : {m.recipe->steps[j].left, m.recipe->steps[j].right})
                    if (i >= Recipe::one) add_input(item, recipe_number(i - Recipe::one));
        }
    }

    /// A kernel's inputs are in order, a segment's are operands, each once.
    static void add_input(Item& item, ValueId v)
    {
        const bool known = item.segment && std::find(item.in.begin(), item.in.end(), v) != item.in.end();
        if (!known) item.in.push_back(v);
    }

    static constexpr ValueId first_between =
        0xf0000000;  ///< values within recipes: numbers that no graph reaches

    const std::vector<ValueId>& nodes_;
    std::vector<Member> members_;
    std::unordered_map<ValueId, std::uint32_t> number_;
    DType dtype_{};
    bool any_ = false;
};

}  // namespace detail

}  // namespace wengert::tiling
