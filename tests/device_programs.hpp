// Programs that have the same bits on the host and on a device: same(f) runs f on both.
#pragma once

#include <wengert/ops/indexing.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/scans.hpp>
#include <wengert/ops/view.hpp>
#include <wengert/wengert.hpp>

namespace device_programs {

namespace wg = wengert;

inline wg::Tensor<double> some(const wg::Shape& shape) { return wg::normal<double>(wg::Key(3), shape); }

/// Elementwise operations, their gradients, and a step of descent.
template <class Same> void elementwise(const Same& same)
{
    same([] { return tanh(some({7, 5})) * some({5}) - exp(some({7, 1})); });
    same([] {
        const auto f = [](const wg::Tensor<double>& x) {
            return sum(sin(x) * x / (1.0 + square(x)) * some({5}));
        };
        return wg::grad(f)(some({7, 5}));
    });
    same([] {
        wg::Tensor<double> w = some({40});
        w.requires_grad(true);
        for (int k = 0; k < 3; ++k) {
            wg::backward(sum(square(tanh(w))));
            const wg::NoGrad off;
            w -= 0.1 * w.grad();
        }
        return w.detach();
    });
}

/// Elements that are moved, and parts that are written.
template <class Same> void moves(const Same& same)
{
    same([] { return wg::concatenate({some({2, 3}), some({1, 3})}); });
    same([] { return cumsum(wg::roll(some({4, 5}), 2, 1), 0); });
    same([] {
        wg::Tensor<double> x = some({4, 5});
        view(x, wg::range(1, 3)) = some({5});
        view(x, 0) += 1.0;
        return x;
    });
}

}  // namespace device_programs
