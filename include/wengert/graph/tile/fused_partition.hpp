// Which of a group's operations run on the arithmetic machine together, and the machine's programs.
#pragma once

#include <map>

#include "../../base/stable_sort.hpp"
#include "fused_recipe.hpp"

namespace wengert::tiling {

namespace detail {

template <class T> using ValueMap = std::map<ValueId, T>;

/// What a group does, one by one: a node, or the spreading of values along rows.
struct GroupOperation {
    ValueId value = no_value;
    std::vector<ValueId> in;
    DType dtype{};
    const GraphNode* node = nullptr;  ///< of one element after the other: it may be arithmetic
    TileKernel kernel = nullptr;
    RowOperation rows = {};
    bool narrow = false;  ///< makes one element a row
    bool wanted = false;  ///< read outside of the pass, or added up
};

/// A part of a group: a primitive's kernel, or several operations on the machine.
struct Cluster {
    std::vector<ValueId> nodes;  ///< one, or those of a micro-program
    std::vector<ValueId> in;     ///< read from memory, each once in a micro-program
    std::vector<ValueId> out;    ///< written to memory
    bool micro = false;
};

/// Chooses accumulators for the values of a micro-program, in order. A value that is written over while it is still needed has
/// been stored before; the one whose next reading is farthest gives way (Belady 1966).
class AccumulatorAllocation {
public:
    /// `number`: of the operands, which are what lies in memory.
    AccumulatorAllocation(const std::vector<MicroNode>& nodes, const ValueMap<std::size_t>& number)
        : nodes_(nodes), number_(number)
    {
        for (; now_ < nodes_.size(); ++now_) step(nodes_[now_]);
        ops.push_back({MicroCode::end, 0, 0});
    }
    std::vector<MicroOp> ops;
    std::size_t spills = 0;
    ValueMap<std::uint32_t> last_load, stored_at;  ///< positions in ops

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
        for (std::uint32_t i = now_ + 1; i < nodes_.size(); ++i)
            if (nodes_[i].left == v || nodes_[i].right == v || nodes_[i].third == v) return i;
        return ~0U;
    }
    void emit(std::uint8_t code, std::uint8_t a = 0, std::uint8_t b = 0) { ops.push_back({code, a, b}); }

    std::uint8_t load_from(ValueId v)
    {
        const auto spilled = spilled_.find(v);
        if (spilled != spilled_.end()) return spilled->second;
        last_load[v] = static_cast<std::uint32_t>(ops.size());
        return static_cast<std::uint8_t>(number_.at(v));
    }
    bool in_memory(ValueId v) const { return !made_.count(v) || spilled_.count(v) || stored_at.count(v); }

    void spill(std::size_t x)
    {
        const std::uint8_t to = spilled_[holds_[x]] = static_cast<std::uint8_t>(number_.size() + spills++);
        emit(MicroCode::store(x), to);
    }
    /// An accumulator whose value may go, or `none` where the present step reads all of them.
    std::size_t take()
    {
        const MicroNode& n = nodes_[now_];
        std::size_t best = none;
        std::uint32_t farthest = 0;
        for (std::size_t x = 0; x < none; ++x) {
            const ValueId v = holds_[x];
            if (v != no_value && (v == n.left || v == n.right || v == n.third)) continue;
            const std::uint32_t when = v == no_value ? ~0U : next(v);
            if (best == none || when > farthest) best = x, farthest = when;
        }
        if (best == none) return none;
        const ValueId v = holds_[best];
        if (v != no_value && farthest != ~0U && !in_memory(v)) spill(best);
        holds_[best] = no_value;
        return best;
    }
    bool may_overwrite(ValueId v) const { return next(v) == ~0U || in_memory(v); }

    /// Puts v into an accumulator that may be written.
    std::size_t copy(ValueId v)
    {
        const std::size_t from = accumulator_of(v);
        if (from != none && may_overwrite(v)) return from;
        const std::size_t x = take();
        if (x == none) {  // x y + z of three accumulators, all of them read again
            spill(from);
            return from;
        }
        if (from != none)
            emit(MicroCode::move(x, from));
        else
            emit(MicroCode::load(x), load_from(v));
        return x;
    }
    bool ready(ValueId v) const { return accumulator_of(v) != none && may_overwrite(v); }

