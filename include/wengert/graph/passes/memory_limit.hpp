// Automatic rematerialisation: values that wait long for their next use are let go and computed again before it, until what
// is alive at one time fits a limit (Chen, Xu, Zhang, Guestrin 2016, "Training deep nets with sublinear memory cost", for
// the idea; the choice is greedy, by work for each byte).
#pragma once

#include "../tile/layout.hpp"
#include "functions.hpp"
#include "options.hpp"

namespace wengert {

namespace passes::detail {

inline bool is_random(std::string_view name)
{
    for (std::string_view n : {"normal", "uniform", "bernoulli", "randint", "permutation", "dropout_mask"})
        if (n == name) return true;
    return false;
}

/// How much an operation computes. Views compute nothing.
inline double work_of(const Graph& g, const GraphNode& n)
{
    auto work = static_cast<double>(element_count(n.shape));
    for (ValueId v : n.inputs) work = std::max(work, static_cast<double>(element_count(g.node(v).shape)));
    if (function_of(*n.primitive) != Fn::matmul) return work;
    const MatMul& m = parameters_of<MatMul>(n);
    const Shape rows = MatMul::as_rows(m.a);
    return static_cast<double>(element_count(n.shape)) *
           static_cast<double>(rows[rows.size() - (m.ta ? 2 : 1)]);
}

/// A graph as a list of steps in which operations can appear more than once.
class Schedule {
public:
    explicit Schedule(const Graph& g) : graph_(g)
    {
        const tiling::Layouts layouts = tiling::layouts_of(g);
        kept_.assign(g.size(), false);
        for (ValueId v : g.outputs()) kept_[layouts[v].root] = true;
        for (ValueId v = 0; v < g.size(); ++v) {
            const GraphNode& n = g.node(v);
            Step s{v, layouts[v].root, 0, {n.inputs.begin(), n.inputs.end()}};
            const bool counts = n.kind == Graph::Kind::operation && s.root == v && !kept_[v];
            if (counts) s.bytes = (element_count(n.shape) * size_of(n.dtype) + 63) / 64 * 64;
            steps_.push_back(std::move(s));
            order_.push_back(v);
        }
    }

    /// What is alive at most, where, and at how many places.
    struct Peak {
        std::size_t bytes = 0, place = 0, places = 0;
        bool below(const Peak& o) const { return bytes < o.bytes || (bytes == o.bytes && places < o.places); }
    };
    Peak peak()
    {
        find_uses();
        std::vector<std::int64_t> change(order_.size() + 1, 0);
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const Step& s = steps_[order_[i]];
            if (!s.bytes) continue;
            change[i] += static_cast<std::int64_t>(s.bytes);
            change[std::min(last_[order_[i]], order_.size() - 1) + 1] -= static_cast<std::int64_t>(s.bytes);
        }
        Peak p;
        std::int64_t now = 0;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            now += change[i];
            const auto bytes = static_cast<std::size_t>(now);
            if (bytes > p.bytes) p = {bytes, i, 0};
            p.places += bytes == p.bytes;
        }
        return p;
    }

    /// Lets one value go across the peak, such that the peak becomes lower. False when there is none.
    bool lower(Peak& p);
    /// The graph, what is recomputed in segments of its own.
    Graph graph(RematReport& report) const;

private:
    struct Step {
        ValueId node;
        std::uint32_t root;  ///< the step whose memory the value has
        std::size_t bytes;   ///< that it takes itself
        std::vector<std::uint32_t> inputs;
        std::uint16_t segment = 0;
    };
    /// Values to let go, and what has to run before the first use after the peak to have them again.
    struct Candidate {
        std::vector<std::uint32_t> values;
        std::size_t next = 0;  ///< the place of that use
        double cost = 0;       ///< work for each byte
        std::vector<std::uint32_t> again;
    };
    /// What is known of one peak while its candidates are looked for.
    struct Search {
        Peak peak;
        bool products = false;          ///< may they be repeated?
        std::vector<std::size_t> next;  ///< of memory: the place of its first use after the peak
        std::vector<bool> held;         ///< used at the peak, or looked at by a guard
        std::vector<std::vector<std::uint32_t>> users = {};  ///< of steps, before the peak
    };
    struct Change {
        std::uint32_t user;
        std::size_t input;
        std::uint32_t before;
    };

