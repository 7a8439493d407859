// wengert_solvers: linear algebra, filters and stiff equations beside the same by hand over LAPACK, milliseconds a call: by hand,
// frozen (the better of tiles and native code), and their ratio. Least of several calls, in turn; short calls are some in a row. Results
// are compared.
// With a folder it also writes inputs and results there, which solvers_xla.py reads.

#include <algorithm>
#include <array>
#include <cblas.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <lapacke.h>
#include <string>
#include <vector>
#include <wengert/graph/native/native.hpp>
#include <wengert/implicit.hpp>
#include <wengert/linalg.hpp>
#include <wengert/scalar.hpp>
#include <wengert/wengert.hpp>

#include "solvers_chain.hpp"

extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace wg = wengert;
namespace la = wengert::linalg;
using D = wg::Tensor<double>;

namespace {

double milliseconds(const std::function<void()>& f)
{
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// The least of several calls in a row where they are short, as a loop of a user's has them.
double least(const std::function<void()>& f)
{
    double best = milliseconds(f);
    for (int k = 0; k < 8 && best < 0.5; ++k) best = std::min(best, milliseconds(f));
    return best;
}

Numbers numbers(const D& x)
{
    const D c = copy(x);
    return Numbers(c.data(), c.data() + c.size());
}

bool good = true;

std::string folder;  // where keep() writes

void keep(const char* name, const Numbers& x)
{
    if (folder.empty()) return;
    std::ofstream file(folder + "/" + name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(x.data()), static_cast<std::streamsize>(8 * x.size()));
    good = good && file;
}

/// One row: by hand, into the same memory each time, and f, frozen, of x; both give the same numbers.
template <class X, class F>
void row(const char* what, const X& x, const F& f, const std::function<void(Numbers&)>& by_hand,
         int rounds = 15)
{
    auto tiles = wg::freeze(f, {.check = false}),
         native = wg::freeze(f, {.backend = wg::native, .check = false});
    double best[3] = {1e99, 1e99, 1e99};
    D y;
    Numbers hand;
    for (int k = 0; k < rounds; ++k) {  // the first call traces
        best[0] = std::min(best[0], least([&] { by_hand(hand); }));
        best[1] = std::min(best[1], least([&] { y = tiles(x); }));
        best[2] = std::min(best[2], least([&] { y = native(x); }));
    }
    const Numbers found = numbers(y);
    double wrong = found.size() == hand.size() ? 0 : HUGE_VAL, size = 0;
    for (std::size_t i = 0; i < std::min(hand.size(), found.size()); ++i) {
        wrong = std::max(wrong, std::abs(found[i] - hand[i]));
        size = std::max(size, std::abs(hand[i]));
    }
    const bool same = wrong <= 1e-6 * size;
    good = good && same;
    const double own = std::min(best[1], best[2]);
    std::printf("%-52s %10.4f %10.4f %8.2f%s\n", what, best[0], own, own / best[0], same ? "" : "  differs");
    std::fflush(stdout);
}

lapack_int order(std::size_t n) { return static_cast<lapack_int>(n); }

void factorize(Numbers& a, std::size_t n)
{
    LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', order(n), a.data(), order(n));
}

/// −ln likelihood and its gradient by (size, length, noise), which are logarithms.
Numbers gaussian_process(const Numbers& x, const Numbers& y, const Numbers& p)
{
    const std::size_t n = x.size();
    const double s = std::exp(2 * p[0]), l = std::exp(-2 * p[1]), r = std::exp(2 * p[2]);
    Numbers k(n * n), by_length(n * n), w = y;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            const double d = (x[i] - x[j]) * (x[i] - x[j]) * l;
            k[i * n + j] = s * std::exp(-0.5 * d);
            by_length[i * n + j] = k[i * n + j] * d;
        }
    Numbers c = k;
    for (std::size_t i = 0; i < n; ++i) c[i * n + i] += r;
    factorize(c, n);
    double value = 0;
    for (std::size_t i = 0; i < n; ++i) value += std::log(c[i * n + i]);
    LAPACKE_dpotrs(LAPACK_ROW_MAJOR, 'L', order(n), 1, c.data(), order(n), w.data(), 1);
    LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', order(n), c.data(), order(n));
    Numbers g(3);
    for (std::size_t i = 0; i < n; ++i) {
        value += 0.5 * y[i] * w[i];
        for (std::size_t j = 0; j <= i; ++j) {  // ½ (K⁻¹ − w wᵀ) : dK, twice below the diagonal
            const double h = (i == j ? 0.5 : 1.0) * (c[i * n + j] - w[i] * w[j]);
            g[0] += 2 * h * k[i * n + j];
            g[1] += h * by_length[i * n + j];
            if (i == j) g[2] += 2 * h * r;
        }
    }
    return {value, g[0], g[1], g[2]};
}

void gaussian_processes()
{
    const D x = wg::uniform<double>(wg::Key(1), {200}, 0.0, 10.0),
            y = sin(x) + 0.1 * wg::normal<double>(wg::Key(2), {200});
    const D squares = square(expand_dims(x, 1) - x), p = {0.1, 0.2, -1.5};
    const auto loss = [=](const D& q) {
        const D k =
            exp(2.0 * q(0) - 0.5 * squares * exp(-2.0 * q(1))) + exp(2.0 * q(2)) * wg::eye<double>(200);
        const D l = la::cholesky(k);
        return 0.5 * sum(y * la::cho_solve(l, y)) + sum(log(diagonal(l)));
    };
    const auto both = [=](const D& q) {
        const auto [v, g] = wg::value_and_grad(loss)(q);
        return wg::concatenate({expand_dims(v, 0), g}, 0);
    };
    const Numbers xs = numbers(x), ys = numbers(y), ps = numbers(p);
    keep("gp_x", xs), keep("gp_y", ys), keep("gp_p", ps), keep("gp_result", gaussian_process(xs, ys, ps));
    row("Gaussian process, 200 points, value and gradient", p, both,
        [=](Numbers& y) { y = gaussian_process(xs, ys, ps); });
}

D definite(std::size_t batch, std::size_t n)
{
    const D a = wg::normal<double>(wg::Key(3), {batch, n, n});
    return matmul(a, swapaxes(a, -1, -2)) + double(n) * wg::eye<double>(n);
}

void factorizations(std::size_t batch, std::size_t n)
{
    const std::string of =
        batch == 1 ? std::to_string(n) : std::to_string(batch) + " of " + std::to_string(n);
    const D a = definite(batch, n), b = wg::normal<double>(wg::Key(4), {batch, n, 1});
    const Numbers as = numbers(a), bs = numbers(b);
    const auto each = [=](Numbers& all, const auto& f) {
        all = as;
        for (std::size_t i = 0; i < batch; ++i) f(i, all.data() + i * n * n);
    };
    const auto factor = [=](double* x) { LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', order(n), x, order(n)); };
    row(("cholesky " + of).c_str(), a, [](const D& x) { return la::cholesky(x); },
        [=](Numbers& y) {
            each(y, [=](std::size_t, double* x) {
                factor(x);
                for (std::size_t i = 0; i < n; ++i) std::fill(x + i * n + i + 1, x + (i + 1) * n, 0.0);
            });
        });
    // of Σ L: sym(L⁻ᵀ Φ(Lᵀ L̄) L⁻¹), the least work that LAPACK and BLAS do it with
    row(("cholesky " + of + ", gradient").c_str(), a,
        wg::grad([](const D& x) { return sum(la::cholesky(x)); }),
        [=, all = Numbers()](Numbers& result) mutable {
            result.resize(batch * n * n);
            each(all, [&](std::size_t i, double* l) {
                double* const m = result.data() + i * n * n;
                factor(l);
                for (std::size_t r = 0; r < n; ++r)
                    for (std::size_t c = 0; c < n; ++c) m[r * n + c] = c <= r ? 1.0 : 0.0;
                const int k = static_cast<int>(n);
                cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, k, k, 1.0, l, k,
                            m, k);
                for (std::size_t r = 0; r < n; ++r) {
                    m[r * n + r] *= 0.5;
                    std::fill(m + r * n + r + 1, m + (r + 1) * n, 0.0);
                }
                cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, k, k, 1.0, l, k,
                            m, k);
                cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, k, k, 1.0, l,
                            k, m, k);
                for (std::size_t r = 0; r < n; ++r)
                    for (std::size_t c = 0; c < r; ++c)
                        m[r * n + c] = m[c * n + r] = 0.5 * (m[r * n + c] + m[c * n + r]);
            });
        });
    const auto solve = [=](double* x, double* y, std::vector<lapack_int>& pivots) {
        LAPACKE_dgetrf(LAPACK_COL_MAJOR, order(n), order(n), x, order(n), pivots.data());
        LAPACKE_dgetrs(LAPACK_COL_MAJOR, 'T', order(n), 1, x, order(n), pivots.data(), y, order(n));
    };
    row(("solve " + of).c_str(), a, [=](const D& x) { return la::solve(x, b); },
        [=, all = Numbers()](Numbers& y) mutable {
            y = bs;
            std::vector<lapack_int> pivots(n);
            each(all, [&](std::size_t i, double* x) { solve(x, y.data() + i * n, pivots); });
        });
    row(("solve " + of + ", gradient").c_str(), a, wg::grad([=](const D& x) { return sum(la::solve(x, b)); }),
        [=, all = Numbers(), y = Numbers()](Numbers& result) mutable {
            y = bs;
            Numbers h(batch * n, 1.0);
            result.resize(batch * n * n);
            std::vector<lapack_int> pivots(n);
            each(all, [&](std::size_t i, double* x) {
                solve(x, y.data() + i * n, pivots);
                LAPACKE_dgetrs(LAPACK_COL_MAJOR, 'N', order(n), 1, x, order(n), pivots.data(),
                               h.data() + i * n, order(n));
                for (std::size_t r = 0; r < n; ++r)
                    for (std::size_t c = 0; c < n; ++c)
                        result[(i * n + r) * n + c] = -h[i * n + r] * y[i * n + c];
            });
        });
}

