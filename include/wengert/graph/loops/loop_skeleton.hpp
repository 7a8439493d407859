// How loops and branches go on: said once, for what runs them (loop_run.hpp) and for the text that does (c/cpp_loop.hpp).
#pragma once

#include "loop_graphs.hpp"

namespace wengert::detail {

/// M makes bodies ready, has them make a step, keeps states, and goes on: a function that it repeats says whether there is
/// more to do. Text is written once and goes on where it runs, so it is always told that there is.
template <class M> class LoopSkeleton : public M {
public:
    using M::M;

    void go()
    {
        switch (this->p_.kind) {
        case Kind::scan: scan(); break;
        case Kind::while_loop: this->put_carried(repeat(false)); break;
        case Kind::cond: this->branch(); break;
        case Kind::while_pull: while_pull(); break;
        case Kind::scan_pull: scan_pull(); break;
        }
        this->end();
    }

private:
    void scan()
    {
        auto body = this->body();
        this->each_step(0, this->p_.steps, [&](const auto& step) {
            this->step(body, step);
            return this->goes_on(body);
        });
        this->put_carried(body);
    }
    /// A while_loop; `history`: which notes the states before each step.
    auto repeat(bool history)
    {
        auto body = this->body();
        auto test = this->test();
        this->forever([&] {
            if (!this->holds(test, body)) return false;
            if (history) this->remember(body);
            this->step(body);
            return this->goes_on(body);
        });
        return body;
    }
    /// The derivative of a while_loop: forwards with all states kept, then back.
    void while_pull()
    {
        repeat(true);
        auto pull = this->pull();
        this->each_remembered(pull, [&] { this->step(pull); });
        this->put_carried(pull);
    }
    /// That of a scan with memory for few of its states: those that are not there are made again by the binomial schedule, each
    /// step's just before it is pulled through.
    void scan_pull()
    {
        auto body = this->body();
        auto pull = this->pull();
        const auto again = [&](const auto& first, const auto& last) {
            this->each_step(first, last, [&](const auto& step) {
                this->step(body, step);
                return true;
            });
        };
        this->each_part(body, pull, again, [&](const auto& step) { this->step(pull, step); });
        this->put_carried(pull);
    }
};

}  // namespace wengert::detail
