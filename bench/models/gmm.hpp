#pragma once

// ADBench's Gaussian mixture in tensor form: a few operations on whole arrays, whatever the instance's size.

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>
#include <wengert/wengert.hpp>

#include "instances.hpp"

namespace bench {

class Gmm {
public:
    using T = wengert::Tensor<double>;

    explicit Gmm(const GmmInstance& g)
        : d_(static_cast<std::int64_t>(g.d)), K_(static_cast<std::int64_t>(g.K)),
          n_(static_cast<std::int64_t>(g.n)), gamma_(g.gamma), m_(g.m), constant_(gmm_constant(g)),
          alpha(g.alpha), mu({K_, d_}, g.mu), icf({K_, d_ * (d_ + 1) / 2}, g.icf),
          points_(with_ones({n_, d_}, g.x)), place_(places())
    {}

    /// With rows = x Qᵀ − Qμ for all points and components at once, as one product: (x, 1) · (Q, −Qμ)ᵀ.
    T objective(const T& a, const T& means, const T& c) const
    {
        using wengert::all;
        using wengert::range;
        const T q = view(c, all(), range(0, d_)), diagonal = exp(q),
                lower = view(c, all(), range(d_, d_ * (d_ + 1) / 2));
        const T Q = wengert::reshape(
            take(wengert::concatenate({diagonal, lower, wengert::zeros<double>({K_, 1})}, 1), place_, 1),
            {K_, d_, d_});
        const T offset = matmul(Q, expand_dims(means, 2));
        const T affine = wengert::reshape(wengert::concatenate({Q, -offset}, 2), {K_ * d_, d_ + 1});
        const T rows = wengert::reshape(matmul(points_, transpose(affine)), {n_, K_, d_});
        const T sum_q = sum(q, {1});
        const T term = (a + sum_q) - 0.5 * sum(square(rows), {2});
        const T squares = sum(square(diagonal)) + sum(square(lower));
        const T prior = 0.5 * gamma_ * gamma_ * squares - m_ * sum(sum_q) + constant_;
        return sum(logsumexp(term, {1})) - static_cast<double>(n_) * logsumexp(a, {0}) + prior;
    }

    T objective() const { return objective(alpha, mu, icf); }

    /// Objective, then the gradient with respect to α, μ and icf.
    Derivative derivative() const
    {
        const auto f = [this](const T& a, const T& means, const T& c) { return objective(a, means, c); };
        const auto [value, gradient] = wengert::value_and_grad<0, 1, 2>(f)(alpha, mu, icf);
        Derivative out = {value.item()};
        const auto append = [&](const T& t) { out.insert(out.end(), t.data(), t.data() + t.size()); };
        append(std::get<0>(gradient)), append(std::get<1>(gradient)), append(std::get<2>(gradient));
        return out;
    }

private:
    static T with_ones(const wengert::Shape& shape, const std::vector<double>& x)
    {
        return wengert::concatenate({T(shape, x), wengert::ones<double>({shape[0], 1})}, 1);
    }

    /// Where each entry of Q lies in (diagonal, strict lower part column by column, 0).
    wengert::Tensor<std::int64_t> places() const
    {
        const std::int64_t zero = d_ * (d_ + 1) / 2;
        std::vector<std::int64_t> at(static_cast<std::size_t>(d_ * d_), zero);
        std::int64_t next = d_;
        for (std::int64_t j = 0; j < d_; ++j) {
            at[static_cast<std::size_t>(j * d_ + j)] = j;
            for (std::int64_t i = j + 1; i < d_; ++i) at[static_cast<std::size_t>(i * d_ + j)] = next++;
        }
        return wengert::Tensor<std::int64_t>(at);
    }

    std::int64_t d_, K_, n_;
    double gamma_, m_, constant_;

public:
    T alpha, mu, icf;

private:
    T points_;
    wengert::Tensor<std::int64_t> place_;
};

}  // namespace bench