    void step(const MicroNode& n)
    {
        if (n.op == Arith::fma) return finish(fma(n), n);
        const std::size_t l = accumulator_of(n.left), r = accumulator_of(n.right);
        const Arith other = turned(n.op);
        std::size_t x = none;
        if (ready(n.left) || other == Arith::none || (l != none && !ready(n.right))) {
            x = copy(n.left);
            apply(x, n.op, n.right == n.left ? x : r, n.right);
        } else if (r != none) {
            x = copy(n.right);
            apply(x, other, l, n.left);
        } else {
            x = take();
            const std::uint8_t a = load_from(n.left);
            const bool two = n.op <= Arith::multiply;
            emit(two ? MicroCode::both(x, n.op) : MicroCode::load(x), a, two ? load_from(n.right) : a);
            if (!two) apply(x, n.op, none, n.right);
        }
        finish(x, n);
    }

    /// left · right + third
    std::size_t fma(const MicroNode& n)
    {
        const std::size_t l = accumulator_of(n.left), r = accumulator_of(n.right);
        const bool adds =
            ready(n.third) && n.third != n.left && n.third != n.right && (l == none || r == none);
        if (adds && !ready(n.left) && !ready(n.right)) {
            const std::size_t x = accumulator_of(n.third), y = l != none ? l : r;
            const ValueId factor = r == none ? n.right : n.left;  // one that is in memory
            const std::uint8_t p = y == none ? load_from(n.left) : std::uint8_t{0};
            emit(MicroCode::sum(x, y), p, load_from(factor));
            return x;
        }
        const bool swap = !ready(n.left) && (ready(n.right) || (l == none && r != none));
        const ValueId a = swap ? n.right : n.left, b = swap ? n.left : n.right;
        const std::size_t x = copy(a);
        const std::size_t y = b == a ? x : accumulator_of(b), z = n.third == a ? x : accumulator_of(n.third);
        const std::uint8_t p = y == none ? load_from(b) : std::uint8_t{0};
        const std::uint8_t q = z == none ? load_from(n.third) : std::uint8_t{0};
        emit(MicroCode::product(x, y, z), p, q);
        return x;
    }
    void apply(std::size_t x, Arith op, std::size_t y, ValueId other)
    {
        if (y != none)
            emit(MicroCode::arith(x, op, y));
        else
            emit(MicroCode::arith(x, op, MicroCode::memory), load_from(other));
    }
    void finish(std::size_t x, const MicroNode& n)
    {
        made_[n.value] = true;
        holds_[x] = n.value;
        if (n.wanted) {
            stored_at[n.value] = static_cast<std::uint32_t>(ops.size());
            emit(MicroCode::store(x), static_cast<std::uint8_t>(number_.at(n.value)));
        }
        for (ValueId& v : holds_)
            if (v != no_value && next(v) == ~0U) v = no_value;
    }

    const std::vector<MicroNode>& nodes_;
    const ValueMap<std::size_t>& number_;
    std::uint32_t now_ = 0;
    ValueId holds_[MicroCode::accumulators] = {no_value, no_value, no_value};
    ValueMap<std::uint8_t> spilled_;
    ValueMap<bool> made_;
};

/// Arithmetic and other operations take turns: each operation gets a phase, arithmetic an even one, others an odd one, as
/// late as those that read it allow. The arithmetic of one phase is one micro-program.
class MicroPartition {
public:
    static constexpr std::size_t most =
        30;  ///< operations of a micro-program: its operands are numbered in a byte

    /// `number`: of a value among the operations. Without `machine` each operation is a call of its kernel.
    MicroPartition(const Graph& g, const std::vector<GroupOperation>& operations,
                   const ValueMap<std::uint32_t>& number, bool machine)
        : number_(number)
    {
        for (const GroupOperation& s : operations) {
            Member m{s};
            if (machine && s.node && (!any_ || s.dtype == dtype_)) m.recipe = recipe(g, *s.node);
            if (m.light()) dtype_ = s.dtype, any_ = true;
            members_.push_back(m);
        }
        find_phases();
        make_clusters();
    }
    std::vector<Cluster> clusters;
    DType dtype() const { return dtype_; }  ///< of the machine's operations

    RecipeNumbers numbers;

