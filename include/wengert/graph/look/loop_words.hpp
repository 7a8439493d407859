// Loops and branches from text, checked: whatever the words say, running them touches only what is theirs.
#pragma once

#include <variant>

#include "words.hpp"

namespace wengert::detail {

/// A graph that has been read, and how deep the loops in it are nested.
struct ReadGraph {
    std::shared_ptr<const Graph> graph;
    std::size_t depth = 1;
};

inline std::vector<ValueType> types_of(const Graph& g, const std::vector<ValueId>& ids)
{
    std::vector<ValueType> out;
    for (ValueId v : ids) out.push_back({g.node(v).dtype, g.node(v).shape});
    return out;
}

/// Do the graphs of a loop, its operands and its results fit together? Throws ShapeError.
class LoopCheck {
public:
    LoopCheck(const LoopParameters& p, ValueTypes operands) : p_(p), x_(operands.begin(), operands.end()) {}

    void check()
    {
        using Kind = LoopParameters::Kind;
        const bool pulls = p_.kind == Kind::while_pull || p_.kind == Kind::scan_pull;
        demand(p_.body && (scan() || p_.other) && (!pulls || p_.pull), "a graph is missing");
        for (const Graph* g : graphs_of(p_)) demand(g->guards().empty(), "a loop's graph has guards");
        demand(p_.snapshots == 0 ? p_.kind != Kind::scan_pull
                                 : scan() && p_.snapshots > 0 && p_.snapshots < p_.steps,
               "another number of snapshots than there is room for");
        check_extents(Shape{p_.size});
        for (const auto& r : p_.results) check_place(r);
        if (p_.kind == Kind::cond)
            check_branch();
        else
            check_loop();
        check_guard();
    }

private:
    bool scan() const
    {
        return p_.kind == LoopParameters::Kind::scan || p_.kind == LoopParameters::Kind::scan_pull;
    }
    static void demand(bool fits, const char* otherwise)
    {
        if (!fits) throw ShapeError(otherwise);
    }
    static bool same(const ValueType& a, const ValueType& b)
    {
        return a.dtype == b.dtype && a.shape == b.shape;
    }
    static bool same(const std::vector<ValueType>& a, const std::vector<ValueType>& b)
    {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const auto& m, const auto& n) { return same(m, n); });
    }
    static void append(std::vector<ValueType>& to, const std::vector<ValueType>& from, std::size_t first,
                       std::size_t n)
    {
        for (std::size_t i = first; i < first + n; ++i) to.push_back(from[i]);
    }
    static void demand_types(const Graph& g, const std::vector<ValueType>& inputs,
                             const std::vector<ValueType>& outputs, const char* otherwise)
    {
        demand(same(types_of(g, g.inputs()), inputs) && same(types_of(g, g.outputs()), outputs), otherwise);
    }

    void check_place(const LoopParameters::Result& r) const
    {
        check_extents(r.shape);
        if (!r.wanted()) return;
        demand(!differentiable(r.dtype) ||
                   (differentiable(p_.dtype) && size_of(r.dtype) <= size_of(p_.dtype)),
               "a result's dtype does not fit the packed one");
        const std::int64_t extent = packed_extent(p_.dtype, r);
        demand(r.offset >= 0 && r.offset <= p_.size && extent <= p_.size - r.offset,
               "a result does not lie in the packed block");
    }
    ValueType result(std::size_t i) const { return {p_.results[i].dtype, p_.results[i].shape}; }

    void check_branch() const
    {
        demand(!x_.empty() && same(x_[0], {DType::boolean, {}}), "the condition is no truth value");
        const std::vector<ValueType> constants(x_.begin() + 1, x_.end());
        std::vector<ValueType> results;
        for (std::size_t i = 0; i < p_.results.size(); ++i) results.push_back(result(i));
        demand_types(*p_.body, constants, results, "the first branch does not fit");
        demand_types(*p_.other, constants, results, "the second branch does not fit");
    }
    void check_loop()
    {
        using Kind = LoopParameters::Kind;
        const std::size_t outputs = p_.body->outputs().size();
        demand(p_.kind != Kind::scan_pull || p_.states <= outputs, "the body has another number of results");
        const std::size_t tail =
            p_.kind == Kind::while_pull ? p_.active_states.size()
            : p_.kind == Kind::scan_pull
                ? p_.active_states.size() + outputs  // states, then cotangents of results
                : 0;
        demand(p_.states <= x_.size() && p_.xs <= x_.size() - p_.states &&
                   tail <= x_.size() - p_.states - p_.xs,
               "operands are missing");
        demand(scan() || p_.xs == 0, "only a scan has xs");
        demand(p_.kind == Kind::scan || p_.kept == 0, "only a scan keeps states");
        constants_ = x_.size() - p_.states - p_.xs - tail;
        states_.assign(x_.begin(), x_.begin() + static_cast<std::ptrdiff_t>(p_.states));
        std::vector<ValueType> in = states_;
        for (std::size_t i = p_.states; i < p_.states + p_.xs; ++i) in.push_back(slice(x_[i]));
        append(in, x_, p_.states + p_.xs, constants_);
        if (p_.kind == Kind::scan)
            check_scan(in);
        else if (p_.kind == Kind::scan_pull)
            check_scan_pull(in);
        else
            check_while(in);
    }
    ValueType slice(const ValueType& x) const
    {
        demand(!x.shape.empty() && x.shape[0] == p_.steps, "xs have another number of steps");
        return {x.dtype, Shape(x.shape.data() + 1, x.shape.size() - 1)};
    }
    static ValueType stacked(const ValueType& y, std::int64_t steps)
    {
        ValueType out{y.dtype, {steps}};
        for (auto e : y.shape) out.shape.push_back(e);
        return out;
    }
    void check_scan(const std::vector<ValueType>& in) const
    {
        std::vector<ValueType> out = types_of(*p_.body, p_.body->outputs());
        demand(p_.steps >= 0 && out.size() >= p_.states && p_.results.size() == out.size(),
               "the body has another number of results");
        demand(p_.kept <= p_.states && p_.kept <= out.size() - p_.states,
               "more states are kept than there are");
        for (std::size_t i = 0; i < out.size(); ++i)
            demand(same(result(i), i < p_.states ? out[i] : stacked(out[i], p_.steps)) ||
                       (i >= p_.states && p_.snapshots && same(result(i), stacked(out[i], p_.snapshots))),
                   "a result has another type than the body's");
        for (std::size_t i = 0; i < p_.kept; ++i)
            demand(same(out[out.size() - p_.kept + i], states_[i]), "a kept state has another type");
        std::copy(states_.begin(), states_.end(), out.begin());
        demand_types(*p_.body, in, out, "the body does not fit the operands");
    }
    void check_scan_pull(const std::vector<ValueType>& in) const
    {
        const std::size_t rows = p_.states + p_.xs + constants_, cotangents = rows + p_.states;
        std::vector<ValueType> out = types_of(*p_.body, p_.body->outputs()), carried, pulled;
        for (std::size_t i = 0; i < p_.states; ++i)
            demand(same(x_[rows + i], stacked(states_[i], p_.snapshots)), "a kept state has another type");
        for (std::size_t i : p_.active_states) carried.push_back(active(i, 0, p_.states));
        for (std::size_t i : p_.active_constants) carried.push_back(active(i, p_.states + p_.xs, rows));
        for (std::size_t i = 0; i < p_.active_states.size(); ++i)
            demand(same(x_[cotangents + i], carried[i]), "a cotangent has another type");
        std::vector<ValueType> before = carried, after = carried, results = carried;
        append(before, in, 0, p_.states + p_.xs);
        for (std::size_t k = p_.states; k < out.size(); ++k) {
            const std::size_t g = cotangents + p_.active_states.size() + k - p_.states;
            demand(same(x_[g], stacked(out[k], p_.steps)), "a cotangent has another type");
            before.push_back(out[k]);
        }
        append(before, in, p_.states + p_.xs, constants_);
        for (std::size_t i : p_.active_xs) {
            results.push_back(active(i, p_.states, p_.states + p_.xs));
            after.push_back(slice(results.back()));
        }
        demand_types(*p_.pull, before, after, "the pull does not fit the operands");
        std::copy(states_.begin(), states_.end(), out.begin());
        demand_types(*p_.body, in, out, "the body does not fit the operands");
        demand_results(results);
    }
    void check_while(const std::vector<ValueType>& in) const
    {
        demand_types(*p_.body, in, states_, "the body does not fit the operands");
        demand_types(*p_.other, in, {{DType::boolean, {}}}, "the test does not fit the operands");
        std::vector<ValueType> results = states_;
        if (p_.kind == LoopParameters::Kind::while_pull) {
            results.clear();
            for (std::size_t i : p_.active_states) results.push_back(active(i, 0, p_.states));
            for (std::size_t i = 0; i < results.size(); ++i)
                demand(same(results[i], x_[p_.states + constants_ + i]), "a cotangent has another type");
            for (std::size_t i : p_.active_constants)
                results.push_back(active(i, p_.states, p_.states + constants_));
            std::vector<ValueType> pulled = results;
            append(pulled, in, 0, in.size());
            demand_types(*p_.pull, pulled, results, "the pull does not fit the operands");
        }
        demand_results(results);
    }
    void demand_results(const std::vector<ValueType>& results) const
    {
        demand(results.size() == p_.results.size(), "another number of results");
        for (std::size_t i = 0; i < results.size(); ++i)
            demand(same(results[i], result(i)), "a result has another type");
    }
    const ValueType& active(std::size_t i, std::size_t first, std::size_t last) const
    {
        demand(i >= first && i < last && differentiable(x_[i].dtype), "what is active has no derivative");
        return x_[i];
    }
    void check_guard() const
    {
        if (p_.guard == LoopParameters::npos) return;
        const bool cond = p_.kind == LoopParameters::Kind::cond;
        demand(p_.guard < (cond ? p_.results.size() : p_.states), "there is no such guard");
        demand(same(cond ? result(p_.guard) : states_[p_.guard], {DType::boolean, {}}),
               "a guard is no truth value");
        demand(!cond || p_.results[p_.guard].wanted(), "a guard has no place");
    }

    const LoopParameters& p_;
    std::vector<ValueType> x_, states_;
    std::size_t constants_ = 0;
};

