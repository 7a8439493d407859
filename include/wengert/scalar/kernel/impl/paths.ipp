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

/// But for their values, which follow; a constant's is its own.
inline bool same_steps(std::span<const ScalarEntry> a, std::span<const ScalarEntry> b)
{
    // by form what an entry has as its second operand: nothing, an index, a constant, a constant
    static_assert(ScalarForm::unary == ScalarForm{0} && ScalarForm::both == ScalarForm{1});
    static constexpr std::uint64_t second[] = {0, 0xffffffff, ~std::uint64_t{0}, ~std::uint64_t{0}};
    if (a.size() != b.size()) return false;
    std::uint64_t differ = 0;
    constexpr std::uint8_t copy = ScalarEntry::code_of(ScalarOp::copy, ScalarForm::unary);
    for (std::size_t i = 0; i < a.size(); ++i) {
        const std::uint64_t constant = a[i].code() == copy && a[i].a() == 0 ? ~std::uint64_t{0} : 0;
        differ |= (a[i].word ^ b[i].word) |
                  ((a[i].far ^ b[i].far) & second[static_cast<unsigned>(a[i].form())]) |
                  ((bits_of(a[i].value) ^ bits_of(b[i].value)) & constant);
    }
    return differ == 0;
}

inline bool same_values(std::span<const PathValue> a, std::span<const PathValue> b)
{
    return std::ranges::equal(a, b, [](const PathValue& x, const PathValue& y) {
        return x.step == y.step && (x.step != 0 || bits_of(x.constant) == bits_of(y.constant));
    });
}

/// Do they compare the same?
inline bool same_guard(const ScalarGuard& x, const ScalarGuard& y)
{
    return x.kind == y.kind && x.at == y.at && x.a == y.a && x.b == y.b &&
           (x.a != 0 || bits_of(x.left) == bits_of(y.left)) &&
           (x.b != 0 || bits_of(x.right) == bits_of(y.right));
}

inline bool is_known(const PathLoop* known, const PathRunLoop& loop)
{
    return known && known->begin == loop.begin && same_values(known->state, loop.state) &&
           std::ranges::all_of(loop.runs,
                               [&](const PathRun& r) { return is_known(known->paths.get(), r, r.steps); });
}

WENGERT_INLINE bool is_known(const Path* paths, const PathRun& run, std::span<const ScalarEntry> steps)
{
    std::size_t begin = 0;
    for (std::size_t k = 0;; ++k) {
        if (!paths) return false;
        const bool last = k == run.guards.size(), ends = !paths->parts && !paths->loop;
        const std::size_t end = last ? steps.size() : run.guards[k].at - run.begin;
        if (last != ends || !same_steps(steps.subspan(begin, end - begin), paths->steps)) return false;
        if (last) return same_values(paths->results, run.results);
        const ScalarGuard& g = run.guards[k];
        if (!same_guard(g, paths->guard)) return false;
        begin = end;
        if (g.kind == ScalarGuard::Kind::loop) {
            if (!is_known(paths->loop.get(), run.loops[g.a])) return false;
            begin += run.loops[g.a].state.size();
        }
        paths = paths->next[g.outcome].get();
    }
}

WENGERT_INLINE void keep_steps(const ScalarStream& s, std::span<const CellTensors::Entered> entered,
                               const Path* known, PathRun& run)
{
    const std::span<const ScalarEntry> steps = steps_from(s, 1);
    if (known && entered.empty()) {
        run.repeats = is_known(known, run, steps);
        return;
    }
    run.steps.assign(steps.begin(), steps.end());
    for (const CellTensors::Entered& e : entered)
        for (std::uint32_t k = 0; k < e.from.size(); ++k)
            run.steps[e.first + k - 1].word =
                ScalarEntry::word_of(ScalarOp::copy, ScalarForm::unary) | e.from[k];
    run.repeats = known && is_known(known, run, run.steps);
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
