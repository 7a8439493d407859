// What loops in emitted code have: operands, states in memory behind the arena, calls of bodies, the packed block.
#pragma once

#include "../loops/loop_code.hpp"
#include "cpp_writer.hpp"

namespace wengert::detail {

/// One such operation. The arenas of its bodies lie behind its own, with their states, which stay there.
class CppLoopMemory {
public:
    CppLoopMemory(CppWriter& w, ValueId v)
        : w_(w), v_(v), p_(*loop_parameters(w.graph.node(v))),
          at_(p_, w.graph.node(v).inputs.size() - p_.ignored), used_(w.scratch_begin())
    {}

protected:
    using Names = std::vector<std::string>;

    template <class N> static std::string number(N n) { return std::to_string(n); }
    std::string type(DType d) const { return w_.module.type(d); }
    static const GraphNode& input(const Graph& g, std::size_t i) { return g.node(g.inputs()[i]); }
    static const GraphNode& output(const Graph& g, std::size_t k) { return g.node(g.outputs()[k]); }
    static std::size_t bytes_of(const GraphNode& n) { return element_count(n.shape) * size_of(n.dtype); }

    std::string memory(std::size_t bytes)
    {
        const std::size_t at = used_;
        used_ += tiling::aligned(bytes);
        return "arena + " + number(at);
    }
    std::string memory(const GraphNode& n)
    {
        return "((" + type(n.dtype) + "*)(" + memory(bytes_of(n)) + "))";
    }

    /// Opens the block, with the operands and the packed block at hand.
    void begin()
    {
        if (p_.effects) w_.refuse(v_, "its body calls the host");
        w_.open("{");
        operands();
        w_.declare("packed", w_.operand(v_), true);
        if (has_gaps(p_)) w_.line("memset(packed, 0, $);", w_.plan.bytes_of(v_));
    }
    void end()
    {
        w_.close();
        w_.scratch = std::max(w_.scratch, used_ - w_.scratch_begin());
    }
    /// `inputs_`: pointers to the operands, each in row-major order.
    void operands()
    {
        const auto& in = w_.graph.node(v_).inputs;
        for (std::size_t i = 0; i + p_.ignored < in.size(); ++i) {
            CppOperand x = w_.operand(in[i]);
            if (w_.plan.layouts[in[i]].strided) {
                const std::string to = memory(w_.graph.node(in[i]));
                w_.copy(x, to, row_major(x.shape));
                x.pointer = to;
            }
            w_.declare("p" + number(i), x, false);
            inputs_.push_back("p" + number(i));
        }
    }
    Names slice(std::size_t from, std::size_t n) const
    {
        return {inputs_.begin() + static_cast<std::ptrdiff_t>(from),
                inputs_.begin() + static_cast<std::ptrdiff_t>(from + n)};
    }
    template <class V> static void append(V& to, const V& from)
    {
        to.insert(to.end(), from.begin(), from.end());
    }

    /// Leaves where the function of a body does.
    void call(const CppModule::Body& f, const std::string& workspace, const Names& arguments)
    {
        std::string list;
        for (const std::string& a : arguments) list += a + ", ";
        const std::string text = f.name + "(" + list + workspace + (w_.module.native ? ", run)" : ")");
        if (!f.fails) return w_.line("$;", text);
        const bool history = p_.kind == Kind::while_pull;
        w_.line("if ($ != 0) $", text,
                history ? "{ free(history); " + w_.failure(v_) + " }" : w_.failure(v_));
    }

