// What sparse_hessian.hpp declares: the pattern of a Hessian from the operations that a function did, and the columns that can be
// computed together. With WENGERT_COMPILED only wengert::compiled compiles it.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "../../../base/separate.hpp"
#include "../../real/lanes.hpp"
#include "../sparse_hessian.hpp"

namespace wengert::detail {

inline Columns united(const Columns& a, const Columns& b)
{
    Columns u;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(u));
    return u;
}

/// Inputs on which an operation depends. A sum of many terms adds some at each of them, which are merged once there are many.
class InputSet {
public:
    explicit InputSet(Columns columns = {}) : columns_(std::move(columns)) {}
    std::size_t size() const noexcept { return columns_.size() + added_.size(); }
    void add(const InputSet& o)
    {
        added_.insert(added_.end(), o.columns_.begin(), o.columns_.end());
        added_.insert(added_.end(), o.added_.begin(), o.added_.end());
        if (added_.size() > columns_.size() + 64) merge();
    }
    /// In ascending order.
    const Columns& columns()
    {
        if (!added_.empty()) merge();
        return columns_;
    }

private:
    void merge()
    {
        std::sort(added_.begin(), added_.end());
        added_.erase(std::unique(added_.begin(), added_.end()), added_.end());
        columns_ = united(columns_, added_);
        added_.clear();
    }

    Columns columns_, added_;
};

/// On which inputs each operation depends, and which pairs of them some operation couples (Walther 2008, nonlinear interaction
/// domains). Rows hold both triangles in ascending order.
class HessianPattern {
public:
    /// Inputs are the entries from `first` on; of the others only those count on which the result depends.
    HessianPattern(const ScalarStream& s, std::uint32_t first, std::uint32_t inputs, std::uint32_t result)
        : entries_(s.entries()), first_(first), rows_(inputs), uses_(result + 1 - first),
          domains_(result + 1 - first)
    {
        find_reached(result);
        for (std::uint32_t i = first; i <= result; ++i)
            if (uses_[i - first]) step(i);
    }
    std::vector<Columns> rows()
    {
        std::vector<Columns> rows;
        for (InputSet& r : rows_) rows.push_back(r.columns());
        return rows;
    }

private:
    using Domain = std::shared_ptr<InputSet>;

    static bool binary(const ScalarEntry& e) { return e.form() == ScalarForm::both; }
    void find_reached(std::uint32_t result)
    {
        uses_[result - first_] = 1;
        for (std::uint32_t i = result + 1; i-- > first_;) {
            const ScalarEntry& e = entries_[i];
            if (!uses_[i - first_] || e.op() == ScalarOp::input) continue;
            ++uses_[e.a() - first_];
            if (binary(e)) ++uses_[e.b - first_];
        }
    }
    /// The domain of an operand, let go of after its last use.
    Domain take(std::uint32_t place)
    {
        Domain& d = domains_[place - first_];
        return --uses_[place - first_] == 0 ? std::move(d) : d;
    }
    void step(std::uint32_t i)
    {
        const ScalarEntry& e = entries_[i];
        Domain& own = domains_[i - first_];
        if (e.op() == ScalarOp::input) {
            own = std::make_shared<InputSet>(Columns(1, i - first_));
            return;
        }
        Domain a = take(e.a());
        if (!binary(e)) {
            if (!linear(e)) couple(a, a);
            own = std::move(a);
            return;
        }
        Domain b = take(e.b);
        couple_operands(e.op(), a, b);
        own = joined(std::move(a), std::move(b));
    }
    /// A function of two numbers without a second derivative.
    static bool linear_pair(ScalarOp op)
    {
        const auto is = []<class P>(P) {
            if constexpr (requires { P::linear; })
                return P::linear;
            else
                return false;
        };
        return visit_pair(op, is, [] { return false; });
    }
    static bool linear(const ScalarEntry& e)
    {
        switch (e.op()) {
        case ScalarOp::copy:
        case ScalarOp::add:
        case ScalarOp::subtract:
        case ScalarOp::multiply:
        case ScalarOp::negative: return true;
        case ScalarOp::divide: return e.form() == ScalarForm::right_constant;
        default: return e.op() >= ScalarOp::whole || linear_pair(e.op());
        }
    }
    void couple_operands(ScalarOp op, const Domain& a, const Domain& b)
    {
        if (linear_pair(op)) return;
        switch (op) {
        case ScalarOp::add:
        case ScalarOp::subtract: return;
        case ScalarOp::multiply: return couple(a, b);
        case ScalarOp::divide: couple(b, b); return couple(a, b);
        default:
            couple(a, a);
            couple(b, b);
            couple(a, b);
        }
    }
    /// Of a sum that goes on nobody else has the inputs.
    Domain joined(Domain a, Domain b)
    {
        if (a == b) return a;
        if (a->size() < b->size()) std::swap(a, b);
        if (a.use_count() == 1) {
            a->add(*b);
            return a;
        }
        const Columns &x = a->columns(), &z = b->columns();
        if (std::includes(x.begin(), x.end(), z.begin(), z.end())) return a;
        return std::make_shared<InputSet>(united(x, z));
    }
    void couple(const Domain& a, const Domain& b)
    {
        if (a == last_[0] && b == last_[1]) return;  // loops couple the same ones again and again
        for (const std::uint32_t i : a->columns()) rows_[i].add(*b);
        if (a != b)
            for (const std::uint32_t j : b->columns()) rows_[j].add(*a);
        last_[0] = a, last_[1] = b;
    }

