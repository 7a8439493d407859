// What adjoints.hpp declares: the sweep. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../adjoints.hpp"
#include "../tangents.hpp"

namespace wengert::detail {

/// Loads early what the sweep of a long span reads. An operand lies before its operation, where no prefetcher has been, so the lines
/// of the span are loaded some thousand entries ahead. Where no cache holds all adjoints, those of operands are asked for, too.
struct LoadsEarly {
    static constexpr std::size_t lines = 2500, operands = 128;  ///< entries ahead
    static constexpr std::size_t long_span = 1 << 18;           ///< entries: 8 MB with their adjoints
    static constexpr std::size_t beyond_caches = 1 << 21;       ///< entries: 16 MB of adjoints

    const ScalarEntry* asking;  ///< from here on operands are asked for
    std::uintptr_t slots;

    [[gnu::always_inline]] void operator()(const ScalarEntry* e, const double* own) const noexcept
    {
        lines_before(e);
        lines_before(own);
        if (e < asking) return;
        const ScalarEntry& later = *(e - operands);
        ask_for(slots + later.a() * sizeof(double));
        ask_for(slots + (later.form() == ScalarForm::both ? later.b : later.a()) * sizeof(double));
    }
    /// What lies so many entries before, of so many numbers each.
    template <class T>
    [[gnu::always_inline]] static void lines_before(const T* at, std::size_t each = 1) noexcept
    {
        ask_for(reinterpret_cast<std::uintptr_t>(at) - lines * each * sizeof(T));
    }
    /// Into the second-level cache. Where no memory is it does no harm.
    [[gnu::always_inline]] static void ask_for(std::uintptr_t address) noexcept
    {
        __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
    }
};

/// Of the entries with these indices. A cotangent of 0 is passed over: it never makes a NaN of an infinite derivative
/// (docs/design.md). What an operation sends to the one before it, most often its operand, stays in a register: through memory
/// a chain waits twice as long. An adjoint that has been used is 0 again.
/// `inside`: operands are of this part alone, or links. `far`: operands may be out of the caches. The loop begins on a line of the
/// instruction cache, which is a tenth of its time.
template <bool guarded, bool inside, bool far>
[[gnu::aligned(64)]] void ScalarAdjoints::sweep_plain(ChunkAdjoints& part, std::uint32_t begin,
                                                      std::uint32_t end)
{
    if (begin == end) return;
    const ScalarEntry* const entries = &stream_.entry(part.chunk);
    const auto base = static_cast<std::uint32_t>(part.base - part.chunk);
    // the slot of index 0, were there one: slots are counted from plain, indices from the chunk's beginning
    const auto origin = reinterpret_cast<std::uintptr_t>(part.plain.data() + 1) - base * sizeof(double);
    const auto slot = [=](std::uint32_t k) __attribute__((always_inline))
    {
        return reinterpret_cast<double*>(origin + k * sizeof(double));
    };
    const auto value = [=](std::uint32_t k) __attribute__((always_inline)) { return entries[k].value; };
    const ScalarEntry *e = entries + end, *const first = entries + begin;
    double *before = slot(end) - 1, next = *before;  // the slot before that of e, and what it holds
    const LoadsEarly early{end - begin < LoadsEarly::beyond_caches ? e : first + LoadsEarly::operands,
                           origin};
    do {
        --e, --before;
        if constexpr (far) early(e, before + 1);
        const double g = std::exchange(next, *before);
        before[1] = 0;
        if (e->is_function()) [[unlikely]] {
            if (guarded && g == 0.0) continue;
            *before = next;
            sweep_function(part, static_cast<std::uint32_t>(e - entries), g);
            next = *before;
            continue;
        }
        const auto add = [&](std::uint32_t k, double r) __attribute__((always_inline))
        {
            double* const to = slot(inside || k >= base ? k : base - 1);
            if (to == before)
                next += r;
            else
                *to += r;
        };
        const auto stay = [=](double r) __attribute__((always_inline)) { before[1] = r; };
        const auto cotangent = [=]() __attribute__((always_inline)) { return g; };
        pull_arithmetic<guarded, double>(
            *e, cotangent, cotangent, [=]() __attribute__((always_inline)) { return e->value; }, value, add,
            stay);
    } while (e != first);
    *before = next;
}

/// Apart, so that the loop above has its registers for itself.
WENGERT_INLINE __attribute__((noinline)) void ScalarAdjoints::sweep_function(ChunkAdjoints& part,
                                                                             std::uint32_t i, double g)
{
    const ScalarEntry* const entries = &stream_.entry(part.chunk);
    if (entries[i].op() == ScalarOp::link) return add(entries[i].far, Real<double>(g));
    pull_apart(ValuesOf{entries}, i, g, part.plain.data() + 1,
               static_cast<std::uint32_t>(part.base - part.chunk), false);
}

/// Forward over reverse in one pass: values with their tangents, adjoints with theirs, and nothing is recorded. Arithmetic is in line,
/// functions are not, so that the loop has its registers for itself.
WENGERT_INLINE void ScalarAdjoints::sweep_with_tangents(ChunkAdjoints& part, std::uint32_t begin,
                                                        std::uint32_t end, bool guarded)
{
    const bool far = end - begin >= LoadsEarly::long_span;
    const ScalarTangents& tangents = *ScalarForward(stream_, forward_).plain_up_to(part.chunk + end);
    const ScalarEntry* const entries = &stream_.entry(part.chunk);
    const auto base = static_cast<std::uint32_t>(part.base - part.chunk);
    double* const adjoints = part.plain.data() + 2;
    const double* const dots = tangents.dots.data();
    const auto first = static_cast<std::int64_t>(tangents.base - part.chunk);
    const PairsOf value{entries, dots, first};
    for (std::uint32_t i = end; i-- > begin;) {
        const ScalarEntry& e = entries[i];
        if (far) {
            LoadsEarly::lines_before(&e), LoadsEarly::lines_before(adjoints + 2 * (i - base), 2);
            LoadsEarly::lines_before(dots + (i - first));
        }
        if (e.op() == ScalarOp::input) [[unlikely]]
            continue;
        const WithTangent g = taken(adjoints + 2 * (i - base));
        if (guarded && is_zero(g)) continue;
        const auto add_to = [&](std::uint32_t k, const WithTangent& r) __attribute__((always_inline))
        {
            if (k >= base) send(adjoints, k - base, g, r, guarded);
        };
        const auto number = [=](std::uint32_t k) __attribute__((always_inline))
        {
            return LoopNumber(value(k));
        };
        const auto result = [=]() __attribute__((always_inline)) { return number(i); };
        const auto cotangent = [&]() __attribute__((always_inline)) { return LoopNumber(g); };
        if (!e.is_function()) [[likely]]
            pull_arithmetic<false, LoopNumber>(e, cotangent, cotangent, result, number, add_to,
                                               [](const LoopNumber&) {});
        else if (e.op() == ScalarOp::link)
            add(e.far, g);
        else
            pull_apart(value, i, g, adjoints, base, guarded);
    }
}

WENGERT_INLINE std::size_t ScalarAdjoints::forward_alone(ScalarStream& s, std::uint64_t levels,
                                                         ScalarPosition end)
{
    const Tape& tape = s.tape();
    if (!std::has_single_bit(levels) || !(levels & tape.forward_levels)) return 0;
    if (tape.anomaly || recorder() || s.cell_tensors) return 0;
    const auto level = static_cast<std::size_t>(std::countr_zero(levels));
    return ScalarForward(s, level).plain_up_to(end) ? level : 0;
}

WENGERT_INLINE bool ScalarAdjoints::carry_tangents(std::uint64_t levels, ScalarPosition end)
{
    const std::size_t level = recorded_ ? 0 : forward_alone(stream_, levels, end);
    if (level == 0) return false;
    forward_ = level;
    each([](ChunkAdjoints& part) {
        if (part.width == 1) part.widen();
    });
    return true;
}

/// Adjoints with tangents become variables of the level of forward mode.
WENGERT_INLINE void ScalarAdjoints::record_tangents()
{
    each([&](ChunkAdjoints& part) {
        std::vector<ScalarNumber> numbers;
        std::vector<std::size_t> from;  // the others are passive zeros
        for (std::size_t k = 0; k < part.used; ++k) {
            const double* const g = &part.plain[2 * (k + 1)];
            if (g[0] == 0.0 && g[1] == 0.0) continue;
            numbers.push_back({{}, g[0]});
            from.push_back(k);
        }
        part.rich.resize(part.used);
        if (!numbers.empty()) {
            const ScalarPosition first = stream_.lift(forward_, numbers, "scalar code", Site{});
            ScalarForward(stream_, forward_).set(first, from.size(), [&](std::size_t k) {
                return part.plain[2 * (from[k] + 1) + 1];
            });
            for (std::size_t k = 0; k < from.size(); ++k)
                part.rich[from[k]] = Real<double>(numbers[k].value, numbers[k].handle);
        }
        part.plain = {};
        part.used = 0;
    });
}

/// Operations that it records come behind `end`, and may move the entries.
WENGERT_INLINE void ScalarAdjoints::sweep_recorded(ChunkAdjoints& part, ScalarPosition begin,
                                                   ScalarPosition end, bool guarded)
{
    const ScalarPosition chunk = part.chunk;
    const auto value = [&](std::uint32_t k) {
        return Real<double>(stream_.entry(chunk + k).value, stream_.handle(chunk + k));
    };
    for (ScalarPosition i = end; i-- > begin;) {
        const ScalarEntry e = stream_.entry(i);
        if (e.op() == ScalarOp::input) continue;
        const Real<double> g = std::exchange(part.rich[i - part.base], Real<double>());
        if (!g.is_active() && g.plain() == 0.0 && guarded) continue;
        if (e.op() == ScalarOp::link) {
            add(e.far, g);
            continue;
        }
        pull(e, static_cast<std::uint32_t>(i - chunk), g, value, [&](std::uint32_t k, const Real<double>& r) {
            if (guarded && is_no_term(g, r)) return;
            if (chunk + k >= part.base) part.rich[chunk + k - part.base] += r;
        });
    }
}

WENGERT_INLINE void ScalarAdjoints::sweep(const ScalarSpan& s, ScalarPosition from, bool guarded)
{
    const ScalarPosition span_end = stream_.end_of(s);
    if (span_end == s.begin) return;
    ChunkAdjoints& part = part_of(s.begin, span_end - s.begin);
    if (recorded_) return sweep_recorded(part, from, span_end, guarded);
    const auto begin = static_cast<std::uint32_t>(from - s.chunk);
    const auto end = static_cast<std::uint32_t>(span_end - s.chunk);
    const auto here = [&](const Ref<Node>& n) { return static_cast<ScalarSpan*>(n->op)->chunk == s.chunk; };
    const bool inside = std::none_of(s.older.begin(), s.older.end(), here);
    if (forward_)
        sweep_with_tangents(part, begin, end, guarded);
    else if (!guarded)
        sweep_plain<false, false, false>(part, begin, end);
    else if (!inside)
        sweep_plain<true, false, false>(part, begin, end);
    else if (end - begin < LoadsEarly::long_span)
        sweep_plain<true, true, false>(part, begin, end);
    else
        sweep_plain<true, true, true>(part, begin, end);
}

WENGERT_INLINE bool ScalarAdjoints::has_any(const Node& span)
{
    const ScalarSpan& s = *stream_.span_of(span);
    const std::size_t count = s.end - s.begin;
    ChunkAdjoints& part = part_of(s.begin, count);
    if (recorded_) {
        const auto first = part.rich.begin() + static_cast<std::ptrdiff_t>(s.begin - part.base);
        return std::any_of(first, first + static_cast<std::ptrdiff_t>(count),
                           [](const Real<double>& g) { return g.is_active() || g.plain() != 0.0; });
    }
    const double* const first = &part.at(s.begin);
    return std::any_of(first, first + count * part.width, [](double g) { return g != 0.0; });
}

WENGERT_INLINE void ScalarAdjoints::done(const ScalarSpan& s, bool wanted)
{
    if (recorded_ || s.begin == stream_.end_of(s)) return;
    ChunkAdjoints& part = part_of(s.begin);
    part.swept += stream_.end_of(s) - s.begin;
    if (wanted || s.chunk == stream_.chunk()) return;
    if (s.begin != part.base && s.begin != s.chunk + 1) return;  // others are before it
    part.give_up(stream_.zeros, has_not_grown());
    part = ChunkAdjoints(part.chunk, part.base);
    last_ = nullptr;
    stream_.rest(s.chunk);
}

}  // namespace wengert::detail
