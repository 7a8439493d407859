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
    for (auto i = base() + dots().size(); i < to; ++i) {
        const ScalarEntry& e = stream_.entry(i);
        if (stream_.tangents[at_].plain && (stream_.mask_of(e) & tape.active) == 0) {
            dots().push_back({plain_step(e, i), {}});
        } else {
            const Real<double> dot = step(i);
            dots().push_back({dot.plain(), dot.handle()});
            stream_.tangents[at_].plain = stream_.tangents[at_].plain && !dot.is_active();
        }
    }
}

/// What step() computes, of operations that no level below depends on.
WENGERT_INLINE double ScalarForward::plain_step(const ScalarEntry& e, ScalarPosition i) const
{
    if (e.op() == ScalarOp::input || (stream_.mask_of(e) & Tape::bit(level_)) == 0) return 0;
    if (e.op() == ScalarOp::link) return plain_dot(e.far);
    const ScalarPosition chunk = stream_.chunk_of(i);
    double total = plain_along(e, i, chunk, e.a());
    if (e.form() == ScalarForm::both && e.b != e.a()) total += plain_along(e, i, chunk, e.b);
    return total;
}

WENGERT_INLINE double ScalarForward::plain_along(const ScalarEntry& e, ScalarPosition i, ScalarPosition chunk,
                                                 std::uint32_t operand) const
{
    const double g = plain_dot(chunk + operand);
    double sum = 0;
    if (g == 0) return sum;
    const auto value = [&](std::uint32_t k) { return stream_.entry(chunk + k).value; };
    pull(e, static_cast<std::uint32_t>(i - chunk), g, value, [&](std::uint32_t k, double r) {
        if (k == operand) sum += r;
    });
    return sum;
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