    const GraphNode& node(std::uint32_t s) const { return graph_.node(steps_[s].node); }
    bool available(std::uint32_t s, std::size_t place) const;
    bool may_repeat(std::uint32_t s, bool products) const;
    Search search(const Peak& p, bool products) const;
    bool waits(const Search& x, std::uint32_t s) const
    {
        return steps_[s].bytes && !x.held[s] && x.next[s] > x.peak.place;
    }
    bool gather(const Search& x, Candidate& c) const;
    bool derive(const Search& x, std::uint32_t base, std::size_t most, Candidate& c) const;
    void keep_needed(const Search& x, const std::vector<std::uint32_t>& derived, Candidate& c) const;
    std::vector<Candidate> candidates(const Search& x) const;
    std::vector<Change> apply(const Candidate& c, const Peak& p);
    void undo(const Candidate& c, const std::vector<Change>& changes, std::size_t inserted,
              std::size_t steps);
    void find_uses();

    const Graph& graph_;
    std::vector<bool> kept_;  ///< of nodes: their memory is an output's
    std::vector<Step> steps_;
    std::vector<std::uint32_t> order_;
    std::vector<std::size_t> place_, last_;  ///< of steps: where they are, where their memory is needed last
    std::uint16_t segment_ = 0;
};

inline void Schedule::find_uses()
{
    place_.assign(steps_.size(), 0);
    last_.assign(steps_.size(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i) {
        place_[order_[i]] = last_[order_[i]] = i;
        for (std::uint32_t s : steps_[order_[i]].inputs) last_[steps_[s].root] = i;
        last_[steps_[order_[i]].root] = i;
    }
    for (const Guard& g : graph_.guards()) last_[steps_[g.value].root] = order_.size();
}

/// Nothing has to be done to have this value at that place.
inline bool Schedule::available(std::uint32_t s, std::size_t place) const
{
    const std::uint32_t root = steps_[s].root;
    return steps_[root].bytes == 0 || (place_[root] < place && last_[root] >= place);
}

inline bool Schedule::may_repeat(std::uint32_t s, bool products) const
{
    const GraphNode& n = node(s);
    if (n.kind != Graph::Kind::operation || n.primitive->effects || is_random(n.primitive->name))
        return false;
    if (products || n.primitive->value || steps_[s].root != s) return true;
    const Fn fn = function_of(*n.primitive);
    return fn != Fn::matmul && !n.primitive->name.starts_with("matmul") && n.primitive->name != "gemm" &&
           !n.primitive->name.starts_with("scan") && !n.primitive->name.starts_with("while");
}

/// The steps that give a value once more from what is there at that place, in order; false when that is too much.
inline bool Schedule::gather(const Search& x, Candidate& c) const
{
    constexpr std::size_t most = 64;
    std::vector<std::uint32_t> todo = c.values;
    double work = 0;
    while (!todo.empty()) {
        const std::uint32_t s = todo.back();
        todo.pop_back();
        if (std::find(c.again.begin(), c.again.end(), s) != c.again.end()) continue;
        if (!may_repeat(s, x.products) || c.again.size() == most) return false;
        c.again.push_back(s);
        if (steps_[s].root == s) work += work_of(graph_, node(s));
        for (std::uint32_t i : steps_[s].inputs)
            if (!available(i, c.next)) todo.push_back(i);
    }
    std::sort(c.again.begin(), c.again.end(), [&](auto a, auto b) { return place_[a] < place_[b]; });
    c.cost = work / static_cast<double>(steps_[c.values[0]].bytes);
    return true;
}

/// Of the derived steps those that waiting values are made of.
inline void Schedule::keep_needed(const Search& x, const std::vector<std::uint32_t>& derived,
                                  Candidate& c) const
{
    std::vector<std::uint32_t> needed;
    for (std::size_t k = derived.size(); k-- > 0;) {
        const std::uint32_t s = derived[k];
        const bool wanted = waits(x, s);
        if (!wanted && std::find(needed.begin(), needed.end(), s) == needed.end()) continue;
        if (wanted) c.values.push_back(s);
        c.again.push_back(s);
        needed.insert(needed.end(), steps_[s].inputs.begin(), steps_[s].inputs.end());
    }
    std::reverse(c.again.begin(), c.again.end());
}

/// Several values at once: those that follow from one value, which is kept in their place.
inline bool Schedule::derive(const Search& x, std::uint32_t base, std::size_t most, Candidate& c) const
{
    std::vector<std::uint32_t> derived, todo = x.users[base];
    const auto has = [&](std::uint32_t s) {
        return s == base || steps_[steps_[s].root].bytes == 0 || last_[steps_[s].root] > x.peak.place ||
               std::find(derived.begin(), derived.end(), s) != derived.end();
    };
    const auto later = [&](std::uint32_t a, std::uint32_t b) { return place_[a] > place_[b]; };
    std::make_heap(todo.begin(), todo.end(), later);
    while (!todo.empty() && derived.size() < most) {
        std::pop_heap(todo.begin(), todo.end(), later);
        const std::uint32_t s = todo.back();
        todo.pop_back();
        if (!derived.empty() && derived.back() == s) continue;
        const auto& in = steps_[s].inputs;
        if (!may_repeat(s, x.products) || !std::all_of(in.begin(), in.end(), has)) continue;
        derived.push_back(s);
        for (std::uint32_t u : x.users[s]) {
            todo.push_back(u);
            std::push_heap(todo.begin(), todo.end(), later);
        }
    }
    keep_needed(x, derived, c);
    if (c.values.size() < 2) return false;
    double bytes = 0, work = 0;
    c.next = order_.size();
    for (std::uint32_t s : c.values) {
        bytes += static_cast<double>(steps_[s].bytes);
        c.next = std::min(c.next, x.next[s]);
    }
    const std::uint32_t root = steps_[base].root;
    if (last_[root] <= x.peak.place) bytes -= static_cast<double>(steps_[root].bytes);
    for (std::uint32_t s : c.again) work += steps_[s].root == s ? work_of(graph_, node(s)) : 0;
    c.cost = work / bytes;
    return bytes > 0;
}

inline Schedule::Search Schedule::search(const Peak& p, bool products) const
{
    Search x{p, products, std::vector<std::size_t>(steps_.size(), 0),
             std::vector<bool>(steps_.size(), false)};
    x.users.resize(steps_.size());
    for (std::size_t i = order_.size(); i-- > p.place;)
        for (std::uint32_t s : steps_[order_[i]].inputs) x.next[steps_[s].root] = i;
    for (std::uint32_t s : steps_[order_[p.place]].inputs) x.held[steps_[s].root] = true;
    for (const Guard& g : graph_.guards()) x.held[steps_[g.value].root] = true;
    for (std::size_t i = 0; i < p.place; ++i)
        for (std::uint32_t s : steps_[order_[i]].inputs) x.users[s].push_back(order_[i]);
    return x;
}

/// Ways to lower the peak, the cheapest first: values that are alive there only because they are used later, one by one, and
/// together with those that follow from the same.
inline std::vector<Schedule::Candidate> Schedule::candidates(const Search& x) const
{
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < x.peak.place; ++i) {
        const std::uint32_t s = order_[i];
        if (waits(x, s)) {
            Candidate c{{s}, x.next[s], 0, {}};
            if (gather(x, c)) found.push_back(std::move(c));
        }
        for (const std::size_t most : {std::size_t{8}, std::size_t{48}}) {
            Candidate c;
            if (x.users[s].size() > 0 && x.users[s].size() < 64 && derive(x, s, most, c))
                found.push_back(std::move(c));
        }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.cost < b.cost; });
    return found;
}

