// The bodies of tangents.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../base/separate.hpp"
#include "../rules.hpp"
#include "../../stream/lines.hpp"
#include "../tangents.hpp"

namespace wengert::detail {

WENGERT_INLINE void refuse_birth(ScalarStream& s, ScalarPosition p, std::string_view pass)
{
    const Site made = s.made_at(p);
    fail<NumericError>(name_of(s.entry(p).op()),
                       "a NaN or Inf was born in the " + std::string(pass) + " of this operation, of Reals",
                       made.line ? made : line_of_user());
}

WENGERT_INLINE void ScalarForward::look_for_births(ScalarPosition from, ScalarPosition to)
{
    const auto finite = [&](ScalarPosition p) { return std::isfinite(dot(p).plain()); };
    for (ScalarPosition i = from; i < to; ++i) {
        if (finite(i)) continue;
        const ScalarEntry& e = stream_.entry(i);
        if (e.op() == ScalarOp::input || e.op() == ScalarOp::link) continue;
        const ScalarPosition chunk = stream_.chunk_of(i);
        if (finite(chunk + e.a()) && (e.form() != ScalarForm::both || finite(chunk + e.b)))
            refuse_birth(stream_, i, "tangent");
    }
}

WENGERT_INLINE void ScalarForward::advance(ScalarPosition to)
{
    const ScalarPosition from = base() + dots().size();
    if (from >= to) return;
    Tape& tape = stream_.tape();
    const Restore<ActiveLevels> active(tape.active, tape.active & Tape::below(level_));
    const Restore<int> lowered(tape.lowered, tape.lowered + 1);
    const Restore<bool> rule(tape.in_rule, true);
    for (auto i = base() + dots().size(); (i = advance_plain(i, to)) < to; ++i) {
        const Real<double> dot = step(i);
        dots().push_back(0.0);
        set(i, dot);
    }
    if (tape.anomaly) [[unlikely]]
        look_for_births(from, to);
}

/// Where a sum is recorded a 0 is no term of it. So a tangent of 0 may have either sign, and ScalarForward::of gives +0.
inline void add_term(double& sum, double r) { sum += r; }
inline void add_term(Real<double>& sum, const Real<double>& r)
{
    if (is_passive_zero(r)) return;
    sum = is_passive_zero(sum) ? r : sum + r;
}

/// ẋ ∂y/∂x for one operand of an entry. `of.dot(k)` and `of.value(k)` are the tangent and the value of entry k of its chunk.
/// An ẋ of 0 never makes a NaN of an infinite derivative.
template <class N, class Chunk>
N tangent_along(const Chunk& of, const ScalarEntry& e, std::uint32_t index, std::uint32_t operand)
{
    const N g = of.dot(operand);
    N sum{};
    if (is_passive_zero(g)) return sum;
    const auto add = [&](std::uint32_t k, N r) __attribute__((always_inline))
    {
        if (k != operand) return;
        if constexpr (is_real<N>)  // a double of 0 has been passed over
            if (of.guarded() && is_no_term(g, r)) return;
        add_term(sum, r);
    };
    pull<true>(
        e, index, g, [&](std::uint32_t k) { return of.value(k); }, add);
    return sum;
}

/// ẏ = Σ ẋ ∂y/∂x
template <class N, class Chunk>
[[gnu::always_inline]] inline N tangent_of(const Chunk& of, const ScalarEntry& e, std::uint32_t index)
{
    N total = tangent_along<N>(of, e, index, e.a());
    if (e.form() == ScalarForm::both && e.b != e.a()) add_term(total, tangent_along<N>(of, e, index, e.b));
    return total;
}

/// A chunk's entries that no level below depends on. Nothing is recorded meanwhile, so no memory moves.
struct PlainTangents {
    const ScalarEntry* entries;  ///< of the chunk, by index
    const double* dots;
    std::int64_t chunk;  ///< where its dots would begin

    double dot(std::uint32_t k) const noexcept
    {
        const std::int64_t at = chunk + k;
        return at < 0 ? 0.0 : dots[at];
    }
    double value(std::uint32_t k) const noexcept { return entries[k].value; }
};

/// The tangent of an operation of + − × ÷ √ in line, of others by tangent_of.
[[gnu::always_inline]] inline double plain_tangent(const PlainTangents& of, const ScalarEntry& e,
                                                   std::uint32_t index)
{
    if (e.is_function()) [[unlikely]]
        return tangent_of<double>(of, e, index);
    double total = 0;
    const auto add = [&](std::uint32_t, double r) __attribute__((always_inline)) { total += unfused(r); };
    pull_arithmetic<true, double>(
        e, [&]() __attribute__((always_inline)) { return of.dot(e.a()); },
        [&]() __attribute__((always_inline)) { return of.dot(e.b); },
        [&]() __attribute__((always_inline)) { return e.value; },
        [&](std::uint32_t k) __attribute__((always_inline)) { return of.value(k); }, add, [](double) {});
    return total;
}

/// From entry i on, as long as no level below depends on any; gives the first one that is left.
WENGERT_INLINE ScalarPosition ScalarForward::advance_plain(ScalarPosition i, ScalarPosition to)
{
    ScalarTangents& t = stream_.tangents[at_];
    if (!t.plain) return i;
    const std::uint64_t own = Tape::bit(level_), below = stream_.tape().active;
    t.dots.resize(to - t.base);
    double* const dots = t.dots.data();
    for (bool goes_on = true; goes_on && i < to;) {
        const ScalarPosition chunk = stream_.chunk_of(i), end = std::min(to, stream_.chunk_end(i));
        const PlainTangents plain{&stream_.entry(chunk), dots, static_cast<std::int64_t>(chunk - t.base)};
        for (; i < end; ++i) {
            const auto index = static_cast<std::uint32_t>(i - chunk);
            const ScalarEntry& e = plain.entries[index];
            const std::uint64_t mask = stream_.mask_of(e);
            goes_on = (mask & below) == 0;
            if (!goes_on) break;
            double dot = 0;
            if (e.op() != ScalarOp::input && (mask & own) != 0) {
                if (e.op() != ScalarOp::link) [[likely]]
                    dot = plain_tangent(plain, e, index);
                else if (e.far >= t.base)
                    dot = dots[e.far - t.base];
            }
            dots[i - t.base] = dot;
        }
    }
    t.dots.resize(i - t.base);
    return i;
}

WENGERT_INLINE Real<double> ScalarForward::step(ScalarPosition i)
{
    const ScalarEntry e = stream_.entry(i);  // entries move where reals record
    if (e.op() == ScalarOp::input || (stream_.mask_of(e) & Tape::bit(level_)) == 0) return {};
    if (e.op() == ScalarOp::link) return dot(e.far);
    struct Recorded {
        ScalarForward& forward;
        ScalarPosition chunk;
        Real<double> dot(std::uint32_t k) const { return forward.dot(chunk + k); }
        Real<double> value(std::uint32_t k) const
        {
            return Real<double>(forward.stream_.entry(chunk + k).value, forward.stream_.handle(chunk + k));
        }
        bool guarded() const { return !forward.stream_.tape().allow_nan; }
    };
    const ScalarPosition chunk = stream_.chunk_of(i);
    return tangent_of<Real<double>>(Recorded{*this, chunk}, e, static_cast<std::uint32_t>(i - chunk));
}

}  // namespace wengert::detail
