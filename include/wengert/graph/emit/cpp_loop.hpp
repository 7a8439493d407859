// Loops and branches of a graph as loops and branches of C that call functions made of their bodies.
#pragma once

#include "../loops/loop.hpp"
#include "cpp_writer.hpp"

namespace wengert::detail {

/// One such operation. States lie twice in the memory behind the arena: a step reads one copy and writes the other.
class CppLoop {
public:
    CppLoop(CppWriter& w, ValueId v)
        : w_(w), v_(v), p_(*loop_parameters(w.graph.node(v))), used_(w.scratch_begin())
    {}
    void write()
    {
        using Kind = LoopParameters::Kind;
        if (p_.effects) w_.refuse(v_, "its body calls the host");
        w_.open("{");
        operands();
        w_.declare("packed", w_.operand(v_), true);
        if (has_gaps()) w_.line("memset(packed, 0, " + number(w_.plan.bytes_of(v_)) + ");");
        if (p_.kind == Kind::scan)
            scan();
        else if (p_.kind == Kind::while_loop)
            while_loop();
        else if (p_.kind == Kind::cond)
            cond();
        else
            while_pull();
        w_.close();
        w_.scratch = std::max(w_.scratch, used_ - w_.scratch_begin());
    }

private:
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
        const std::string text = f.name + "(" + list + memory(f.workspace) + ")";
        if (!f.fails) return w_.line(text + ";");
        const bool history = p_.kind == LoopParameters::Kind::while_pull;
        w_.line("if (" + text + " != 0) " +
                (history ? "{ free(history); " + w_.failure(v_) + " }" : w_.failure(v_)));
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
            w_.line(type(input(g, i).dtype) + " *" + s.now[i] + " = " + memory(input(g, i)) + ", *" +
                    s.next[i] + " = " + memory(input(g, i)) + ";");
        }
        return s;
    }
    States initial_states()
    {
        const States s = states(*p_.body, p_.states, "s", "t");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("memcpy(" + s.now[i] + ", " + inputs_[i] + ", " + number(bytes_of(input(*p_.body, i))) +
                    ");");
        return s;
    }
    void advance(const Graph& g, const States& s)
    {
        for (std::size_t i = 0; i < s.now.size(); ++i)
            w_.line("{ " + type(input(g, i).dtype) + "* const u = " + s.now[i] + "; " + s.now[i] + " = " +
                    s.next[i] + "; " + s.next[i] + " = u; }");
        if (&g == p_.body.get() && p_.guard != LoopParameters::npos)
            w_.line("if (!*" + s.now[p_.guard] + ") break;");
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
        if (r.dtype == DType::float32 && p_.dtype == DType::float64)
            w_.line("for (ptrdiff_t j = 0; j < " + number(count) + "; ++j) (" + to + times(skip, count) +
                    ")[j] = " + from + "[j];");
        else
            w_.line("memcpy((char*)(" + to + ")" + times(skip, count * size_of(r.dtype)) + ", " + from +
                    ", " + bytes + ");");
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
    bool direct(std::size_t k) const { return p_.results[k].wanted() && p_.results[k].dtype == p_.dtype; }
    void put_targets(const Graph& g, const Names& names, std::size_t first, const std::string& skip = "")
    {
        for (std::size_t k = first; k < p_.results.size(); ++k)
            if (!direct(k)) put(k, names[k - first], element_count(output(g, k).shape), skip);
    }

    /// Does a scan have slices, or results for each step?
    bool counts() const
    {
        bool any = p_.xs > 0;
        for (std::size_t k = p_.states; k < p_.results.size(); ++k)
            any = any || direct(k) || (p_.results[k].wanted() && element_count(p_.results[k].shape) > 0);
        return any;
    }
    void scan()
    {
        const Graph& g = *p_.body;
        const CppModule::Body body = w_.module.body(p_.body);
        const States s = initial_states();
        w_.open("for (ptrdiff_t step = 0; step < " + number(p_.steps) + "; ++step) {");
        if (counts())
            w_.line("const ptrdiff_t at = " +
                    (p_.backwards ? number(p_.steps - 1) + " - step;" : std::string("step;")));
        Names arguments = s.now;
        for (std::size_t i = p_.states; i < p_.states + p_.xs; ++i)
            arguments.push_back(inputs_[i] + times("at", element_count(input(g, i).shape)));
        append(arguments, slice(p_.states + p_.xs, inputs_.size() - p_.states - p_.xs));
        append(arguments, s.next);
        const Names results = targets(g, p_.states, "at");
        append(arguments, results);
        call(body, arguments);
        put_targets(g, results, p_.states, "at");
        advance(g, s);
        w_.close();
        put_states(s, g);
    }

    /// Opens the loop and leaves it where the test says so.
    void open_while(const States& s, const Names& constants)
    {
        const CppModule::Body test = w_.module.body(p_.other);
        w_.open("for (;;) {");
        w_.line("unsigned char on;");
        Names arguments = s.now;
        append(arguments, constants);
        arguments.push_back("&on");
        call(test, arguments);
        w_.line("if (!on) break;");
    }
    void step(const States& s, const Names& constants)
    {
        Names arguments = s.now;
        append(arguments, constants);
        append(arguments, s.next);
        call(w_.module.body(p_.body), arguments);
        advance(*p_.body, s);
    }
    void while_loop()
    {
        const States s = initial_states();
        const Names constants = slice(p_.states, inputs_.size() - p_.states);
        open_while(s, constants);
        step(s, constants);
        w_.close();
        put_states(s, *p_.body);
    }

    void branch(const std::shared_ptr<const Graph>& g)
    {
        const CppModule::Body f = w_.module.body(g);
        Names arguments = slice(1, inputs_.size() - 1);
        const Names results = targets(*g, 0);
        append(arguments, results);
        call(f, arguments);
        put_targets(*g, results, 0);
    }
    void cond()
    {
        w_.open("if (*" + inputs_[0] + ") {");
        branch(p_.body);
        w_.close();
        w_.open("else {");
        branch(p_.other);
        w_.close();
    }

    /// States before each step, one after the other: their number is known only when the loop has ended.
    void remember(const States& s, const std::vector<std::size_t>& places, std::size_t bytes)
    {
        w_.open("if (room - used < " + number(bytes) + ") {");
        w_.line("char* const more = (char*)realloc(history, room = 2 * room + " + number(bytes) + ");");
        w_.line("if (!more) { free(history); " + w_.failure(v_) + " }");
        w_.line("history = more;");
        w_.close();
        for (std::size_t i = 0; i < s.now.size(); ++i)
            w_.line("memcpy(history + used + " + number(places[i]) + ", " + s.now[i] + ", " +
                    number(bytes_of(input(*p_.body, i))) + ");");
        w_.line("used += " + number(bytes) + ";");
    }
    /// The derivative of a while_loop: forwards with all states kept, then back.
    void while_pull()
    {
        w_.module.allocates = true;
        const std::size_t cotangents = p_.active_states.size(),
                          constants = inputs_.size() - p_.states - cotangents;
        std::vector<std::size_t> places;
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < p_.states; ++i) {
            places.push_back(bytes);
            bytes += (bytes_of(input(*p_.body, i)) + 15) / 16 * 16;
        }
        w_.line("char* history = 0;");
        w_.line("size_t used = 0, room = 0;");
        const States s = initial_states();
        const Names fixed = slice(p_.states, constants);
        open_while(s, fixed);
        remember(s, places, bytes);
        step(s, fixed);
        w_.close();
        const States g = first_cotangents(p_.states + constants, cotangents);
        w_.open("while (used > 0) {");
        w_.line("used -= " + number(bytes) + ";");
        Names arguments = g.now;
        for (std::size_t i = 0; i < p_.states; ++i)
            arguments.push_back("(const " + type(input(*p_.body, i).dtype) + "*)(history + used + " +
                                number(places[i]) + ")");
        append(arguments, fixed);
        append(arguments, g.next);
        call(w_.module.body(p_.pull), arguments);
        advance(*p_.pull, g);
        w_.close();
        w_.line("free(history);");
        put_states(g, *p_.pull);
    }
    /// Those of the final states, and sums that begin with -0: it leaves the bits of what is added first.
    States first_cotangents(std::size_t from, std::size_t n)
    {
        const Graph& pull = *p_.pull;
        const States g = states(pull, n + p_.active_constants.size(), "g", "h");
        for (std::size_t i = 0; i < g.now.size(); ++i) {
            const GraphNode& x = input(pull, i);
            if (i < n)
                w_.line("memcpy(" + g.now[i] + ", " + inputs_[from + i] + ", " + number(bytes_of(x)) + ");");
            else
                w_.line("for (ptrdiff_t j = 0; j < " + number(element_count(x.shape)) + "; ++j) " + g.now[i] +
                        "[j] = used ? (" + type(x.dtype) + ")-0.0 : 0;");
        }
        return g;
    }

    CppWriter& w_;
    ValueId v_;
    const LoopParameters& p_;
    std::size_t used_;  ///< bytes from the arena's beginning on
    Names inputs_;
};

}  // namespace wengert::detail
