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
        using LoopKind = LoopParameters::Kind;
        begin();
        if (p_.kind == LoopKind::scan)
            scan();
        else if (p_.kind == LoopKind::while_loop)
            while_loop();
        else if (p_.kind == LoopKind::cond)
            cond();
        else
            while_pull();
        end();
    }

private:
    /// Does a scan have slices, or results for each step?
    bool counts() const
    {
        bool any = p_.xs > 0;
        for (std::size_t k = p_.states; k < p_.results.size(); ++k)
            any = any || direct(k) ||
                  (p_.results[k].wanted() && !snapshot(k) && element_count(p_.results[k].shape) > 0);
        return any;
    }
    void scan()
    {
        const Graph& g = *p_.body;
        const std::size_t fixed = p_.states + p_.xs;
        const Callee body = prepare(p_.body, fixed, slice(fixed, inputs_.size() - fixed));
        const States s = initial_states();
        const bool keeps = snapshot_steps();
        w_.open("for (ptrdiff_t step = 0; step < $; ++step) {", p_.steps);
        if (counts())
            w_.line("const ptrdiff_t at = $",
                    p_.backwards ? number(p_.steps - 1) + " - step;" : std::string("step;"));
        Names arguments = s.now;
        for (std::size_t i = p_.states; i < p_.states + p_.xs; ++i)
            arguments.push_back(inputs_[i] + times("at", element_count(input(g, i).shape)));
        append(arguments, body.constants);
        append(arguments, s.next);
        const Names results = targets(g, p_.states, "at");
        append(arguments, results);
        call(body.step, arguments);
        put_targets(g, results, p_.states, "at");
        if (keeps) put_snapshots(g, results);
        advance(g, s);
        w_.close();
        put_states(s, g);
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
    void put_snapshots(const Graph& g, const Names& results)
    {
        w_.open("if (row < $ && kept[row] == step) {", p_.snapshots);
        for (std::size_t k = p_.states; k < p_.results.size(); ++k)
            if (snapshot(k)) put(k, results[k - p_.states], element_count(output(g, k).shape), "row");
        w_.line("++row;");
        w_.close();
    }

    /// Opens the loop and leaves it where the test says so.
    void open_while(const States& s, const Callee& test)
    {
        w_.open("for (;;) {");
        w_.line("unsigned char on;");
        Names arguments = s.now;
        append(arguments, test.constants);
        arguments.push_back("&on");
        call(test.step, arguments);
        w_.line("if (!on) break;");
    }
    void step(const States& s, const Callee& body)
    {
        Names arguments = s.now;
        append(arguments, body.constants);
        append(arguments, s.next);
        call(body.step, arguments);
        advance(*p_.body, s);
    }
    void while_loop()
    {
        const States s = initial_states();
        const Names constants = slice(p_.states, inputs_.size() - p_.states);
        const Callee test = prepare(p_.other, p_.states, constants),
                     body = prepare(p_.body, p_.states, constants);
        open_while(s, test);
        step(s, body);
        w_.close();
        put_states(s, *p_.body);
    }

    void branch(const std::shared_ptr<const Graph>& g)
    {
        const CppModule::Body f = w_.module.body(g, LoopParameters::npos).step;
        Names arguments = slice(1, inputs_.size() - 1);
        const Names results = targets(*g, 0);
        append(arguments, results);
        call(f, arguments);
        put_targets(*g, results, 0);
    }
    void cond()
    {
        w_.open("if (*$) {", inputs_[0]);
        branch(p_.body);
        w_.close();
        w_.open("else {");
        branch(p_.other);
        w_.close();
    }

    /// States before each step, one after the other: their number is known only when the loop has ended.
    void remember(const States& s, const std::vector<std::size_t>& places, std::size_t bytes)
    {
        w_.open("if (room - used < $) {", bytes);
        w_.line("char* const more = (char*)realloc(history, room = 2 * room + $);", bytes);
        w_.line("if (!more) { free(history); $ }", w_.failure(v_));
        w_.line("history = more;");
        w_.close();
        for (std::size_t i = 0; i < s.now.size(); ++i)
            w_.line("memcpy(history + used + $, $, $);", places[i], s.now[i], bytes_of(input(*p_.body, i)));
        w_.line("used += $;", bytes);
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
        const Callee test = prepare(p_.other, p_.states, fixed), body = prepare(p_.body, p_.states, fixed);
        open_while(s, test);
        remember(s, places, bytes);
        step(s, body);
        w_.close();
        const States g = first_cotangents(p_.states + constants, "used ? ($)-0.0 : 0");
        const Callee pull = prepare(p_.pull, g.now.size() + p_.states, fixed);
        w_.open("while (used > 0) {");
        w_.line("used -= $;", bytes);
        Names arguments = g.now;
        for (std::size_t i = 0; i < p_.states; ++i)
            arguments.push_back("(const " + type(input(*p_.body, i).dtype) + "*)(history + used + " +
                                number(places[i]) + ")");
        append(arguments, pull.constants);
        append(arguments, g.next);
        call(pull.step, arguments);
        advance(*p_.pull, g);
        w_.close();
        w_.line("free(history);");
        put_states(g, *p_.pull);
    }
};

}  // namespace wengert::detail
