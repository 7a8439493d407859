// The derivative of a scan that keeps few of its states: those that are not there are made again by the binomial schedule.
#pragma once

#include "cpp_loop_memory.hpp"

namespace wengert::detail {

class CppScanPull : CppLoopMemory {
public:
    CppScanPull(CppWriter& w, ValueId v)
        : CppLoopMemory(w, v), carried_(LoopPlans::carried(p_)), given_(LoopPlans::given(p_)),
          active_(p_.active_states.size())
    {}
    void write()
    {
        begin();
        constants_ = inputs_.size() - 2 * p_.states - p_.xs - active_ - given_;
        simulate();
        const States s = states(*p_.body, p_.states, "s", "t");
        const States g = first_cotangents(rows() + p_.states, "($)-0.0");
        const std::size_t fixed = carried_ + p_.states + p_.xs + given_;
        const auto graph = LoopPlans::body_of(p_);
        const Names constants = slice(p_.states + p_.xs, constants_);
        const Callee body = prepare(graph, p_.states + p_.xs, constants),
                     pull = prepare(p_.pull, fixed, constants);
        stack();
        w_.open("while (top > 0) {");
        take();
        w_.open("while (end - begin > 1) {");
        cut();
        forwards(*graph, body, s);
        w_.line("begin = middle, room = (room > 2 ? room : 2) - 1;");
        w_.open("if (end - begin > 1) {");
        keep(s);
        w_.close();
        w_.close();
        backwards(pull, s, g);
        w_.close();
        for (std::size_t i = 0; i < carried_; ++i) put(i, g.now[i], element_count(input(*p_.pull, i).shape));
        end();
    }

private:
    std::string count(std::size_t i) const { return number(element_count(input(*p_.body, i).shape)); }
    std::size_t rows() const
    {
        return p_.states + p_.xs + constants_;
    }  ///< the first operand that is states kept
    std::string slice_of(const std::string& step) const
    {
        return p_.backwards ? "(" + number(p_.steps - 1) + " - " + step + ")" : step;
    }

    /// How many parts wait at most, and how many states are made beside those given.
    void simulate()
    {
        struct Waiting {
            LoopSpan steps;
            bool own;
        };
        std::vector<Waiting> waiting;
        for (const LoopSpan& part : schedule(whole())) waiting.push_back({part, false});
        depth_ = waiting.size();
        std::size_t own = 0;
        while (!waiting.empty()) {
            const Waiting last = waiting.back();
            waiting.pop_back();
            const std::vector<LoopSpan> parts = schedule(last.steps);
            for (std::size_t k = 0; k + 1 < parts.size(); ++k) {
                waiting.push_back({parts[k], k > 0 || last.own});
                own += k > 0;
            }
            own -= parts.size() == 1 && last.own;
            depth_ = std::max(depth_, waiting.size());
            made_ = std::max(made_, own);
        }
    }
    LoopSpan whole() const
    {
        return {0, static_cast<std::uint64_t>(p_.steps), static_cast<std::uint64_t>(p_.snapshots)};
    }

    /// What waits: steps, the states there is room for, which of the states kept is that before them (0 the initial one, then
    /// those given, then those made here). It begins with the parts of the pass forward.
    void stack()
    {
        w_.line("struct { ptrdiff_t begin, end, room, state; } waiting[$];", depth_);
        w_.line("ptrdiff_t top = 0, fresh = $, unused = 0;", given_states());
        w_.line("ptrdiff_t free_states[$] = {0};", std::max<std::size_t>(made_, 1));
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("$* const m$ = ($*)($);", type(input(*p_.body, i).dtype), i,
                    type(input(*p_.body, i).dtype),
                    memory(std::max<std::size_t>(made_, 1) * bytes_of(input(*p_.body, i))));
        w_.open("{");
        w_.line("ptrdiff_t begin = 0, room = $;", p_.snapshots);
        const std::string steps = number(p_.steps);
        w_.open("while ($ - begin > 1) {", steps);
        w_.line("const ptrdiff_t middle = begin + $($ - begin, room);", split(), steps);
        push("begin", "middle", "room", "top");
        w_.line("begin = middle, room = (room > 2 ? room : 2) - 1;");
        w_.close();
        push("begin", steps, "room", "top");
        w_.close();
    }
    std::string split() { return w_.helper("split", DType::int64); }
    std::size_t given_states() const { return 1 + static_cast<std::size_t>(p_.snapshots); }
    void push(const std::string& begin, const std::string& end, const std::string& room,
              const std::string& state)
    {
        w_.line("waiting[top].begin = $, waiting[top].end = $, waiting[top].room = $, waiting[top].state = "
                "$, ++top;",
                begin, end, room, state);
    }
    void take()
    {
        w_.line("ptrdiff_t begin = waiting[--top].begin, room = waiting[top].room, state = "
                "waiting[top].state;");
        w_.line("const ptrdiff_t end = waiting[top].end;");
        w_.line("const int again = end - begin > 1;");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("const $* const k$ = state == 0 ? $ : state < $ ? $ + (state - 1) * $ : m$ + (state - $) "
                    "* $;",
                    type(input(*p_.body, i).dtype), i, inputs_[i], given_states(), inputs_[rows() + i],
                    count(i), i, given_states(), count(i));
        w_.open("if (again) {");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("memcpy(s$, k$, $);", i, i, bytes_of(input(*p_.body, i)));
        w_.close();
    }
    void cut()
    {
        w_.line("const ptrdiff_t middle = begin + $(end - begin, room);", split());
        push("begin", "middle", "room", "state");
    }
    void forwards(const Graph& graph, const Callee& body, const States& s)
    {
        w_.open("for (ptrdiff_t step = begin; step < middle; ++step) {");
        Names arguments = s.now;
        for (std::size_t i = p_.states; i < p_.states + p_.xs; ++i)
            arguments.push_back(inputs_[i] + times(slice_of("step"), element_count(input(graph, i).shape)));
        append(arguments, body.constants);
        append(arguments, s.next);
        call(body.step, arguments);
        swap(graph, s);
        w_.close();
    }
    void keep(const States& s)
    {
        w_.line("state = unused > 0 ? free_states[--unused] : fresh++;");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("memcpy(m$ + (state - $) * $, $, $);", i, given_states(), count(i), s.now[i],
                    bytes_of(input(*p_.body, i)));
    }
    /// One step back, from the states at hand.
    void backwards(const Callee& callee, const States& s, const States& g)
    {
        const Graph& pull = *p_.pull;
        w_.line("const ptrdiff_t at = $;", slice_of("begin"));
        Names arguments = g.now;
        for (std::size_t i = 0; i < p_.states; ++i)
            arguments.push_back("again ? " + s.now[i] + " : k" + number(i));
        const auto row = [&](std::size_t operand, std::size_t i) {
            arguments.push_back(inputs_[operand] + times("at", element_count(input(pull, i).shape)));
        };
        std::size_t next = carried_ + p_.states;
        for (std::size_t i = 0; i < p_.xs; ++i) row(p_.states + i, next++);
        for (std::size_t i = 0; i < given_; ++i) row(rows() + p_.states + active_ + i, next++);
        append(arguments, callee.constants);
        append(arguments, g.next);
        const Names results = targets(pull, carried_, "at");
        append(arguments, results);
        call(callee.step, arguments);
        put_targets(pull, results, carried_, "at");
        swap(pull, g);
        w_.line("(void)at;");
        w_.line("if (!again && state >= $) free_states[unused++] = state;", given_states());
    }

    std::size_t carried_, given_, active_, constants_ = 0;
    std::size_t depth_ = 0, made_ = 0;
};

}  // namespace wengert::detail