/// Copies of c.again before the first late use; late users read them.
inline std::vector<Schedule::Change> Schedule::apply(const Candidate& c, const Peak& p)
{
    std::vector<std::uint32_t> copy(steps_.size(), no_value), fresh;
    if (++segment_ == 0) segment_ = 1;  // 0 is where nothing is recomputed
    const auto repeat = [&](std::uint32_t s) {
        Step again = steps_[s];
        again.segment = segment_;
        for (std::uint32_t& i : again.inputs)
            if (copy[i] != no_value) i = copy[i];
        const auto made = static_cast<std::uint32_t>(steps_.size());
        again.root = steps_[s].root == s                ? made
                     : copy[steps_[s].root] != no_value ? copy[steps_[s].root]
                                                        : again.root;
        copy[s] = made;
        copy.push_back(no_value);
        fresh.push_back(made);
        steps_.push_back(std::move(again));
    };
    std::vector<bool> let_go(steps_.size(), false);
    for (std::uint32_t s : c.values) let_go[s] = true;
    for (std::uint32_t s : c.again) repeat(s);
    for (std::size_t i = 0; i < p.place; ++i)  // views that are read late
        if (const std::uint32_t s = order_[i]; let_go[steps_[s].root] && copy[s] == no_value) repeat(s);
    std::vector<Change> changes;
    for (std::size_t i = p.place + 1; i < order_.size(); ++i)
        for (std::size_t k = 0; k < steps_[order_[i]].inputs.size(); ++k) {
            std::uint32_t& in = steps_[order_[i]].inputs[k];
            if (in >= let_go.size() || !let_go[steps_[in].root] || copy[in] == no_value) continue;
            changes.push_back({order_[i], k, in});
            in = copy[in];
        }
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(c.next), fresh.begin(), fresh.end());
    return changes;
}

