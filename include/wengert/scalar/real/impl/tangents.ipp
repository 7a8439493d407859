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
            dots().push_back({step<double>(e, i), {}});
        } else {
            const ScalarEntry copy = e;  // entries move where reals record
            const auto dot = step<Real<double>>(copy, i);
            dots().push_back({dot.plain(), dot.handle()});
            stream_.tangents[at_].plain = stream_.tangents[at_].plain && !dot.is_active();
        }
    }
}

/// ẏ = Σ ẋ ∂y/∂x, as reals, or as doubles where no level below depends on it.
template <class N>
__attribute__((always_inline)) inline N ScalarForward::step(const ScalarEntry& e, ScalarPosition i)
{
    if (e.op() == ScalarOp::input || (stream_.mask_of(e) & Tape::bit(level_)) == 0) return {};
    if (e.op() == ScalarOp::link) return dot<N>(e.far);
    const ScalarPosition chunk = stream_.chunk_of(i);
    N total = along<N>(e, i, chunk, e.a());
    if (e.form() == ScalarForm::both && e.b != e.a()) total += along<N>(e, i, chunk, e.b);
    return total;
}

/// An ẋ of 0 never makes a NaN of an infinite derivative.
template <class N>
N ScalarForward::along(const ScalarEntry& e, ScalarPosition i, ScalarPosition chunk, std::uint32_t operand)
{
    const N g = dot<N>(chunk + operand);
    N sum{};
    if (is_passive_zero(g)) return sum;
    const auto value = [&](std::uint32_t k) {
        const ScalarPosition at = chunk + k;
        return number<N>(stream_.entry(at).value, [&] { return stream_.handle(at); });
    };
    const bool guarded = is_real<N> && !stream_.tape().allow_nan;  // a double of 0 has been passed over
    const auto add = [&](std::uint32_t k, N r) __attribute__((always_inline))
    {
        if (k != operand || (guarded && is_zero_by_rule(plain_of(g), 0.0, plain_of(r)))) return;
        sum += r;
    };
    pull(e, static_cast<std::uint32_t>(i - chunk), g, value, add);
    return sum;
}

}  // namespace wengert::detail