/// Reads what loop_text wrote.
class LoopReader {
public:
    LoopReader(LoopParameters& p, Cursor& c, const std::map<std::size_t, ReadGraph>& graphs)
        : p_(p), c_(c), graphs_(graphs)
    {}

    /// Up to the closing brace. How deep the graphs are nested.
    std::size_t read()
    {
        c_.expect('{');
        while (!c_.accept('}')) {
            const std::string_view key = c_.word();
            if (!read_graph(key) && !read_number(key)) read_rest(key);
        }
        p_.dtype = packed_dtype(p_.results);
        return depth_;
    }

private:
    bool read_graph(std::string_view key)
    {
        auto* to = key == "body"                    ? &p_.body
                   : key == "test" || key == "else" ? &p_.other
                   : key == "pull"                  ? &p_.pull
                                                    : nullptr;
        if (!to) return false;
        c_.expect('@');
        const auto at = graphs_.find(c_.number<std::size_t>("a graph's number is expected"));
        if (at == graphs_.end()) c_.fail("that graph is not defined above");
        *to = at->second.graph;
        depth_ = std::max(depth_, at->second.depth);
        return true;
    }
    bool read_number(std::string_view key)
    {
        using To = std::variant<std::size_t*, std::int64_t*, std::vector<std::size_t>*>;
        const std::pair<std::string_view, To> numbers[] = {{"states", &p_.states},
                                                           {"xs", &p_.xs},
                                                           {"kept", &p_.kept},
                                                           {"guard", &p_.guard},
                                                           {"steps", &p_.steps},
                                                           {"size", &p_.size},
                                                           {"snapshots", &p_.snapshots},
                                                           {"active", &p_.active_states},
                                                           {"sums", &p_.active_constants},
                                                           {"slices", &p_.active_xs}};
        for (const auto& [name, to] : numbers)
            if (key == name) {
                std::visit([&](auto* n) { read(*n); }, to);
                return true;
            }
        return false;
    }
    template <class N> void read(N& n) { n = c_.number<N>("a number is expected"); }
    void read(std::vector<std::size_t>& positions)
    {
        const Extents all = read_extents(c_);
        positions.assign(all.begin(), all.end());
    }
    void read_rest(std::string_view key)
    {
        if (key == "backwards") {
            p_.backwards = true;
        } else if (key == "results") {
            read_results();
        } else if (key == "effects" || key == "ignored") {
            c_.fail("it calls the host, which has no text");
        } else {
            c_.fail("no parameter of a loop: " + quoted(key.empty() ? c_.rest() : key));
        }
    }
    void read_results()
    {
        c_.list([&] {
            const ValueType t = read_type(c_);
            p_.results.push_back({t.dtype, t.shape, LoopParameters::Result::nowhere});
            if (c_.accept_word("at"))
                p_.results.back().offset = c_.number<std::int64_t>("a place is expected");
        });
    }

    LoopParameters& p_;
    Cursor& c_;
    const std::map<std::size_t, ReadGraph>& graphs_;
    std::size_t depth_ = 0;
};

}  // namespace wengert::detail