void small_matrices()
{
    constexpr std::size_t batch = 100'000;
    const D a = wg::normal<double>(wg::Key(5), {batch, 3, 3}) + 4.0 * wg::eye<double>(3),
            b = wg::normal<double>(wg::Key(6), {batch, 3, 3}),
            r = wg::normal<double>(wg::Key(7), {batch, 3, 1});
    const Numbers as = numbers(a), bs = numbers(b), rs = numbers(r);
    row(
        "10⁵ products 3×3", a, [=](const D& x) { return matmul(x, b); },
        [=](Numbers& c) {
            c.resize(9 * batch);
            for (std::size_t i = 0; i < batch; ++i) {
                const double *x = &as[9 * i], *y = &bs[9 * i];
                for (int j = 0; j < 3; ++j)
                    for (int k = 0; k < 3; ++k)
                        c[9 * i + 3 * j + k] =
                            x[3 * j] * y[k] + x[3 * j + 1] * y[3 + k] + x[3 * j + 2] * y[6 + k];
            }
        });
    row(
        "10⁵ solves 3×3", a, [=](const D& x) { return la::solve(x, r); },
        [=](Numbers& c) {
            c.resize(3 * batch);
            for (std::size_t i = 0; i < batch; ++i) {  // Cramer's rule
                const double *m = &as[9 * i], *y = &rs[3 * i];
                const double u = m[4] * m[8] - m[5] * m[7], v = m[5] * m[6] - m[3] * m[8],
                             w = m[3] * m[7] - m[4] * m[6];
                const double d = 1 / (m[0] * u + m[1] * v + m[2] * w);
                c[3 * i] =
                    d * (u * y[0] + (m[2] * m[7] - m[1] * m[8]) * y[1] + (m[1] * m[5] - m[2] * m[4]) * y[2]);
                c[3 * i + 1] =
                    d * (v * y[0] + (m[0] * m[8] - m[2] * m[6]) * y[1] + (m[2] * m[3] - m[0] * m[5]) * y[2]);
                c[3 * i + 2] =
                    d * (w * y[0] + (m[1] * m[6] - m[0] * m[7]) * y[1] + (m[0] * m[4] - m[1] * m[3]) * y[2]);
            }
        });
}

