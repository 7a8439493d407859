// What loops in emitted code have: operands, states in memory behind the arena, calls of bodies, the packed block.
#pragma once

#include "../loops/loop_code.hpp"
#include "cpp_pieces.hpp"

namespace wengert::detail {

/// One such operation. The arenas of its bodies lie behind its own, with their states, which stay there.
class CppLoopMemory : protected CppPieces {
public:
    /// Opens the block, with the operands, each in row-major order, and the packed block at hand.
    CppLoopMemory(CppWriter& w, ValueId v)
        : CppPieces(w, v), p_(*loop_parameters(*n_)), at_(p_, n_->inputs.size() - p_.ignored)
    {
        if (p_.effects) w_.refuse(v_, "its body calls the host");
        w_.open("{");
        for (std::size_t i = 0; i + p_.ignored < n_->inputs.size(); ++i) {
            inputs_.push_back(filled("p$", i));
            w_.declare(inputs_[i], contiguous_input(i), false);
        }
        w_.declare("packed", result(), true);
        if (has_gaps(p_)) w_.line("memset(packed, 0, $);", w_.plan.bytes_of(v_));
    }

protected:
    using Names = std::vector<std::string>;

    static const GraphNode& input(const Graph& g, std::size_t i) { return g.node(g.inputs()[i]); }
    static const GraphNode& output(const Graph& g, std::size_t k) { return g.node(g.outputs()[k]); }
    static std::size_t bytes_of(const GraphNode& n) { return element_count(n.shape) * size_of(n.dtype); }
    std::string type(const GraphNode& n) const { return w_.cpp.type(n.dtype); }
    std::string memory(const GraphNode& n, std::size_t count = 1)
    {
        return filled("(($*)($))", type(n), room(count * bytes_of(n)));
    }
    static std::string times(const std::string& skip, std::size_t n)
    {
        return skip.empty() ? "" : filled(" + $ * $", skip, n);
    }
    template <class V> static void append(V& to, const V& from)
    {
        to.insert(to.end(), from.begin(), from.end());
    }

    /// A graph that can be called. It has the number of arrays it is shown, the operands of which it gets a row, and what it
    /// carries from call to call. It also has the constants, with what is computed from them before the loop, the place of its
    /// arena, and what it is shown next.
    struct Body {
        std::shared_ptr<const Graph> graph;
        std::size_t shown = 0;
        std::vector<std::size_t> rows = {};
        Names states = {}, constants = {};
        CppModule::Body step = {};
        std::string workspace = {};
        Names before = {};
        std::vector<std::size_t> traded = {};  ///< states that trade places with their next values
    };
    static std::string next_of(const Body& b, std::size_t i) { return "next_" + b.states[i]; }
    /// Works out what is the same in all calls. `once`: there is one call.
    void prepare(Body& b, std::size_t states, bool once = false)
    {
        const std::size_t fixed = once ? LoopParameters::npos : states + b.shown + b.rows.size();
        const CppModule::LoopBody body = w_.cpp.body(b.graph, {states, fixed});
        b.step = body.step;
        b.workspace = room(b.step.workspace);
        const auto first = inputs_.begin() + static_cast<std::ptrdiff_t>(at_.constant);
        b.constants.assign(first, first + static_cast<std::ptrdiff_t>(at_.constants));
        if (!body.before) return;
        for (std::size_t k = 0; k < body.before->outputs().size(); ++k) {
            const GraphNode& n = output(*body.before, k);
            b.constants.push_back(filled("c$", prepared_++));
            w_.line("$* const $ = $;", type(n), b.constants.back(), memory(n));
        }
        call(body.first, room(body.first.workspace), b.constants);
    }
    /// Declares its states, NAME0, NAME1, …; the first of them begin as operands from number `from` on.
    void carry(Body& b, const std::string& name, std::size_t loaded, std::size_t from)
    {
        for (const std::size_t at : b.step.states) {
            const std::size_t i = b.states.size();
            const GraphNode& x = input(*b.graph, i);
            b.states.push_back(name + std::to_string(i));
            const std::size_t next = b.step.next[i];
            const bool stays = next == CppModule::Body::stays;
            w_.line("$*$ $ = ($*)($ + $);", type(x), stays ? " const" : "", b.states[i], type(x), b.workspace,
                    at);
            if (!stays) {
                b.traded.push_back(i);
                w_.line("$* $ = ($*)($ + $);", type(x), next_of(b, i), type(x), b.workspace, next);
            }
            if (i < loaded) w_.line("memcpy($, $, $);", b.states[i], inputs_[from + i], bytes_of(x));
        }
    }
    /// Leaves where the function of a body does.
    void call(const CppModule::Body& f, const std::string& workspace, const Names& arguments)
    {
        std::string list;
        for (const std::string& a : arguments) list += a + ", ";
        const std::string text = f.name + "(" + list + workspace + (w_.cpp.native ? ", run)" : ")");
        if (!f.fails) return w_.line("$;", text);
        const bool history = p_.kind == Kind::while_pull;
        w_.line("if ($ != 0) $", text,
                history ? "{ free(history); " + w_.failure(v_) + " }" : w_.failure(v_));
    }
    /// A call in step `at`, the results of which are put to their places: where it has put them. They are result `first` and
    /// those behind it.
    Names call(const Body& b, const std::string& at, std::size_t first)
    {
        Names arguments = b.before, results;
        for (std::size_t operand : b.rows) {
            const std::size_t i = b.states.size() + arguments.size();
            arguments.push_back(inputs_[operand] + times(at, element_count(input(*b.graph, i).shape)));
        }
        append(arguments, b.constants);
        for (std::size_t k = first; k < b.graph->outputs().size(); ++k) {
            const GraphNode& y = output(*b.graph, k);
            results.push_back(direct(k) ? filled("packed + $", p_.results[k].offset) +
                                              times(at, element_count(y.shape))
                                        : memory(y));
        }
        append(arguments, results);
        Names all;
        for (const std::size_t i : b.traded) append(all, Names{b.states[i], next_of(b, i)});
        append(all, arguments);
        call(b.step, b.workspace, all);
        for (const std::size_t i : b.traded)
            w_.line("{ $* const t = $; $ = $; $ = t; }", type(input(*b.graph, i)), b.states[i], b.states[i],
                    next_of(b, i), next_of(b, i));
        for (std::size_t k = first; k < b.graph->outputs().size(); ++k)
            if (!direct(k) && !snapshot(k))
                put(k, results[k - first], element_count(output(*b.graph, k).shape), at);
        return results;
    }

    /// Writes `count` elements of result k, `skip` arrays of that size into it.
    void put(std::size_t k, const std::string& from, std::size_t count, const std::string& skip = "")
    {
        const LoopParameters::Result& r = p_.results[k];
        if (!r.wanted() || count == 0) return;
        const std::string to = filled("packed + $", r.offset);
        if (differentiable(r.dtype) && r.dtype != p_.dtype)
            w_.line("for (ptrdiff_t j = 0; j < $; ++j) ($$)[j] = $[j];", count, to, times(skip, count), from);
        else
            w_.line("memcpy((char*)($)$, $, $);", to, times(skip, count * size_of(r.dtype)), from,
                    count * size_of(r.dtype));
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

    const LoopParameters& p_;
    const LoopOperands at_;
    Names inputs_;
    std::size_t prepared_ = 0;  ///< arrays made before the loop
};

}  // namespace wengert::detail