    const ScalarEntry* entries_;
    std::uint32_t first_;
    std::vector<InputSet> rows_;
    std::vector<std::uint32_t> uses_;
    std::vector<Domain> domains_;
    Domain last_[2];
};

WENGERT_INLINE std::vector<Columns> hessian_pattern(const ScalarStream& s, std::uint32_t first,
                                                    std::uint32_t inputs, std::uint32_t result)
{
    return HessianPattern(s, first, inputs, result).rows();
}

/// Greedy (Gebremedhin, Manne & Pothen 2005, algorithm 4.1): a vertex may not have the colour of a neighbour, nor one with which a path
/// of four vertices would have two colours. What is forbidden beyond a neighbour is kept with it, so that a hub costs no more than others.
class StarColouring {
public:
    explicit StarColouring(const std::vector<Columns>& rows)
        : rows_(rows), colour_(rows.size(), none), around_(rows.size()), beyond_(rows.size())
    {}
    /// Vertices of many neighbours first: a hub's colour is forbidden for all of its neighbours, but each of theirs for the hub. Last, it
    /// would find as many colours as it has neighbours.
    std::vector<std::uint32_t> colours() &&
    {
        std::vector<std::uint32_t> order(rows_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return rows_[a].size() > rows_[b].size(); });
        for (const std::uint32_t v : order) {
            colour_[v] = allowed(v);
            note(v);
        }
        return std::move(colour_);
    }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    struct Neighbours {
        std::uint32_t first = 0, count = 0;
    };

    static std::uint64_t key(std::uint32_t vertex, std::uint32_t colour)
    {
        return std::uint64_t{vertex} << 32 | colour;
    }
    void forbid(std::uint32_t c, std::uint32_t v)
    {
        if (c >= forbidden_.size()) forbidden_.resize(c + 1, none);
        forbidden_[c] = v;
    }
    std::uint32_t allowed(std::uint32_t v)
    {
        for (const std::uint32_t w : rows_[v]) {
            if (w == v) continue;
            if (colour_[w] != none) forbid(colour_[w], v);
            for (const std::uint32_t c : colour_[w] == none ? around_[w] : beyond_[w]) forbid(c, v);
        }
        std::uint32_t c = 0;
        while (c < forbidden_.size() && forbidden_[c] == v) ++c;
        return c;
    }
    /// w has a neighbour of colour c with another neighbour of w's colour.
    void block(std::uint32_t w, std::uint32_t c)
    {
        if (blocked_.insert(key(w, c)).second) beyond_[w].push_back(c);
    }
    void note(std::uint32_t v)
    {
        const std::uint32_t c = colour_[v];
        for (const std::uint32_t u : rows_[v]) {
            if (u == v) continue;
            Neighbours& same = of_colour_[key(u, c)];
            if (same.count++ == 0) same.first = v, around_[u].push_back(c);
            if (colour_[u] == none) continue;
            if (same.count == 2) block(same.first, colour_[u]);
            if (same.count >= 2) block(v, colour_[u]);
            if (of_colour_[key(v, colour_[u])].count >= 2) block(u, c);
        }
    }

    const std::vector<Columns>& rows_;
    std::vector<std::uint32_t> colour_, forbidden_;
    std::vector<Columns> around_;  ///< of each vertex the colours of its neighbours
    std::vector<Columns> beyond_;  ///< colours that its new neighbours may not have, beside its own
    std::unordered_map<std::uint64_t, Neighbours> of_colour_;  ///< by vertex and colour
    std::unordered_set<std::uint64_t> blocked_;
};

WENGERT_INLINE std::vector<std::uint32_t> star_colours(const std::vector<Columns>& rows)
{
    return StarColouring(rows).colours();
}

WENGERT_INLINE CompressedColumns::CompressedColumns(const ScalarStream& s, std::uint32_t first,
                                                    std::uint32_t result,
                                                    const std::vector<std::uint32_t>& colour)
    : width_(colour.empty() ? 0 : *std::max_element(colour.begin(), colour.end()) + 1),
      sums_(colour.size() * width_)
{
    constexpr std::size_t lanes = 4;
    HessianSweep<lanes> sweep(s, first, result + 1);
    const auto n = static_cast<std::uint32_t>(colour.size());
    for (std::size_t from = 0; from < width_; from += lanes) {
        for (std::uint32_t j = 0; j < n; ++j)
            if (colour[j] >= from && colour[j] < from + lanes) sweep.seed(first + j, colour[j] - from);
        sweep.run(result);
        for (std::uint32_t i = 0; i < n; ++i)
            for (std::size_t l = 0; l < lanes && from + l < width_; ++l)
                sums_[i * width_ + from + l] = sweep.row(first + i)[l];
    }
}

}  // namespace wengert::detail