/// The Jacobian of 100 outputs in 30 inputs.
void chain()
{
    const D at =
        wg::concatenate({wg::normal<double>(wg::Key(10), {points, 3}), wg::ones<double>({points, 1})}, 1);
    const auto f = [=](const D& angles) {
        const D q = transpose(reshape(angles, {joints, 3})), c = cos(q), s = sin(q);
        const D one = wg::ones<double>({joints}), zero = wg::zeros<double>({joints});
        const auto matrices = [](const std::vector<D>& elements) {
            return reshape(wg::stack(elements, 1), {joints, 3, 3});
        };
        const D x = matrices({one, zero, zero, zero, c(0), -s(0), zero, s(0), c(0)}),
                y = matrices({c(1), zero, s(1), zero, one, zero, -s(1), zero, c(1)}),
                z = matrices({c(2), -s(2), zero, s(2), c(2), zero, zero, zero, one});
        const D offset = D{{0.3}, {0.0}, {0.0}} + wg::zeros<double>({joints, 3, 1}),
                last = D{{0.0, 0.0, 0.0, 1.0}} + wg::zeros<double>({joints, 1, 4});
        const D a = wg::concatenate({wg::concatenate({matmul(matmul(z, y), x), offset}, 2), last}, 1);
        std::vector<D> all;
        D t = a(0);
        for (std::size_t j = 0, point = 0; j < joints; ++j) {
            if (j > 0) t = matmul(t, a(j));
            const std::size_t first = point;
            while (point < points && joint_of(point) == j) ++point;
            const D on_it = wg::view(at, wg::range(std::int64_t(first), std::int64_t(point)));
            all.push_back(wg::transpose(matmul(t, wg::transpose(on_it))));
        }
        return reshape(wg::concatenate(all, 0), {4 * points});
    };
    const D angles = wg::uniform<double>(wg::Key(11), {3 * joints}, -1.0, 1.0);
    const Numbers as = numbers(angles), ats = numbers(at);
    const auto columns = [=](const D& q) {
        return transpose(
            wg::vmap([=](const D& u) { return wg::jvp(f, q, u).second; })(wg::eye<double>(3 * joints)));
    };
    const auto by_hand = [=](Numbers& y) { chain_by_hand(as, ats, y); };
    row("Jacobian of a chain of joints, 100 by 30", angles, columns, by_hand, 200);
    const auto of_reals = [=](const std::vector<wg::Real<double>>& q) { return chain_of(q, ats); };
    row("the same of reals", std::vector<wg::Real<double>>(as.begin(), as.end()), wg::jacobian(of_reals),
        by_hand, 500);
}

