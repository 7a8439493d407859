// The exponential of matrices.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "matrices.hpp"

namespace wengert::linalg {

namespace detail {

/// exp of one n × n matrix by scaling and squaring: with s the least integer that makes ‖A‖₁ / 2ˢ ≤ θₘ, exp(A / 2ˢ) is the diagonal
/// Padé approximant of degree m, which is squared s times. The error of it is that of a change of A by rounding (Higham 2005).
template <class T> class MatrixExponential {
public:
    explicit MatrixExponential(std::size_t n) : n_(n), odd_(n * n), even_(n * n), work_(n * n), pivots_(n) {}

    /// False where A is not finite.
    bool operator()(const T* a, T* y)
    {
        const double norm = one_norm(a);
        if (!std::isfinite(norm)) return false;
        constexpr bool single = std::numeric_limits<T>::digits <= 24;
        const double largest = single ? 3.925724783138660 : 5.371920351148152;  // θ₇ of float, θ₁₃ of double
        const int squarings = norm > largest ? std::ilogb(norm / largest) + 1 : 0;
        std::vector<T> x(a, a + n_ * n_);
        for (T& e : x) e = std::ldexp(e, -squarings);
        pade(single                         ? (norm <= 0.4258730016922831  ? 3
                                               : norm <= 1.880152677804762 ? 5
                                                                           : 7)
             : norm <= 1.495585217958292e-2 ? 3
             : norm <= 2.539398330063230e-1 ? 5
             : norm <= 9.504178996162932e-1 ? 7
             : norm <= 2.097847961257068    ? 9
                                            : 13,
             x, y);
        for (int i = 0; i < squarings; ++i) {
            multiply(y, y, work_.data());
            std::copy(work_.begin(), work_.end(), y);
        }
        return true;
    }

private:
    using Matrix = std::vector<T>;

    double one_norm(const T* a) const
    {
        double most = 0;
        for (std::size_t c = 0; c < n_; ++c) {
            double sum = 0;
            for (std::size_t r = 0; r < n_; ++r) sum += std::abs(static_cast<double>(a[r * n_ + c]));
            if (!(sum <= most)) most = sum;  // NaN, too
        }
        return most;
    }
    void multiply(const T* a, const T* b, T* c) const
    {
        kernels::gemm<T>(false, false, n_, n_, n_, T(1), a, n_, b, n_, T(0), c, n_);
    }
    void add(Matrix& to, double factor, const Matrix& x) const
    {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += static_cast<T>(factor) * x[i];
    }
    void add_unit(Matrix& to, double factor) const
    {
        for (std::size_t i = 0; i < n_; ++i) to[i * (n_ + 1)] += static_cast<T>(factor);
    }
    /// bⱼ = (2m − j)! m! / ((2m)! (m − j)! j!)
    static std::array<double, 14> coefficients(int m)
    {
        std::array<double, 14> b{1};
        for (int j = 1; j <= m; ++j)
            b[static_cast<std::size_t>(j)] =
                b[static_cast<std::size_t>(j - 1)] * (m - j + 1) / ((2 * m - j + 1.0) * j);
        return b;
    }
    /// y = (V − U)⁻¹ (V + U), U and V the odd and the even terms. Those of degree 13 share A², A⁴ and A⁶ (Higham 2005, (3.4)).
    void pade(int m, const Matrix& x, T* y)
    {
        const auto b = coefficients(m);
        const int powers = m == 13 ? 3 : m / 2;
        std::vector<Matrix> square(static_cast<std::size_t>(powers), Matrix(n_ * n_));
        for (std::size_t k = 0; k < square.size(); ++k)
            multiply(k == 0 ? x.data() : square[0].data(), k == 0 ? x.data() : square[k - 1].data(),
                     square[k].data());
        terms(b, 1, square, odd_, m == 13);
        multiply(x.data(), odd_.data(), work_.data());
        odd_ = work_;
        terms(b, 0, square, even_, m == 13);
        for (std::size_t i = 0; i < odd_.size(); ++i) {
            y[i] = even_[i] + odd_[i];
            work_[i] = even_[i] - odd_[i];
        }
        kernels::lapack::lu<T>(n_, n_, work_.data(), pivots_.data());
        kernels::lapack::solve_by_lu<T>(false, n_, n_, work_.data(), pivots_.data(), y);
    }
    /// Σ bⱼ Aʲ over even j, or Σ bⱼ Aʲ⁻¹ over odd ones.
    void terms(const std::array<double, 14>& b, std::size_t odd, const std::vector<Matrix>& square,
               Matrix& to, bool high)
    {
        std::fill(to.begin(), to.end(), T(0));
        if (high) {
            std::fill(work_.begin(), work_.end(), T(0));
            for (std::size_t k = 0; k < 3; ++k) add(work_, b[8 + 2 * k + odd], square[k]);
            multiply(square[2].data(), work_.data(), to.data());
        }
        for (std::size_t k = 0; k < square.size(); ++k) add(to, b[2 + 2 * k + odd], square[k]);
        add_unit(to, b[odd]);
    }

    std::size_t n_;
    Matrix odd_, even_, work_;
    std::vector<int> pivots_;
};

}  // namespace detail

/// y = e^A.  With L(A, E) the part on the right above of exp [A E; 0 A]:  ẏ = L(A, Ȧ);  Ā = L(Aᵀ, Ȳ).
/// Mathias 1996; Higham 2008, 10.6.
struct MatrixExp {
    static constexpr std::string_view name = "expm";
    static constexpr unsigned saves = 0b01;
    template <class T> Ref<Block> value(const Ref<Block>& of, const Site& at) const
    {
        const Ref<Block> a = contiguous(of);
        const detail::Matrices m(a->shape);
        auto y = make_block(dtype_of<T>(), a->shape);
        detail::MatrixExponential<T> exponential(m.rows);
        for (std::size_t i = 0; i < m.count; ++i)
            if (!exponential(a->template as<T>() + i * m.size(), y->template as<T>() + i * m.size()))
                detail::refuse(name, *a, "an element" + detail::which(i, m.count) + " is not finite", at);
        return y;
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& a, const Tensor<T>&) const
    {
        return along(detail::transposed(a), g);
    }
    template <class T> Tensor<T> push(const Tensor<T>& da, const Tensor<T>& a, const Tensor<T>&) const
    {
        return along(a, da);
    }

private:
    template <class T> static Tensor<T> along(const Tensor<T>& a, const Tensor<T>& e)
    {
        const std::int64_t n = a.shape().back();
        const Tensor<T> above = concatenate({a, e}, -1, Site{}),
                        below = concatenate({zeros_like(a, Site{}), a}, -1, Site{});
        const Tensor<T> y = apply<MatrixExp, T>({}, Site{}, concatenate({above, below}, -2, Site{}));
        return detail::part(detail::part(y, -2, 0, n), -1, n, n);
    }
};

/// e^A = Σ Aᵏ / k!, by scaling and squaring with Padé approximants (Higham 2005). Throws NumericError where A is not finite.
template <Differentiable T, class D>
Tensor<T, D> expm(const Tensor<T, D>& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("expm", a, at);
    return apply<MatrixExp, T>({}, at, a);
}

}  // namespace wengert::linalg
