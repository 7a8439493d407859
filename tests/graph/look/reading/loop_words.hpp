/// Loops and branches from text, checked: whatever the words say, running them touches only what is theirs.
#pragma once

#include "words.hpp"

namespace reading {

/// A graph that has been read, and how deep the loops in it are nested.
struct ReadGraph {
    std::shared_ptr<const Graph> graph;
    std::size_t depth = 1;
};

/// Do the graphs of a loop, its operands and its results fit together? What they all must be follows from the body's inputs and
/// results (graph/loops/loop.hpp). Throws ShapeError.
class LoopCheck {
public:
    LoopCheck(const LoopParameters& p, ValueTypes operands) : p_(p), x_(operands.begin(), operands.end()) {}

    void check()
    {
        const bool pulls = p_.kind == Kind::while_pull || p_.kind == Kind::scan_pull;
        demand(p_.body && (scan() || p_.other) && (!pulls || p_.pull), "a graph is missing");
        for (const Graph* g : graphs_of(p_)) demand(g->guards().empty(), "a loop's graph has guards");
        demand(p_.snapshots == 0 ? p_.kind != Kind::scan_pull
                                 : scan() && p_.snapshots > 0 && p_.snapshots < p_.steps,
               "another number of snapshots than there is room for");
        demand(scan() || p_.xs == 0, "only a scan has xs");
        demand(p_.kind == Kind::scan || p_.kept == 0, "only a scan keeps states");
        check_extents(Shape{p_.size});
        for (const auto& r : p_.results) check_place(r);
        in_ = types_of(*p_.body, p_.body->inputs());
        out_ = types_of(*p_.body, p_.body->outputs());
        if (p_.kind == Kind::cond)
            check_branch();
        else
            check_loop();
        check_guard();
    }

private:
    using Types = std::vector<ValueType>;

    bool scan() const { return p_.kind == Kind::scan || p_.kind == Kind::scan_pull; }
    static void demand(bool fits, const char* otherwise)
    {
        if (!fits) throw ShapeError(otherwise);
    }
    static bool same(const Types& a, const Types& b)
    {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ValueType& m, const ValueType& n) {
            return m.dtype == n.dtype && m.shape == n.shape;
        });
    }
    static Types types_of(const Graph& g, const std::vector<ValueId>& ids)
    {
        Types out;
        for (ValueId v : ids) out.push_back({g.node(v).dtype, g.node(v).shape});
        return out;
    }
    static Types part(const Types& all, std::size_t first, std::size_t last)
    {
        return {all.begin() + static_cast<std::ptrdiff_t>(first),
                all.begin() + static_cast<std::ptrdiff_t>(last)};
    }
    static Types joined(std::initializer_list<Types> lists)
    {
        Types out;
        for (const Types& l : lists) out.insert(out.end(), l.begin(), l.end());
        return out;
    }
    static Types stacked(Types rows, std::int64_t steps)
    {
        for (ValueType& t : rows) t.shape = stacked_shape(steps, t.shape);
        return rows;
    }
    static void demand_types(const Graph& g, const Types& in, const Types& out, const char* otherwise)
    {
        demand(same(types_of(g, g.inputs()), in) && same(types_of(g, g.outputs()), out), otherwise);
    }
    /// The body's inputs of these numbers, which have derivatives.
    Types active(const std::vector<std::size_t>& numbers, std::size_t first, std::size_t last) const
    {
        Types out;
        for (std::size_t i : numbers) {
            demand(i >= first && i < last && differentiable(in_[i].dtype),
                   "what is active has no derivative");
            out.push_back(in_[i]);
        }
        return out;
    }

    void check_place(const LoopParameters::Result& r) const
    {
        check_extents(r.shape);
        if (!r.wanted()) return;
        demand(!differentiable(r.dtype) ||
                   (differentiable(p_.dtype) && size_of(r.dtype) <= size_of(p_.dtype)),
               "a result's dtype does not fit the packed one");
        demand(r.offset >= 0 && r.offset <= p_.size && packed_extent(p_.dtype, r) <= p_.size - r.offset,
               "a result does not lie in the packed block");
    }
    void demand_operands(const Types& operands) const
    {
        demand(same(x_, operands), "the operands have other types than the body's inputs");
    }
    void demand_results(const Types& results) const
    {
        Types found;
        for (const auto& r : p_.results) found.push_back({r.dtype, r.shape});
        demand(same(found, results), "a result has another type than the body's");
    }

    void check_branch() const
    {
        demand_operands(joined({truth, in_}));
        demand_types(*p_.other, in_, out_, "the second branch does not fit");
        demand_results(out_);
    }
    void check_loop() const
    {
        const std::size_t states = p_.states, rows = states + p_.xs;
        demand(states <= in_.size() && p_.xs <= in_.size() - states, "operands are missing");
        const Types s = part(in_, 0, states), x = part(in_, states, rows), c = part(in_, rows, in_.size());
        demand(out_.size() >= states && same(part(out_, 0, states), s), "the body makes other states");
        const Types y = part(out_, states, out_.size()), operands = joined({s, stacked(x, p_.steps), c});
        if (!scan()) demand(y.empty(), "the body has another number of results");
        if (!scan()) demand_types(*p_.other, in_, truth, "the test does not fit the body");
        if (p_.kind == Kind::scan) return check_scan(s, y, operands);
        if (p_.kind == Kind::while_loop) return demand_operands(operands), demand_results(s);
        const Types a = active(p_.active_states, 0, states),
                    b = active(p_.active_constants, rows, in_.size()),
                    slices = active(p_.active_xs, states, rows);
        demand_types(*p_.pull, joined({a, b, s, x, y, c}), joined({a, b, slices}),
                     "the pull does not fit the body");
        demand_operands(
            joined({operands, scan() ? stacked(s, p_.snapshots) : Types(), a, stacked(y, p_.steps)}));
        demand_results(joined({a, b, stacked(slices, p_.steps)}));
    }
    /// Results are stacked, or states before some of the steps.
    void check_scan(const Types& s, const Types& y, const Types& operands) const
    {
        demand(p_.steps >= 0 && p_.kept <= std::min(s.size(), y.size()),
               "more states are kept than there are");
        demand(same(part(y, y.size() - p_.kept, y.size()), part(s, 0, p_.kept)),
               "a kept state has another type");
        Types results = joined({s, stacked(y, p_.steps)});
        for (std::size_t i = s.size(); p_.snapshots && i < std::min(results.size(), p_.results.size()); ++i)
            if (p_.results[i].shape == stacked_shape(p_.snapshots, out_[i].shape))
                results[i].shape = p_.results[i].shape;
        demand_operands(operands);
        demand_results(results);
    }
    void check_guard() const
    {
        if (p_.guard == LoopParameters::npos) return;
        const bool cond = p_.kind == Kind::cond;
        demand(p_.guard < (cond ? p_.results.size() : p_.states), "there is no such guard");
        demand(same({(cond ? out_ : in_)[p_.guard]}, truth), "a guard is no truth value");
        demand(!cond || p_.results[p_.guard].wanted(), "a guard has no place");
    }

    const LoopParameters& p_;
    const Types x_, truth{{DType::boolean, {}}};
    Types in_, out_;  ///< of the body
};

