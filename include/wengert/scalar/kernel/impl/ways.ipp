// The bodies of ways.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <bit>

#include "../../../base/separate.hpp"
#include "../ways.hpp"

namespace wengert::detail {

inline std::vector<ScalarEntry> cut(const WayRun& run, std::uint32_t begin, std::uint32_t end)
{
    return {run.steps.begin() + (begin - run.begin), run.steps.begin() + (end - run.begin)};
}

inline std::uint64_t bits_of(double x) noexcept { return std::bit_cast<std::uint64_t>(x); }

WENGERT_INLINE bool same_run(const WayRun& a, const WayRun& b)
{
    const auto values = [](const WayValue& x, const WayValue& y) {
        return x.step == y.step && bits_of(x.constant) == bits_of(y.constant);
    };
    const auto steps = [](const ScalarEntry& x, const ScalarEntry& y) {
        const bool constant = x.form() == ScalarForm::right_constant || x.form() == ScalarForm::left_constant;
        return x.word == y.word && bits_of(x.value) == bits_of(y.value) &&
               (x.form() == ScalarForm::unary || (constant ? bits_of(x.c) == bits_of(y.c) : x.b == y.b));
    };
    const auto guards = [](const ScalarGuard& x, const ScalarGuard& y) {
        return x.kind == y.kind && x.outcome == y.outcome && x.at == y.at && x.a == y.a && x.b == y.b &&
               bits_of(x.left) == bits_of(y.left) && bits_of(x.right) == bits_of(y.right);
    };
    const auto loops = [&](const WayRunLoop& x, const WayRunLoop& y) {
        return std::ranges::equal(x.state, y.state, values) && std::ranges::equal(x.runs, y.runs, same_run);
    };
    return std::ranges::equal(a.steps, b.steps, steps) && std::ranges::equal(a.guards, b.guards, guards) &&
           std::ranges::equal(a.results, b.results, values) && std::ranges::equal(a.loops, b.loops, loops);
}

/// The same of a loop; true where it has got more.
inline bool add_runs(std::shared_ptr<const WayLoop>& loop, const WayRunLoop& more)
{
    auto both = loop ? std::make_shared<WayLoop>(*loop) : std::make_shared<WayLoop>();
    both->begin = more.begin;
    both->state = more.state;
    for (const WayRun& r : more.runs) both->ways = with_run(both->ways, r);
    const bool grown = !loop || both->ways != loop->ways;
    if (grown) loop = both;
    return grown;
}

WENGERT_INLINE std::shared_ptr<const Way> with_run(const std::shared_ptr<const Way>& ways, const WayRun& run)
{
    std::shared_ptr<Way> root = std::const_pointer_cast<Way>(ways), *at = &root;
    std::uint32_t begin = run.begin;
    bool grown = false;
    for (std::size_t k = 0;; ++k) {
        const bool last = k == run.guards.size();
        const auto end = last ? static_cast<std::uint32_t>(run.begin + run.steps.size()) : run.guards[k].at;
        const bool fresh = !*at, loop = !last && run.guards[k].kind == ScalarGuard::Kind::loop;
        grown = grown || fresh;
        *at = fresh ? std::make_shared<Way>() : std::make_shared<Way>(**at);
        if (fresh) {
            (*at)->steps = cut(run, begin, end);
            (*at)->begin = begin;
            (*at)->parts = !last && !loop;
            if (last)
                (*at)->results = run.results;
            else
                (*at)->guard = run.guards[k];
        }
        if (last) return grown ? root : ways;
        begin = end;
        if (loop) {
            const WayRunLoop& l = run.loops[run.guards[k].a];
            grown = add_runs((*at)->loop, l) || grown;
            begin += static_cast<std::uint32_t>(l.state.size());
        }
        at = &(*at)->next[run.guards[k].outcome];
    }
}

}  // namespace wengert::detail
