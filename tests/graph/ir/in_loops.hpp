/// The same step in a loop of a frozen graph on each backend, and a function under a checkpoint.
#pragma once

#include "catch.hpp"

#include <vector>

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/reductions.hpp>
#include <wengert/transforms/check_grads.hpp>
#include <wengert/transforms/checkpoint.hpp>
#include <wengert/transforms/derivatives.hpp>

namespace wg = wengert;

/// A scan of `step` from s over x, times its gradient: the bits of eager code from every backend, and no step by step. `whole` has
/// the same gradient in a checkpoint.
template <class Step, class Whole>
void check_in_loops(const Step& step, const Whole& whole, const wg::Tensor<double>& s,
                    const wg::Tensor<double>& x)
{
    using D = wg::Tensor<double>;
    const auto loss = [&](const D& a, const D& b) {
        const auto [last, all] = wg::scan(step, a, b);
        return sum(square(last)) + sum(all * all * all);
    };
    const auto f = [&](const D& a, const D& b) {
        return wg::grad([&](const D& u) { return loss(u, b); })(a) * loss(a, b);
    };
    const D wanted = f(s, x);
    for (const wg::Backend& backend : std::vector<wg::Backend>{wg::interpret, wg::tile, wg::native}) {
        auto frozen = wg::freeze(f, {.backend = backend});
        frozen(s, x);
        CHECK(wg::same_elements(*wg::readable(frozen(s, x).any().value), *wg::readable(wanted.any().value)));
        INFO(frozen.explain());
        CHECK(frozen.explain().find("step by step") == std::string::npos);
    }
    const D g = wg::grad(whole)(s), h = wg::grad([&](const D& t) { return wg::checkpoint(whole)(t); })(s);
    CHECK(wg::same_elements(*wg::readable(g.any().value), *wg::readable(h.any().value)));
    CHECK(wg::check_grads([&](const D& a) { return loss(a, x); }, s, {.order = 2}).ok);
}