    /// A graph that can be called: what it carries from call to call; how many arrays it is shown; the operands of which it gets a
    /// row; the constants, and what is made of them before the loop; where its arena is; where its first results go that are none of
    /// the loop's.
    struct Body {
        std::shared_ptr<const Graph> graph;
        std::size_t shown = 0;
        std::vector<std::size_t> rows = {};
        Names own = {}, states = {}, constants = {};
        CppModule::Body step = {};
        std::string workspace = {};
    };
    /// Works out what is the same in all calls. `once`: there is one call.
    void prepare(Body& b, std::size_t states, bool once = false)
    {
        const std::size_t fixed = once ? LoopParameters::npos : states + b.shown + b.rows.size();
        const CppModule::LoopBody body = w_.module.body(b.graph, {states, fixed});
        b.step = body.step;
        b.workspace = memory(b.step.workspace);
        b.constants = slice(at_.constant, at_.constants);
        if (!body.before) return;
        for (std::size_t k = 0; k < body.before->outputs().size(); ++k) {
            const GraphNode& n = output(*body.before, k);
            b.constants.push_back("c" + number(prepared_++));
            w_.line("$* const $ = $;", type(n.dtype), b.constants.back(), memory(n));
        }
        call(body.first, memory(body.first.workspace), b.constants);
    }
    /// Declares its states, NAME0, NAME1, …; the first of them begin as operands from number `from` on.
    void carry(Body& b, const std::string& name, std::size_t loaded, std::size_t from)
    {
        for (const std::size_t at : b.step.states) {
            const std::size_t i = b.states.size();
            const GraphNode& x = input(*b.graph, i);
            b.states.push_back(name + number(i));
            w_.line("$* const $ = ($*)($ + $);", type(x.dtype), b.states[i], type(x.dtype), b.workspace, at);
            if (i < loaded) w_.line("memcpy($, $, $);", b.states[i], inputs_[from + i], bytes_of(x));
        }
    }
    /// The body of a loop, its states the first operands.
    Body body(std::shared_ptr<const Graph> graph)
    {
        Body b{std::move(graph), 0, all_of(p_.states, p_.states + p_.xs)};
        prepare(b, p_.states);
        carry(b, "s", p_.states, 0);
        return b;
    }
    /// One step of the derivative, the sums beginning as `nothing` says: -0 leaves the bits of what is added first.
    Body pull(const std::string& nothing)
    {
        Body b{p_.pull, p_.states, all_of(p_.states, p_.states + p_.xs)};
        const std::size_t states = p_.active_states.size(), given = at_.cotangents + states;
        append(b.rows, all_of(given, given + LoopPlans::given(p_)));
        prepare(b, LoopPlans::carried(p_));
        carry(b, "g", states, at_.cotangents);
        for (std::size_t i = states; i < b.states.size(); ++i)
            w_.line("for (ptrdiff_t j = 0; j < $; ++j) $[j] = " + nothing + ";",
                    element_count(input(*p_.pull, i).shape), b.states[i], type(input(*p_.pull, i).dtype));
        return b;
    }
    /// A call in step `at`, the results of which are put to their places. Where it has put them.
    Names step(const Body& b, const std::string& at = "", const Names& shown = {})
    {
        Names arguments = shown;
        for (std::size_t operand : b.rows) {
            const std::size_t i = b.states.size() + arguments.size();
            arguments.push_back(inputs_[operand] + times(at, element_count(input(*b.graph, i).shape)));
        }
        append(arguments, b.constants);
        append(arguments, b.own);
        const std::size_t first = b.states.size() + b.own.size(), last = b.graph->outputs().size();
        Names results;
        for (std::size_t k = first; k < last; ++k) {
            const GraphNode& y = output(*b.graph, k);
            results.push_back(direct(k) ? "packed + " + number(p_.results[k].offset) +
                                              times(at, element_count(y.shape))
                                        : memory(y));
        }
        append(arguments, results);
        call(b.step, b.workspace, arguments);
        for (std::size_t k = first; k < last; ++k)
            if (!direct(k) && !snapshot(k))
                put(k, results[k - first], element_count(output(*b.graph, k).shape), at);
        return results;
    }
    /// Leaves the loop where its guard says so.
    void look_at_guard(const Body& b)
    {
        if (p_.guard != LoopParameters::npos) w_.line("if (!*$) break;", b.states[p_.guard]);
    }
    void put_carried(const Body& b)
    {
        for (std::size_t i = 0; i < b.states.size(); ++i)
            put(i, b.states[i], element_count(input(*b.graph, i).shape));
    }

    /// Writes `count` elements of result k, `skip` arrays of that size into it.
    void put(std::size_t k, const std::string& from, std::size_t count, const std::string& skip = "")
    {
        const LoopParameters::Result& r = p_.results[k];
        if (!r.wanted() || count == 0) return;
        const std::string to = "packed + " + number(r.offset), bytes = number(count * size_of(r.dtype));
        if (differentiable(r.dtype) && r.dtype != p_.dtype)
            w_.line("for (ptrdiff_t j = 0; j < $; ++j) ($$)[j] = $[j];", count, to, times(skip, count), from);
        else
            w_.line("memcpy((char*)($)$, $, $);", to, times(skip, count * size_of(r.dtype)), from, bytes);
    }
    static std::string times(const std::string& skip, std::size_t n)
    {
        return skip.empty() ? "" : " + " + skip + " * " + number(n);
    }
    bool direct(std::size_t k) const
    {
        return p_.results[k].wanted() && p_.results[k].dtype == p_.dtype && !snapshot(k);
    }
    /// Is it the states before some steps of a scan?
    bool snapshot(std::size_t k) const
    {
        return p_.snapshots > 0 && k >= p_.states && p_.kind == Kind::scan &&
               p_.results[k].shape[0] == p_.snapshots;
    }

    /// The slice of xs and of stacked results that a step of a scan, counted as it runs, has to do with.
    std::string slice_of(const std::string& step) const
    {
        return p_.backwards ? "(" + number(p_.steps - 1) + " - " + step + ")" : step;
    }

    CppWriter& w_;
    ValueId v_;
    const LoopParameters& p_;
    const LoopOperands at_;
    std::size_t used_;  ///< bytes from the arena's beginning on
    Names inputs_;
    std::size_t prepared_ = 0;  ///< arrays made before the loop
};

}  // namespace wengert::detail