constexpr std::size_t states = 20, filter_steps = 1000;

/// A filter of one measurement a step, by hand: −ln likelihood by the transition A, forward and its adjoint.
Numbers kalman_by_hand(const Numbers& a, const Numbers& z)
{
    constexpr int n = static_cast<int>(states);
    constexpr std::size_t nn = states * states;
    const auto times = [](auto ta, auto tb, double scale, const double* x, const double* y, double more,
                          double* to) {
        cblas_dgemm(CblasRowMajor, ta, tb, n, n, n, scale, x, n, y, n, more, to, n);
    };
    Numbers ms((filter_steps + 1) * states), ps((filter_steps + 1) * nn), priors(filter_steps * nn),
        means(filter_steps * states), t(nn);
    for (std::size_t i = 0; i < states; ++i) ps[i * (states + 1)] = 1;
    double loss = 0;
    for (std::size_t k = 0; k < filter_steps; ++k) {
        const double *p0 = &ps[k * nn], *m0 = &ms[k * states];
        double *p = &priors[k * nn], *m = &means[k * states], *p1 = &ps[(k + 1) * nn],
               *m1 = &ms[(k + 1) * states];
        times(CblasNoTrans, CblasNoTrans, 1, a.data(), p0, 0, t.data());
        times(CblasNoTrans, CblasTrans, 1, t.data(), a.data(), 0, p);
        for (std::size_t i = 0; i < states; ++i) p[i * (states + 1)] += 0.1;
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, n, 1, a.data(), n, m0, 1, 0, m, 1);
        const double s = p[0] + 0.5, e = z[k] - m[0];  // the first state is measured
        loss += 0.5 * (std::log(s) + e * e / s);
        for (std::size_t i = 0; i < states; ++i) {
            m1[i] = m[i] + p[i * states] * e / s;
            for (std::size_t j = 0; j < states; ++j)
                p1[i * states + j] = p[i * states + j] - p[i * states] * p[j * states] / s;
        }
    }
    Numbers da(nn), dm(states), dp(nn), gp(nn), gm(states);
    for (std::size_t k = filter_steps; k-- > 0;) {
        const double *p = &priors[k * nn], *m = &means[k * states], *p0 = &ps[k * nn], *m0 = &ms[k * states];
        const double s = p[0] + 0.5, e = z[k] - m[0];
        double de = e / s, ds = 0.5 * (1 / s - e * e / (s * s));
        gp = dp, gm = dm;
        for (std::size_t i = 0; i < states; ++i) {
            double dk = gm[i] * e / s;
            de += gm[i] * p[i * states] / s;
            ds -= gm[i] * p[i * states] * e / (s * s);
            for (std::size_t j = 0; j < states; ++j) {
                dk -= (dp[i * states + j] + dp[j * states + i]) * p[j * states] / s;
                ds += dp[i * states + j] * p[i * states] * p[j * states] / (s * s);
            }
            gp[i * states] += dk;
        }
        gp[0] += ds, gm[0] -= de;
        // prior = A P Aᵀ: Ā += Ḡ A Pᵀ + Ḡᵀ A P, P̄ = Aᵀ Ḡ A
        for (std::size_t i = 0; i < states; ++i)
            for (std::size_t j = 0; j < states; ++j)
                t[i * states + j] = gp[i * states + j] + gp[j * states + i];
        Numbers u(nn);
        times(CblasNoTrans, CblasNoTrans, 1, t.data(), a.data(), 0, u.data());
        times(CblasNoTrans, CblasNoTrans, 1, u.data(), p0, 1, da.data());
        times(CblasTrans, CblasNoTrans, 0.5, a.data(), u.data(), 0, dp.data());
        cblas_dger(CblasRowMajor, n, n, 1, gm.data(), 1, m0, 1, da.data(), n);
        cblas_dgemv(CblasRowMajor, CblasTrans, n, n, 1, a.data(), n, gm.data(), 1, 0, dm.data(), 1);
    }
    da.insert(da.begin(), loss);
    return da;
}

