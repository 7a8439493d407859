// What several examples descend by.
#pragma once

#include <wengert/wengert.hpp>

#include <cmath>

/// Adam (Kingma & Ba 2015, algorithm 1), for a tensor or any struct of tensors.
template <class Parameters> class Adam {
public:
    explicit Adam(const Parameters& like)
        : mean_(wengert::tree::map([](const auto& x) { return zeros_like(x); }, like)), square_(mean_)
    {}
    void step(Parameters& x, const Parameters& gradient, double rate)
    {
        ++steps_;
        const double slow = rate * std::sqrt(1 - std::pow(0.999, steps_)) / (1 - std::pow(0.9, steps_));
        wengert::tree::zip_for_each(
            [&](auto& p, const auto& g, auto& m, auto& v) {
                m = 0.9 * m + 0.1 * g;
                v = 0.999 * v + 0.001 * g * g;
                p -= slow * m / (sqrt(v) + 1e-8);
            },
            x, gradient, mean_, square_);
    }

private:
    Parameters mean_, square_;
    int steps_ = 0;
};
