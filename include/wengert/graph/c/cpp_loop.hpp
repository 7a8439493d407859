// Loops and branches of a graph as loops and branches of C that call functions made of their bodies.
#pragma once

#include "../loops/loop_skeleton.hpp"
#include "cpp_loop_memory.hpp"

namespace wengert::detail {

/// The text of one of them (loop_skeleton.hpp).
class CppLoop : protected CppLoopMemory {
public:
    using CppLoopMemory::CppLoopMemory;

protected:
    /// Its states are the first operands.
    Body body()
    {
        if (p_.kind == Kind::while_pull) {
            w_.cpp.allocates = true;
            w_.line("char* history = 0;");
            w_.line("size_t used = 0, room = 0;");
        }
        Body b{LoopPlans::body_of(p_), 0, all_of(p_.states, p_.states + p_.xs)};
        prepare(b, p_.states);
        carry(b, "s", p_.states, 0);
        if (p_.kind == Kind::scan && p_.snapshots > 0) declare_snapshots();
        return b;
    }
    /// One step of the derivative. Sums begin with -0, which leaves the bits of what is added first.
    Body pull()
    {
        Body b{p_.pull, p_.states, all_of(p_.states, p_.states + p_.xs)};
        const std::size_t states = p_.active_states.size(), given = at_.cotangents + states;
        append(b.rows, all_of(given, given + LoopPlans::given(p_)));
        prepare(b, LoopPlans::carried(p_));
        carry(b, "g", states, at_.cotangents);
        for (std::size_t i = states; i < b.states.size(); ++i)
            w_.line("for (ptrdiff_t j = 0; j < $; ++j) $[j] = $($)-0.0$;",
                    element_count(input(*p_.pull, i).shape), b.states[i],
                    p_.kind == Kind::while_pull ? "used ? " : "", type(input(*p_.pull, i)),
                    p_.kind == Kind::while_pull ? " : 0" : "");
        return b;
    }
    Body test()
    {
        Body b{p_.other, p_.states};
        prepare(b, 0);
        b.constants.push_back("&on");
        return b;
    }
    void step(const Body& b, const std::string& step = "")
    {
        const std::string at = !step.empty() && p_.backwards ? filled("($ - $)", p_.steps - 1, step) : step;
        const Names results = call(b, at, b.states.size());
        if (p_.kind == Kind::scan && p_.snapshots > 0) put_snapshots(results);
    }
    /// The branches are known by their places: both may be one graph.
    void branch()
    {
        const auto put_branch = [&](const char* opened, const std::shared_ptr<const Graph>& g) {
            w_.open(opened);
            Body b{g};
            prepare(b, 0, true);
            step(b);
            w_.close();
        };
        put_branch("if (*p0) {", p_.body);
        put_branch("else {", p_.other);
    }
    void put_carried(const Body& b)
    {
        for (std::size_t i = 0; i < b.states.size(); ++i)
            put(i, b.states[i], element_count(input(*b.graph, i).shape));
    }

    template <class N, class M, class F> void each_step(const N& first, const M& last, const F& f)
    {
        w_.open("for (ptrdiff_t step = $; step < $; ++step) {", first, last);
        f(std::string("step"));
        w_.close();
    }
    template <class F> void forever(const F& f)
    {
        w_.open("for (;;) {");
        f();
        w_.close();
    }
    bool goes_on(const Body& b)
    {
        if (p_.guard != LoopParameters::npos) w_.line("if (!*$) break;", b.states[p_.guard]);
        return true;
    }
    bool holds(Body& test, const Body& body)
    {
        test.before = body.states;
        w_.line("unsigned char on;");
        call(test, "", 1);
        w_.line("if (!on) break;");
        return true;
    }

    /// States before each step, one after the other: their number is known only when the loop has ended.
    void remember(const Body& body)
    {
        const std::size_t bytes = history_bytes(p_.states);
        w_.open("if (room - used < $) {", bytes);
        w_.line("char* const more = (char*)realloc(history, room = 2 * room + $);", bytes);
        w_.line("if (!more) { free(history); $ }", w_.failure(v_));
        w_.line("history = more;");
        w_.close();
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("memcpy(history + used + $, $, $);", history_bytes(i), body.states[i],
                    bytes_of(state(i)));
        w_.line("used += $;", bytes);
    }
    template <class F> void each_remembered(Body& pull, const F& f)
    {
        w_.open("while (used > 0) {");
        w_.line("used -= $;", history_bytes(p_.states));
        for (std::size_t i = 0; i < p_.states; ++i)
            pull.before.push_back(filled("(const $*)(history + used + $)", type(state(i)), history_bytes(i)));
        f();
        w_.close();
        w_.line("free(history);");
    }