void kalman()
{
    const D a = 0.9 * wg::eye<double>(states) +
                0.05 * wg::normal<double>(wg::Key(8), {states, states}) / std::sqrt(double(states)),
            z = wg::normal<double>(wg::Key(9), {filter_steps});
    struct Belief {
        D mean, covariance, loss;
    };
    const auto loss = [=](const D& t) {
        const auto step = [&](const Belief& b, const D& measured) {
            const D p = matmul(matmul(t, b.covariance), transpose(t)) + 0.1 * wg::eye<double>(states),
                    m = matmul(t, b.mean);
            const D column = p(0), s = column(0) + 0.5, e = measured - m(0);
            return std::pair(Belief{m + column * (e / s), p - expand_dims(column, 1) * column / s,
                                    b.loss + 0.5 * (log(s) + e * e / s)},
                             std::tuple<>());
        };
        return wg::scan(step, Belief{wg::zeros<double>({states}), wg::eye<double>(states), D(0.0)}, z)
            .first.loss;
    };
    const auto both = [=](const D& t) {
        const auto [v, g] = wg::value_and_grad(loss)(t);
        return wg::concatenate({expand_dims(v, 0), reshape(g, {states * states})}, 0);
    };
    const Numbers as = numbers(a), zs = numbers(z);
    keep("kalman_a", as), keep("kalman_z", zs), keep("kalman_result", kalman_by_hand(as, zs));
    row(
        "Kalman filter, 20 states, 1,000 steps, value and gradient", a, both,
        [=](Numbers& y) { y = kalman_by_hand(as, zs); }, 5);
}

/// Reaction and diffusion on a ring of 100 cells: the value and its gradient.
void stiff()
{
    const D y0 = 0.5 + 0.4 * sin(wg::linspace<double>(0.0, 6.2, 100)), p = {100.0, 5.0};
    const auto report = std::make_shared<wg::SolverReport>();
    const auto f = [](const D& y, const D&, const D& q) {
        return q(0) * (roll(y, 1, 0) + roll(y, -1, 0) - 2.0 * y) + q(1) * y * (1.0 - y * y);
    };
    const auto loss = [=](const D& q) {
        return sum(square(
            wg::odeint(f, y0, D{0.0, 1.0}, q, {.method = wg::OdeMethod::rosenbrock, .report = report})(1)));
    };
    const auto value = wg::freeze(loss);
    const auto slope = wg::freeze(wg::grad(loss));
    Numbers result = numbers(wg::grad(loss)(p));
    result.insert(result.begin(), loss(p).item());
    keep("stiff_p", numbers(p)), keep("stiff_result", result);
    double best[4] = {1e99, 1e99, 1e99, 1e99};
    for (int k = 0; k < 5; ++k) {
        best[0] = std::min(best[0], milliseconds([&] { value(p); }));
        best[1] = std::min(best[1], milliseconds([&] { slope(p); }));
        best[2] = std::min(best[2], milliseconds([&] { loss(p); }));
        best[3] = std::min(best[3], milliseconds([&] { wg::grad(loss)(p); }));
    }
    std::printf("%-52s %10.4f %10.4f %8.2f\n", "odeint, 100 stiff equations, frozen", best[0], best[1],
                best[1] / best[0]);
    std::printf("%-52s %10.4f %10.4f %8.2f\n", "odeint, 100 stiff equations, eager", best[2], best[3],
                best[3] / best[2]);
    std::printf("(%lld steps, %lld rejected)\n", static_cast<long long>(report->iterations),
                static_cast<long long>(report->rejected));
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc > 1) folder = argv[1];
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    std::printf("%-52s %10s %10s %8s\n", "ms a call", "by hand", "frozen", "times");
    gaussian_processes();
    factorizations(1, 256);
    factorizations(64, 16);
    small_matrices();
    chain();
    kalman();
    stiff();
    return good ? 0 : 1;
}
