// The bodies of paths.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <bit>

#include "../../../base/separate.hpp"
#include "../paths.hpp"

namespace wengert::detail {

inline std::vector<ScalarEntry> cut(const PathRun& run, std::uint32_t begin, std::uint32_t end)
{
    return {run.steps.begin() + (begin - run.begin), run.steps.begin() + (end - run.begin)};
}

inline std::uint64_t bits_of(double x) noexcept { return std::bit_cast<std::uint64_t>(x); }

WENGERT_INLINE bool same_run(const PathRun& a, const PathRun& b)
{
    const auto values = [](const PathValue& x, const PathValue& y) {
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
    const auto loops = [&](const PathRunLoop& x, const PathRunLoop& y) {
        return std::ranges::equal(x.state, y.state, values) && std::ranges::equal(x.runs, y.runs, same_run);
    };
    return std::ranges::equal(a.steps, b.steps, steps) && std::ranges::equal(a.guards, b.guards, guards) &&
           std::ranges::equal(a.results, b.results, values) && std::ranges::equal(a.loops, b.loops, loops);
}

/// The same of a loop; true where it has got more.
inline bool add_runs(std::shared_ptr<const PathLoop>& loop, const PathRunLoop& more)
{
    auto both = loop ? std::make_shared<PathLoop>(*loop) : std::make_shared<PathLoop>();
    both->begin = more.begin;
    both->state = more.state;
    for (const PathRun& r : more.runs) both->paths = with_run(both->paths, r);
    const bool grown = !loop || both->paths != loop->paths;
    if (grown) loop = both;
    return grown;
}

WENGERT_INLINE std::shared_ptr<const Path> with_run(const std::shared_ptr<const Path>& paths,
                                                    const PathRun& run)
{
    std::shared_ptr<Path> root = std::const_pointer_cast<Path>(paths), *at = &root;
    std::uint32_t begin = run.begin;
    bool grown = false;
    for (std::size_t k = 0;; ++k) {
        const bool last = k == run.guards.size();
        const auto end = last ? static_cast<std::uint32_t>(run.begin + run.steps.size()) : run.guards[k].at;
        const bool fresh = !*at, loop = !last && run.guards[k].kind == ScalarGuard::Kind::loop;
        grown = grown || fresh;
        *at = fresh ? std::make_shared<Path>() : std::make_shared<Path>(**at);
        if (fresh) {
            (*at)->steps = cut(run, begin, end);
            (*at)->begin = begin;
            (*at)->parts = !last && !loop;
            if (last)
                (*at)->results = run.results;
            else
                (*at)->guard = run.guards[k];
        }
        if (last) return grown ? root : paths;
        begin = end;
        if (loop) {
            const PathRunLoop& l = run.loops[run.guards[k].a];
            grown = add_runs((*at)->loop, l) || grown;
            begin += static_cast<std::uint32_t>(l.state.size());
        }
        at = &(*at)->next[run.guards[k].outcome];
    }
}

}  // namespace wengert::detail