/// Reads what loop_text wrote, up to the closing brace. How deep the graphs are nested.
class LoopReader {
public:
    LoopReader(LoopParameters& p, Cursor& c, const std::map<std::size_t, ReadGraph>& graphs)
        : p_(p), c_(c), graphs_(graphs)
    {}
    std::size_t read()
    {
        c_.expect('{');
        while (!c_.accept('}')) {
            const std::string_view key = c_.word();
            bool known = false;
            each_loop_word(p_, [&](std::string_view name, auto& value, bool) {
                if (name == key) known = true, read(value);
            });
            if (!known) c_.fail("no parameter of a loop: " + quoted(key.empty() ? c_.rest() : key));
        }
        if (p_.effects || p_.ignored) c_.fail("it calls the host, which has no text");
        p_.dtype = packed_dtype(p_.results);
        return depth_;
    }

private:
    void read(bool& said) { said = true; }
    template <class N> void read(N& n) { n = c_.number<N>("a number is expected"); }
    void read(std::vector<std::size_t>& positions)
    {
        const Extents all = read_extents(c_);
        positions.assign(all.begin(), all.end());
    }
    void read(std::vector<LoopParameters::Result>& results)
    {
        c_.list([&] {
            const ValueType t = read_type(c_);
            results.push_back({t.dtype, t.shape, LoopParameters::Result::nowhere});
            if (c_.accept_word("at")) results.back().offset = c_.number<std::int64_t>("a place is expected");
        });
    }
    void read(std::shared_ptr<const Graph>& graph)
    {
        c_.expect('@');
        const auto at = graphs_.find(c_.number<std::size_t>("a graph's number is expected"));
        if (at == graphs_.end()) c_.fail("that graph is not defined above");
        graph = at->second.graph;
        depth_ = std::max(depth_, at->second.depth);
    }

    LoopParameters& p_;
    Cursor& c_;
    const std::map<std::size_t, ReadGraph>& graphs_;
    std::size_t depth_ = 0;
};

}  // namespace reading
