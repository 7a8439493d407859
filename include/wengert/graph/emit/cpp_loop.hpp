// Loops and branches of a graph as loops and branches of C that call functions made of their bodies.
#pragma once

#include "cpp_loop_memory.hpp"

namespace wengert::detail {

/// scan, while_loop, cond, while_pull.
class CppLoop : CppLoopMemory {
public:
    using CppLoopMemory::CppLoopMemory;

    void write()
    {
        begin();
        switch (p_.kind) {
        case Kind::scan: scan(); break;
        case Kind::while_loop: put_carried(repeat(false)); break;
        case Kind::cond: cond(); break;
        default: while_pull();
        }
        end();
    }

private:
    void scan()
    {
        const Body body = this->body(p_.body);
        const bool keeps = snapshot_steps();
        w_.open("for (ptrdiff_t step = 0; step < $; ++step) {", p_.steps);
        const Names results = step(body, slice_of("step"));
        if (keeps) put_snapshots(results);
        look_at_guard(body);
        w_.close();
        put_carried(body);
    }

    /// Declares the steps whose states are kept, if there are such.
    bool snapshot_steps()
    {
        if (p_.snapshots == 0) return false;
        std::string list;
        const auto parts =
            schedule({0, static_cast<std::uint64_t>(p_.steps), static_cast<std::uint64_t>(p_.snapshots)});
        for (std::size_t k = 1; k < parts.size(); ++k) list += (k > 1 ? ", " : "") + number(parts[k].begin);
        w_.line("static const ptrdiff_t kept[] = {$};", list);
        w_.line("ptrdiff_t row = 0;");
        return true;
    }
    void put_snapshots(const Names& results)
    {
        w_.open("if (row < $ && kept[row] == step) {", p_.snapshots);
        for (std::size_t k = p_.states; k < p_.results.size(); ++k)
            if (snapshot(k)) put(k, results[k - p_.states], element_count(output(*p_.body, k).shape), "row");
        w_.line("++row;");
        w_.close();
    }

    /// A while_loop; `history`: which notes the states before each step.
    Body repeat(bool history)
    {
        const Body body = this->body(p_.body);
        Body test{p_.other, p_.states, {}, {"&on"}};
        prepare(test, 0);
        w_.open("for (;;) {");
        w_.line("unsigned char on;");
        step(test, "", body.states);
        w_.line("if (!on) break;");
        if (history) remember(body);
        step(body);
        look_at_guard(body);
        w_.close();
        return body;
    }
    void cond()
    {
        const auto branch = [&](const std::string& opening, const std::shared_ptr<const Graph>& g) {
            w_.open(opening);
            Body body{g};
            prepare(body, 0, true);
            step(body);
            w_.close();
        };
        branch("if (*" + inputs_[0] + ") {", p_.body);
        branch("else {", p_.other);
    }

    /// Bytes of the first `n` states where all of them are aligned.
    std::size_t history_bytes(std::size_t n) const
    {
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < n; ++i) bytes += (bytes_of(input(*p_.body, i)) + 15) / 16 * 16;
        return bytes;
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
                    bytes_of(input(*p_.body, i)));
        w_.line("used += $;", bytes);
    }
    /// The derivative of a while_loop: forwards with all states kept, then back.
    void while_pull()
    {
        w_.module.allocates = true;
        w_.line("char* history = 0;");
        w_.line("size_t used = 0, room = 0;");
        repeat(true);
        const Body pull = this->pull("used ? ($)-0.0 : 0");
        w_.open("while (used > 0) {");
        w_.line("used -= $;", history_bytes(p_.states));
        Names states;
        for (std::size_t i = 0; i < p_.states; ++i)
            states.push_back("(const " + type(input(*p_.body, i).dtype) + "*)(history + used + " +
                             number(history_bytes(i)) + ")");
        step(pull, "", states);
        w_.close();
        w_.line("free(history);");
        put_carried(pull);
    }
};

}  // namespace wengert::detail
