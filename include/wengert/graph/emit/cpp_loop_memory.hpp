// What loops in emitted code have: operands, states in memory behind the arena, calls of bodies, the packed block.
#pragma once

#include "../loops/loop_code.hpp"
#include "cpp_writer.hpp"

namespace wengert::detail {

/// One such operation. States lie twice in the memory behind the arena: a step reads one copy and writes the other.
class CppLoopMemory {
public:
    CppLoopMemory(CppWriter& w, ValueId v)
        : w_(w), v_(v), p_(*loop_parameters(w.graph.node(v))), used_(w.scratch_begin())
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
        if (has_gaps()) w_.line("memset(packed, 0, $);", w_.plan.bytes_of(v_));
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
    static void append(Names& to, const Names& from) { to.insert(to.end(), from.begin(), from.end()); }

    /// Leaves where the function of a body does.
    void call(const CppModule::Body& f, const Names& arguments)
    {
        std::string list;
        for (const std::string& a : arguments) list += a + ", ";
        const std::string text =
            f.name + "(" + list + memory(f.workspace) + (w_.module.native ? ", run)" : ")");
        if (!f.fails) return w_.line("$;", text);
        const bool history = p_.kind == LoopParameters::Kind::while_pull;
        w_.line("if ($ != 0) $", text,
                history ? "{ free(history); " + w_.failure(v_) + " }" : w_.failure(v_));
    }

    /// A body that can be called: its step, and what comes last among the arguments of that, the constants and what is made of
    /// them before the loop.
    struct Callee {
        CppModule::Body step;
        Names constants;
    };
    Callee prepare(const std::shared_ptr<const Graph>& g, std::size_t fixed, const Names& constants)
    {
        const CppModule::LoopBody body = w_.module.body(g, fixed);
        if (!body.before) return {body.step, constants};
        Names made = constants;
        for (std::size_t k = 0; k < body.before->outputs().size(); ++k) {
            const GraphNode& n = output(*body.before, k);
            made.push_back("c" + number(prepared_++));
            w_.line("$* const $ = $;", type(n.dtype), made.back(), memory(n));
        }
        call(body.first, made);
        return {body.step, made};
    }

    /// Arrays that steps turn into the next ones: NAME0, NAME1, … now, NEXT0, NEXT1, … then.
    struct States {
        Names now, next;
    };
    States states(const Graph& g, std::size_t n, const std::string& name, const std::string& next)
    {
        States s;
        for (std::size_t i = 0; i < n; ++i) {
            s.now.push_back(name + number(i));
            s.next.push_back(next + number(i));
            w_.line("$ *$ = $, *$ = $;", type(input(g, i).dtype), s.now[i], memory(input(g, i)), s.next[i],
                    memory(input(g, i)));
        }
        return s;
    }
    States initial_states()
    {
        const States s = states(*p_.body, p_.states, "s", "t");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("memcpy($, $, $);", s.now[i], inputs_[i], bytes_of(input(*p_.body, i)));
        return s;
    }
    /// Those of the final states, which are operands from number `from` on, and sums that begin with -0, as `sum` says: it
    /// leaves the bits of what is added first.
    States first_cotangents(std::size_t from, const std::string& sum)
    {
        const std::size_t n = p_.active_states.size();
        const States g = states(*p_.pull, n + p_.active_constants.size(), "g", "h");
        for (std::size_t i = 0; i < g.now.size(); ++i) {
            const GraphNode& x = input(*p_.pull, i);
            if (i < n)
                w_.line("memcpy($, $, $);", g.now[i], inputs_[from + i], bytes_of(x));
            else
                w_.line("for (ptrdiff_t j = 0; j < $; ++j) $[j] = " + sum + ";", element_count(x.shape),
                        g.now[i], type(x.dtype));
        }
        return g;
    }
    void swap(const Graph& g, const States& s)
    {
        for (std::size_t i = 0; i < s.now.size(); ++i)
            w_.line("{ $* const u = $; $ = $; $ = u; }", type(input(g, i).dtype), s.now[i], s.now[i],
                    s.next[i], s.next[i]);
    }
    void advance(const Graph& g, const States& s)
    {
        swap(g, s);
        if (&g == p_.body.get() && p_.guard != LoopParameters::npos)
            w_.line("if (!*$) break;", s.now[p_.guard]);
    }

    /// Are there elements that nothing is written to?
    bool has_gaps() const
    {
        std::int64_t written = 0;
        for (const auto& r : p_.results)
            if (differentiable(r.dtype) && r.wanted())
                written += static_cast<std::int64_t>(element_count(r.shape));
        return written < p_.size || p_.guard != LoopParameters::npos;
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
    void put_states(const States& s, const Graph& g)
    {
        for (std::size_t i = 0; i < s.now.size(); ++i) put(i, s.now[i], element_count(input(g, i).shape));
    }
    /// Where a body writes its results from number `first` on: to their places, or to memory of its own if they lie there in
    /// another form.
    Names targets(const Graph& g, std::size_t first, const std::string& skip = "")
    {
        Names names;
        for (std::size_t k = first; k < p_.results.size(); ++k) {
            const LoopParameters::Result& r = p_.results[k];
            names.push_back(direct(k) ? "packed + " + number(r.offset) +
                                            times(skip, element_count(output(g, k).shape))
                                      : memory(output(g, k)));
        }
        return names;
    }
    bool direct(std::size_t k) const
    {
        return p_.results[k].wanted() && p_.results[k].dtype == p_.dtype && !snapshot(k);
    }
    /// Is it the states before some steps of a scan?
    bool snapshot(std::size_t k) const
    {
        return p_.snapshots > 0 && k >= p_.states && p_.kind == LoopParameters::Kind::scan &&
               p_.results[k].shape[0] == p_.snapshots;
    }
    void put_targets(const Graph& g, const Names& names, std::size_t first, const std::string& skip = "")
    {
        for (std::size_t k = first; k < p_.results.size(); ++k)
            if (!direct(k) && !snapshot(k)) put(k, names[k - first], element_count(output(g, k).shape), skip);
    }

    CppWriter& w_;
    ValueId v_;
    const LoopParameters& p_;
    std::size_t used_;  ///< bytes from the arena's beginning on
    Names inputs_;
    std::size_t prepared_ = 0;  ///< arrays made before the loop
};

}  // namespace wengert::detail