inline void Schedule::undo(const Candidate& c, const std::vector<Change>& changes, std::size_t inserted,
                           std::size_t steps)
{
    for (const Change& x : changes) steps_[x.user].inputs[x.input] = x.before;
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(c.next);
    order_.erase(first, first + static_cast<std::ptrdiff_t>(inserted));
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(steps), steps_.end());
    --segment_;
}

inline bool Schedule::lower(Peak& p)
{
    constexpr std::size_t tries = 24;
    for (const bool products : {false, true}) {
        const std::vector<Candidate> found = candidates(search(p, products));
        for (std::size_t k = 0; k < std::min(tries, found.size()); ++k) {
            const std::size_t steps = steps_.size();
            const std::vector<Change> changes = apply(found[k], p);
            if (const Peak q = peak(); q.below(p)) {
                p = q;
                return true;
            }
            undo(found[k], changes, steps_.size() - steps, steps);
        }
        find_uses();
    }
    return false;
}

inline Graph Schedule::graph(RematReport& report) const
{
    std::vector<ValueId> map;
    Graph out = graph_.like(map);
    std::uint16_t first = 0;
    for (const GraphNode& n : graph_.nodes()) first = std::max(first, n.segment);
    map.resize(steps_.size(), no_value);
    for (std::uint32_t s : order_) {
        if (map[s] != no_value) continue;
        GraphNode n = node(s);
        if (steps_[s].segment) n.segment = static_cast<std::uint16_t>(first + steps_[s].segment);
        for (std::size_t k = 0; k < n.inputs.size(); ++k) n.inputs[k] = map[steps_[s].inputs[k]];
        const bool view = steps_[s].root != s;
        if (n.primitive && !view) {
            const double work = work_of(graph_, node(s));
            (s < graph_.size() ? report.work : report.extra_work) += work;
            report.recomputed += s >= graph_.size();
        }
        map[s] = out.append(std::move(n));
    }
    out.finish(graph_, map);
    return out;
}

}  // namespace passes::detail

/// The most bytes that results of operations take at one time when nodes run in order, each result from its node to its
/// last use, in units of 64 bytes. Views take nothing and keep alive what they show. Inputs, constants and outputs, which
/// the caller holds, do not count; nor does it count that an executor may fuse operations or write results over operands.
inline std::size_t liveness_peak(const Graph& g) { return passes::detail::Schedule(g).peak().bytes; }

/// The graph with values computed again near their later uses, so that liveness_peak() is at most `limit_bytes`.
/// Elementwise operations, reductions and views first, products only where these are not enough, random draws and calls of
/// the host never. Values keep their bits. What is computed again has a segment of its own, which no pass merges. Throws
/// MemoryError with the smallest limit that it can reach.
inline Graph rematerialise(const Graph& g, std::size_t limit_bytes, RematReport& report)
{
    passes::detail::Schedule schedule(g);
    auto peak = schedule.peak();
    report = {};
    report.peak_before = peak.bytes;
    while (peak.bytes > limit_bytes)
        if (!schedule.lower(peak)) {
            report.peak_after = peak.bytes;
            fail<MemoryError>("freeze",
                              "a memory limit of " + std::to_string(limit_bytes) + " bytes cannot be kept: " +
                                  std::to_string(peak.bytes) + " is the smallest that can be reached, " +
                                  std::to_string(report.peak_before) +
                                  " are needed when nothing is computed twice",
                              {});
        }
    report.peak_after = peak.bytes;
    return schedule.graph(report);
}

}  // namespace wengert
