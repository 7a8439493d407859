// The derivative of a scan that keeps few of its states: those that are not there are made again by the binomial schedule.
#pragma once

#include "cpp_loop_memory.hpp"

namespace wengert::detail {

class CppScanPull : CppLoopMemory {
public:
    using CppLoopMemory::CppLoopMemory;

    void write()
    {
        begin();
        const Body body = this->body(LoopPlans::body_of(p_)), pull = this->pull("($)-0.0");
        stack();
        w_.open("while (top > 0) {");
        take(body);
        w_.open("while (end - begin > 1) {");
        cut("end", "state");
        w_.open("for (ptrdiff_t step = begin; step < middle; ++step) {");
        step(body, slice_of("step"));
        w_.close();
        w_.line(rest);
        w_.open("if (end - begin > 1) {");
        w_.line("state = fresh++;");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("memcpy(m$ + (state - $) * $, $, $);", i, given_states(), count(i), body.states[i],
                    bytes(i));
        w_.close();
        w_.close();
        Names states;  // that the step back begins with
        for (std::size_t i = 0; i < p_.states; ++i)
            states.push_back("again ? " + body.states[i] + " : k" + number(i));
        step(pull, slice_of("begin"), states);
        w_.close();
        put_carried(pull);
        end();
    }

private:
    /// What is left when a part has been cut off.
    static constexpr const char rest[] = "begin = middle, room = (room > 2 ? room : 2) - 1;";

    std::size_t count(std::size_t i) const { return element_count(input(*p_.body, i).shape); }
    std::size_t bytes(std::size_t i) const { return bytes_of(input(*p_.body, i)); }
    std::size_t given_states() const { return 1 + static_cast<std::size_t>(p_.snapshots); }

    /// States that are made at a time beside those given: a part that is cut into n keeps those before all but the first, which is
    /// there, and the last, which is reversed at once.
    std::size_t made_states() const
    {
        std::size_t most = 3;
        const auto steps = static_cast<std::uint64_t>(p_.steps);
        for (const LoopSpan& part : schedule({0, steps, static_cast<std::uint64_t>(p_.snapshots)}))
            most = std::max(most, schedule(part).size());
        return most - 2;
    }

    /// What waits: steps, the states there is room for, which of the states kept is that before them (0 the initial one, then
    /// those given, then those made here). It begins with the parts of the pass forward.
    void stack()
    {
        w_.line("struct { ptrdiff_t begin, end, room, state; } waiting[$];", given_states());
        w_.line("ptrdiff_t top = 0;");
        for (std::size_t i = 0; i < p_.states; ++i)
            w_.line("$* const m$ = ($*)($);", type(input(*p_.body, i).dtype), i,
                    type(input(*p_.body, i).dtype), memory(made_states() * bytes(i)));
        w_.open("{");
        w_.line("ptrdiff_t begin = 0, room = $;", p_.snapshots);
        const std::string steps = number(p_.steps);
        w_.open("while ($ - begin > 1) {", steps);
        cut(steps, "top");
        w_.line(rest);
        w_.close();
        push("begin", steps, "top");
        w_.close();
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
                    type(input(*p_.body, i).dtype), i, inputs_[i], given_states(), inputs_[at_.kept + i],
                    count(i), i, given_states(), count(i));
        w_.open("if (again) {");
        for (std::size_t i = 0; i < p_.states; ++i) w_.line("memcpy($, k$, $);", body.states[i], i, bytes(i));
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
