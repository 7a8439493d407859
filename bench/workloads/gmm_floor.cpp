// The plain objective, and a floor that computes ‖Q (x − μ)‖² and its adjoint for a batch of points at a
// time.

#include <memory>

#include "../models/instances.hpp"
#include "simd.hpp"

namespace bench {
namespace {

using V = xsimd::batch<double>;
constexpr std::size_t S = V::size;

class GmmFloor {
public:
    explicit GmmFloor(GmmInstance instance) : g_(std::move(instance)), n_((g_.n + S - 1) / S * S)
    {
        x_.assign(g_.d * n_, 0.0);  // transposed: one row per dimension, points beside each other
        for (std::size_t i = 0; i < g_.n; ++i)
            for (std::size_t j = 0; j < g_.d; ++j) x_[j * n_ + i] = g_.x[i * g_.d + j];
        weight_.assign(n_, 0.0);
        std::fill_n(weight_.begin(), g_.n, 1.0);
        term_.resize(g_.K * n_);
        rows_.resize(g_.K * g_.d * n_);
        diagonal_.resize(g_.K * g_.d), sum_q_.resize(g_.K);
    }

    void run()
    {
        gradient_.assign(g_.K * (1 + g_.d + g_.icf_width()), 0.0);
        loss_ = gmm_constant(g_) + prior();
        for (std::size_t k = 0; k < g_.K; ++k) distances(k);
        responsibilities();
        for (std::size_t k = 0; k < g_.K; ++k) component_back(k);
        normalizer();
    }

    Results results()
    {
        run();
        return {{loss_}, gradient_};
    }

private:
    double* mu_gradient(std::size_t k) { return &gradient_[g_.K + k * g_.d]; }
    double* icf_gradient(std::size_t k) { return &gradient_[g_.K * (1 + g_.d) + k * g_.icf_width()]; }

    double prior()
    {
        double total = 0;
        const double square = g_.gamma * g_.gamma;
        for (std::size_t k = 0; k < g_.K; ++k) {
            const double* icf = &g_.icf[k * g_.icf_width()];
            double *out = icf_gradient(k), squares = 0;
            sum_q_[k] = 0;
            for (std::size_t i = 0; i < g_.icf_width(); ++i) {
                const double e = i < g_.d ? std::exp(icf[i]) : icf[i];
                if (i < g_.d) sum_q_[k] += icf[i], diagonal_[k * g_.d + i] = e;
                squares += e * e;
                out[i] = i < g_.d ? square * e * e - g_.m : square * e;
            }
            total += 0.5 * square * squares - g_.m * sum_q_[k];
        }
        return total;
    }

    /// rows = Q_k (x − μ_k), term = α_k + Σ q_k − ½ ‖rows‖²
    void distances(std::size_t k)
    {
        const std::size_t d = g_.d;
        const double *q = &diagonal_[k * d], *mu = &g_.mu[k * d];
        for (std::size_t i = 0; i < n_; i += S) {
            const double* lower = &g_.icf[k * g_.icf_width()] + d;
            double* rows = &rows_[k * d * n_];
            V squares(0.0);
            for (std::size_t r = 0; r < d; ++r) {
                V sum = V(q[r]) * (load(&x_[r * n_ + i]) - V(mu[r]));
                for (std::size_t j = 0; j < r; ++j)
                    sum = xsimd::fma(V(lower[j * (2 * d - j - 1) / 2 + r - j - 1]),
                                     load(&x_[j * n_ + i]) - V(mu[j]), sum);
                store(&rows[r * n_ + i], sum);
                squares = xsimd::fma(sum, sum, squares);
            }
            store(&term_[k * n_ + i], V(g_.alpha[k] + sum_q_[k]) - V(0.5) * squares);
        }
    }