    std::vector<MicroNode> micro_nodes(const Cluster& cluster)
    {
        std::vector<MicroNode> out;
        ValueId made = 0;  // values between the steps
        for (ValueId v : cluster.nodes) {
            const Member& m = *member(v);
            const auto value = [&](ValueId x) {
                return x >= first_number ? x : x >= first_between ? x + made : m.operation.in[x];
            };
            for (const MicroNode& s : *m.recipe)
                out.push_back({s.op, value(s.value), value(s.left), value(s.right), value(s.third)});
            out.back().value = v;
            out.back().wanted = std::binary_search(cluster.out.begin(), cluster.out.end(), v);
            made += static_cast<ValueId>(m.recipe->size());
        }
        return out;
    }

private:
    struct Member {
        const GroupOperation& operation;
        const Recipe* recipe = nullptr;
        std::uint32_t phase = 0, cluster = 0;
        bool light() const { return recipe != nullptr; }
    };
    /// The recipe of an operation on floats of one type, null where there is none; each primitive's is written once.
    const Recipe* recipe(const Graph& g, const GraphNode& n)
    {
        bool same = differentiable(n.dtype);
        for (ValueId i : n.inputs) same = same && g.node(i).dtype == n.dtype;
        if (!same) return nullptr;
        const auto [at, fresh] = recipes_.try_emplace(n.primitive);
        if (fresh) at->second = RecipeWriter::write(*n.primitive, numbers);
        return at->second.empty() ? nullptr : &at->second;
    }
    Member* member(ValueId v)
    {
        const auto it = number_.find(v);
        return it == number_.end() ? nullptr : &members_[it->second];
    }

    void find_phases()
    {
        for (Member& m : members_) {
            m.phase = m.light() ? 0 : 1;
            for (ValueId i : m.operation.in)
                if (const Member* u = member(i))
                    m.phase = std::max(m.phase, u->phase + (u->light() != m.light()));
        }
        std::vector<std::uint32_t> latest(members_.size(), ~0U);
        for (std::size_t k = members_.size(); k-- > 0;) {
            Member& m = members_[k];
            if (!m.operation.wanted && latest[k] != ~0U) m.phase = std::max(m.phase, latest[k]);
            for (ValueId i : m.operation.in)
                if (const Member* u = member(i)) {
                    std::uint32_t& l = latest[static_cast<std::size_t>(u - members_.data())];
                    l = std::min(l, m.phase - (u->light() != m.light()));
                }
        }
    }

    void make_clusters()
    {
        std::vector<std::uint32_t> order(members_.size());
        for (std::uint32_t k = 0; k < order.size(); ++k) order[k] = k;
        wengert::detail::stable_sort(
            order, [&](std::uint32_t a, std::uint32_t b) { return members_[a].phase < members_[b].phase; });
        for (std::size_t i = 0; i < order.size(); ++i) {
            Member& m = members_[order[i]];
            const bool joins = i > 0 && m.light() && members_[order[i - 1]].phase == m.phase &&
                               clusters.back().nodes.size() < most;
            if (!joins) clusters.emplace_back();
            clusters.back().nodes.push_back(m.operation.value);
            m.cluster = static_cast<std::uint32_t>(clusters.size() - 1);
        }
        for (std::uint32_t k = 0; k < clusters.size(); ++k) find_edges(k);
        for (Cluster& cluster : clusters) {
            std::sort(cluster.out.begin(), cluster.out.end());
            cluster.out.erase(std::unique(cluster.out.begin(), cluster.out.end()), cluster.out.end());
        }
    }
    void find_edges(std::uint32_t k)
    {
        Cluster& cluster = clusters[k];
        cluster.micro = cluster.nodes.size() > 1;
        for (ValueId v : cluster.nodes) {
            const Member& m = *member(v);
            if (m.operation.wanted) cluster.out.push_back(v);
            for (ValueId i : m.operation.in) {
                const Member* u = member(i);
                if (u && u->cluster == k) continue;
                if (u) clusters[u->cluster].out.push_back(i);
                add_input(cluster, i);
            }
            if (!cluster.micro) continue;
            for (const MicroNode& s : *m.recipe)
                for (ValueId x : {s.left, s.right, s.third})
                    if (is_recipe_number(x)) add_input(cluster, x);
        }
    }

    /// A kernel's inputs are in order, a micro-program's are operands, each once.
    static void add_input(Cluster& cluster, ValueId v)
    {
        const bool known =
            cluster.micro && std::find(cluster.in.begin(), cluster.in.end(), v) != cluster.in.end();
        if (!known) cluster.in.push_back(v);
    }

    std::vector<Member> members_;
    const ValueMap<std::uint32_t>& number_;
    std::map<const Primitive*, Recipe> recipes_;
    DType dtype_{};
    bool any_ = false;
};

}  // namespace detail

}  // namespace wengert::tiling
