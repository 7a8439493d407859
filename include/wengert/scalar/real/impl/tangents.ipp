// The bodies of tangents.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../../base/separate.hpp"
#include "../rules.hpp"
#include "../tangents.hpp"

namespace wengert::detail {

WENGERT_INLINE void ScalarForward::advance(ScalarPosition to)
{
    if (base() + dots().size() >= to) return;
    Tape& tape = stream_.tape();
    const Restore<ActiveLevels> active(tape.active, tape.active & Tape::below(level_));
    const Restore<int> lowered(tape.lowered, tape.lowered + 1);
    const Restore<bool> rule(tape.in_rule, true);
    for (auto i = base() + dots().size(); (i = advance_plain(i, to)) < to; ++i) {
        const Real<double> dot = step(i);
        dots().push_back({dot.plain(), dot.handle()});
        stream_.tangents[at_].plain = stream_.tangents[at_].plain && !dot.is_active();
    }
}

/// Tangents of a chunk's entries that no level below depends on. Nothing is recorded meanwhile, so no memory moves.
struct PlainTangents {
    const ScalarEntry* entries;  ///< of the chunk, by index
    const std::vector<ScalarTangents::Dot>& dots;
    std::int64_t chunk;  ///< where its dots would begin

    double dot(std::uint32_t k) const noexcept
    {
        const std::int64_t at = chunk + k;
        return at < 0 ? 0.0 : dots[static_cast<std::size_t>(at)].value;
    }
    double along(const ScalarEntry& e, std::uint32_t operand) const
    {
        const double g = dot(operand);
        double sum = 0;
        if (g == 0) return sum;
        const auto value = [&](std::uint32_t k) { return entries[k].value; };
        pull(e, static_cast<std::uint32_t>(&e - entries), g, value, [&](std::uint32_t k, double r) {
            if (k == operand) sum += r;
        });
        return sum;
    }
    /// What ScalarForward::step() computes.
    double step(const ScalarEntry& e) const
    {
        const double total = along(e, e.a());
        return e.form() == ScalarForm::both && e.b != e.a() ? total + along(e, e.b) : total;
    }
};

/// From entry i on, as long as no level below depends on any; gives the first one that is left.
WENGERT_INLINE ScalarPosition ScalarForward::advance_plain(ScalarPosition i, ScalarPosition to)
{
    ScalarTangents& t = stream_.tangents[at_];
    if (!t.plain) return i;
    const std::uint64_t own = Tape::bit(level_), below = stream_.tape().active;
    while (i < to) {
        const ScalarPosition chunk = stream_.chunk_of(i), end = std::min(to, stream_.chunk_end(i));
        const PlainTangents plain{&stream_.entry(chunk), t.dots, static_cast<std::int64_t>(chunk - t.base)};
        for (; i < end; ++i) {
            const ScalarEntry& e = plain.entries[i - chunk];
            const std::uint64_t mask = stream_.mask_of(e);
            if (mask & below) return i;
            const bool none = e.op() == ScalarOp::input || (mask & own) == 0;
            const bool far = e.op() == ScalarOp::link;
            t.dots.push_back({none  ? 0.0
                              : far ? e.far < t.base ? 0.0 : t.dots[e.far - t.base].value
                                    : plain.step(e),
                              {}});
        }
    }
    return i;
}

/// ẏ = Σ ẋ ∂y/∂x. An ẋ of 0 never makes a NaN of an infinite derivative.
WENGERT_INLINE Real<double> ScalarForward::step(ScalarPosition i)
{
    const ScalarEntry e = stream_.entry(i);
    if (e.op() == ScalarOp::input || (stream_.mask_of(e) & Tape::bit(level_)) == 0) return {};
    if (e.op() == ScalarOp::link) return dot(e.far);
    const ScalarPosition chunk = stream_.chunk_of(i);
    Real<double> total = along(e, i, chunk, e.a());
    if (e.form() == ScalarForm::both && e.b != e.a()) total += along(e, i, chunk, e.b);
    return total;
}

WENGERT_INLINE Real<double> ScalarForward::along(const ScalarEntry& e, ScalarPosition i, ScalarPosition chunk,
                                                 std::uint32_t operand)
{
    const Real<double> g = dot(chunk + operand);
    Real<double> sum;
    if (!g.is_active() && g.plain() == 0.0) return sum;
    const auto value = [&](std::uint32_t k) {
        return Real<double>(stream_.entry(chunk + k).value, stream_.handle(chunk + k));
    };
    const bool guarded = !stream_.tape().allow_nan;
    pull(e, static_cast<std::uint32_t>(i - chunk), g, value, [&](std::uint32_t k, const Real<double>& r) {
        if (k != operand || (guarded && is_zero_by_rule(g.plain(), 0.0, r.plain()))) return;
        sum += r;
    });
    return sum;
}

}  // namespace wengert::detail