    /// term becomes softmax over k; the loss gains Σ_i logsumexp_k
    void responsibilities()
    {
        V total(0.0);
        for (std::size_t i = 0; i < n_; i += S) {
            V top = load(&term_[i]), sum(0.0);
            for (std::size_t k = 1; k < g_.K; ++k) top = xsimd::max(top, load(&term_[k * n_ + i]));
            for (std::size_t k = 0; k < g_.K; ++k) {
                const V e = xsimd::exp(load(&term_[k * n_ + i]) - top);
                store(&term_[k * n_ + i], e), sum += e;
            }
            const V weight = load(&weight_[i]), scale = weight / sum;
            total += weight * (top + xsimd::log(sum));
            for (std::size_t k = 0; k < g_.K; ++k)
                store(&term_[k * n_ + i], V(load(&term_[k * n_ + i]) * scale));
        }
        loss_ += horizontal_sum(total);
    }

    /// With p the responsibilities: ᾱ = Σ p, Q̄ = −Σ p rows (x − μ)ᵀ, μ̄ = Qᵀ Σ p rows.
    void component_back(std::size_t k)
    {
        const std::size_t d = g_.d;
        const double *mu = &g_.mu[k * d], *p = &term_[k * n_], *lower = &g_.icf[k * g_.icf_width()] + d;
        double *icf = icf_gradient(k), *gmu = mu_gradient(k), total = sum(p);
        gradient_[k] += total;
        for (std::size_t r = 0; r < d; ++r) {
            double* row = &rows_[(k * d + r) * n_];
            for (std::size_t i = 0; i < n_; ++i) row[i] *= p[i];
            const double s = sum(row), q = diagonal_[k * d + r];
            icf[r] += total - q * (dot(row, &x_[r * n_]) - s * mu[r]);
            gmu[r] += q * s;
            for (std::size_t j = 0; j < r; ++j) {
                const std::size_t at = j * (2 * d - j - 1) / 2 + r - j - 1;
                icf[d + at] -= dot(row, &x_[j * n_]) - s * mu[j];
                gmu[j] += lower[at] * s;
            }
        }
    }

    void normalizer()
    {
        const double n = static_cast<double>(g_.n), total = logsumexp(g_.alpha.data(), g_.K);
        loss_ -= n * total;
        for (std::size_t k = 0; k < g_.K; ++k) gradient_[k] -= n * std::exp(g_.alpha[k] - total);
    }

    double sum(const double* a) const
    {
        V total(0.0);
        for (std::size_t i = 0; i < n_; i += S) total += load(a + i);
        return horizontal_sum(total);
    }

    double dot(const double* a, const double* b) const
    {
        V total(0.0);
        for (std::size_t i = 0; i < n_; i += S) total = xsimd::fma(load(a + i), load(b + i), total);
        return horizontal_sum(total);
    }

    GmmInstance g_;
    std::size_t n_;
    std::vector<double> x_, weight_, term_, rows_, diagonal_, sum_q_, gradient_;
    double loss_ = 0;
};

/// The floor is held to ADBench's own derivative, every other system to the floor.
Results checked(Results r)
{
    const Derivative d = read_expected(instance("gmm_d10_K25.expected.txt"));
    check({"gmm", "expected", "floor", nullptr, 1e-10}, r, {{d[0]}, Derivative(d.begin() + 1, d.end())});
    return r;
}

Case make_floor()
{
    auto floor = std::make_shared<GmmFloor>(read_gmm(instance("gmm_d10_K25.txt")));
    return {[floor] { floor->run(); }, [floor] { return checked(floor->results()); }};
}

Case make_plain()
{
    auto g = std::make_shared<GmmInstance>(read_gmm(instance("gmm_d10_K25.txt")));
    auto loss = std::make_shared<double>(0);
    return {[=] { *loss = plain_gmm(*g); }, [=] { return Results{{plain_gmm(*g)}}; }};
}

const bool added = add({"gmm", "d10_K25", "floor", make_floor, 1e-10}) &&
                   add({"gmm", "d10_K25", "plain", make_plain, 1e-10});

}  // namespace
}  // namespace bench