    /// What waits: steps, the states there is room for, which of the states kept is that before them (0 the initial one, then
    /// those given, then those made here). It begins with the parts of the pass forward.
    template <class Again, class Back>
    void each_part(const Body& body, Body& pull, const Again& again, const Back& back)
    {
        w_.line("struct { ptrdiff_t begin, end, room, state; } waiting[$];", given_states());
        w_.line("ptrdiff_t top = 0;");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("$* const m$ = $;", type(state(i)), i, memory(state(i), made_states()));
        w_.open("{");
        w_.line("ptrdiff_t begin = 0, room = $;", p_.snapshots);
        w_.open("while ($ - begin > 1) {", p_.steps);
        cut(std::to_string(p_.steps), "top");
        w_.line(rest);
        w_.close();
        push("begin", std::to_string(p_.steps), "top");
        w_.close();
        w_.open("while (top > 0) {");
        take(body);
        w_.open("while (end - begin > 1) {");
        cut("end", "state");
        again("begin", "middle");
        w_.line(rest);
        w_.open("if (end - begin > 1) {");
        w_.line("state = fresh++;");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("memcpy(m$ + (state - $) * $, $, $);", i, given_states(), count(i), body.states[i],
                    bytes_of(state(i)));
        w_.close();
        w_.close();
        for (std::size_t i = 0; i < p_.states; ++i)
            pull.before.push_back(filled("again ? $ : k$", body.states[i], i));
        back("begin");
        w_.close();
    }
    void end() { w_.close(); }

private:
    /// What is left when a part has been cut off.
    static constexpr const char rest[] = "begin = middle, room = (room > 2 ? room : 2) - 1;";

    const GraphNode& state(std::size_t i) const { return input(*p_.body, i); }
    std::size_t count(std::size_t i) const { return element_count(state(i).shape); }
    std::size_t given_states() const { return 1 + static_cast<std::size_t>(p_.snapshots); }
    /// The steps whose states are kept.
    void declare_snapshots()
    {
        std::string list;
        for (const LoopSpan& part : parts_of(p_))
            if (part.begin > 0) list += filled(list.empty() ? "$" : ", $", part.begin);
        w_.line("static const ptrdiff_t kept[] = {$};", list);
        w_.line("ptrdiff_t row = 0;");
    }
    void put_snapshots(const Names& results)
    {
        w_.open("if (row < $ && kept[row] == step) {", p_.snapshots);
        for (std::size_t k = p_.states; k < p_.results.size(); ++k)
            if (snapshot(k)) put(k, results[k - p_.states], element_count(output(*p_.body, k).shape), "row");
        w_.line("++row;");
        w_.close();
    }
    /// Bytes of the first `n` states where all of them are aligned.
    std::size_t history_bytes(std::size_t n) const
    {
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < n; ++i) bytes += (bytes_of(state(i)) + 15) / 16 * 16;
        return bytes;
    }
    /// States that are made at a time beside those given: a part that is cut into n keeps those before all but the first, which is
    /// there, and the last, which is reversed at once.
    std::size_t made_states() const
    {
        std::size_t most = 3;
        for (const LoopSpan& part : parts_of(p_)) most = std::max(most, schedule(part).size());
        return most - 2;
    }
    void push(const std::string& begin, const std::string& end, const std::string& state)
    {
        w_.line(
            "waiting[top].begin = $, waiting[top].end = $, waiting[top].room = room, waiting[top].state = "
            "$, ++top;",
            begin, end, state);
    }
    void take(const Body& body)
    {
        w_.line("ptrdiff_t begin = waiting[--top].begin, room = waiting[top].room, state = "
                "waiting[top].state;");
        w_.line("ptrdiff_t fresh = state < $ ? $ : state + 1;", given_states(), given_states());
        w_.line("const ptrdiff_t end = waiting[top].end;");
        w_.line("const int again = end - begin > 1;");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("const $* const k$ = state == 0 ? $ : state < $ ? $ + (state - 1) * $ : m$ + (state - $) "
                    "* $;",
                    type(state(i)), i, inputs_[i], given_states(), inputs_[at_.kept + i], count(i), i,
                    given_states(), count(i));
        w_.open("if (again) {");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("memcpy($, k$, $);", body.states[i], i, bytes_of(state(i)));
        w_.close();
    }
    /// The first part of the steps from `begin` to `end`, put aside.
    void cut(const std::string& end, const std::string& state)
    {
        w_.line("const ptrdiff_t middle = begin + $($ - begin, room);", w_.helper("split", DType::int64),
                end);
        push("begin", "middle", state);
    }
};

}  // namespace wengert::detail
