// Eigenvalues of general matrices, which are complex.
#pragma once

#include <numeric>

#include "complex_solve.hpp"

namespace wengert::linalg {

/// A V = V diag(w), packed for each matrix: w by (real part, imaginary part) ascending, V row by row, and for each value |wᵢᴴ vᵢ| of
/// left and right vectors of length 1, the reciprocal of its condition number. Complex numbers by their parts. `real`: A's imaginary
/// parts are 0, so that complex values come in exact pairs.
struct EigFactor {
    static constexpr std::string_view name = "eig";
    static constexpr bool flat = true;  // what reads it has the derivative with respect to A
    bool real;

    static std::size_t length(std::size_t n) { return 2 * n + 2 * n * n + n; }
    template <class T> Ref<Block> value(const Ref<Block>& of, const Site& at) const
    {
        detail::demand_finite(name, *of, at);
        const Ref<Block> a = contiguous(of);
        const Shape shape(a->shape.data(), a->shape.size() - 1);
        const detail::Matrices m(shape);
        auto packed = make_block(dtype_of<T>(), detail::vectors_like(shape, length(m.rows)));
        for (std::size_t i = 0; i < m.count && m.rows > 0; ++i)
            if (factor(m.rows, a->template as<T>() + i * 2 * m.size(),
                       packed->template as<T>() + i * length(m.rows)))
                detail::refuse(name, *of, "did not converge" + detail::which(i, m.count), at);
        return packed;
    }

private:
    template <class T> int factor(std::size_t n, const T* a, T* y) const
    {
        using C = std::complex<T>;
        std::vector<C> w(n), left(n * n), right(n * n);
        const int failed = real ? of_real(n, a, w, left, right) : of_complex(n, a, w, left, right);
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
            return std::pair(w[i].real(), w[i].imag()) < std::pair(w[j].real(), w[j].imag());
        });
        C *const values = reinterpret_cast<C*>(y), *const vectors = values + n;
        T* const cosines = y + 2 * n + 2 * n * n;
        for (std::size_t j = 0; j < n; ++j) {
            const std::size_t from = order[j];
            values[j] = w[from];
            C s = 0;
            for (std::size_t i = 0; i < n; ++i) {
                vectors[i * n + j] = right[from * n + i];
                s += std::conj(left[from * n + i]) * right[from * n + i];
            }
            cosines[j] = std::abs(s);
        }
        return failed;
    }
    template <class T, class C = std::complex<T>>
    static int of_complex(std::size_t n, const T* a, std::vector<C>& w, std::vector<C>& left,
                          std::vector<C>& right)
    {
        std::vector<C> columns(n * n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) columns[j * n + i] = reinterpret_cast<const C*>(a)[i * n + j];
        const auto as = [](std::vector<C>& x) { return reinterpret_cast<T*>(x.data()); };
        return kernels::lapack::complex_eig<T>(n, as(columns), as(w), as(left), as(right));
    }
    /// LAPACK gives the vectors of a pair of values as real and imaginary part of the first one.
    template <class T, class C = std::complex<T>>
    static int of_real(std::size_t n, const T* a, std::vector<C>& w, std::vector<C>& left,
                       std::vector<C>& right)
    {
        std::vector<T> columns(n * n), parts(2 * n), l(n * n), r(n * n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) columns[j * n + i] = a[2 * (i * n + j)];
        const int failed = kernels::lapack::eig<T>(n, columns.data(), parts.data(), l.data(), r.data());
        for (std::size_t j = 0; j < n; ++j) {
            w[j] = C(parts[j], parts[n + j]);
            const std::size_t first = parts[n + j] < 0 && j > 0 ? j - 1 : j;
            const T sign = parts[n + j] < 0 ? T(-1) : T(1);
            const bool pair = parts[n + j] != 0;
            for (std::size_t i = 0; i < n; ++i) {
                left[j * n + i] = C(l[first * n + i], pair ? sign * l[(first + 1) * n + i] : T(0));
                right[j * n + i] = C(r[first * n + i], pair ? sign * r[(first + 1) * n + i] : T(0));
            }
        }
        return failed;
    }
};

/// V of (packed, parts of A), for derivatives alone. With Fᵢⱼ = 1 / (wⱼ − wᵢ) off the diagonal:  V̇ = V (F ∘ V⁻¹ Ȧ V);
/// Ā = V⁻ᴴ (conj F ∘ Vᴴ V̄) Vᴴ.  That is V up to a factor for each column, which no derivative of the values depends on. Throws NumericError
/// where a value has no derivative: it is equal to another one, or the matrix is defective, to working precision.
struct EigVectors {
    static constexpr std::string_view name = "eig";
    static constexpr unsigned saves = 0b111;
    static constexpr bool unaudited = true;  // the factors of the columns are LAPACK's choice
    template <class T> Ref<Block> value(const Ref<Block>& of, const Ref<Block>& a, const Site& at) const
    {
        const Ref<Block> packed = contiguous(of);
        const Shape shape(a->shape.data(), a->shape.size() - 1);
        const detail::Matrices m(shape);
        auto v = make_block(dtype_of<T>(), a->shape);
        for (std::size_t i = 0; i < m.count && m.rows > 0; ++i) {
            const T* const from = packed->template as<T>() + i * EigFactor::length(m.rows);
            demand_distinct(*a, m, i, from, at);
            std::copy_n(from + 2 * m.rows, 2 * m.size(), v->template as<T>() + i * 2 * m.size());
        }
        return v;
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>& v) const;
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>& v) const;

private:
    /// The derivative's error is about ε ‖A‖ / (gap · |wᵢᴴ vᵢ|): Golub & Van Loan 2013, 7.2.
    template <class T>
    static void demand_distinct(const Block& a, const detail::Matrices& m, std::size_t matrix,
                                const T* packed, const Site& at)
    {
        using C = std::complex<T>;
        const std::size_t n = m.rows;
        const C* const w = reinterpret_cast<const C*>(packed);
        const T* const cosines = packed + 2 * n + 2 * n * n;
        T most = 0;
        for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(w[i]));
        const T unit = T(16) * static_cast<T>(n) * std::numeric_limits<T>::epsilon();
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (std::abs(w[i] - w[j]) * std::min(cosines[i], cosines[j]) <= unit * most)
                    detail::refuse(name, a,
                                   "eigenvalues " + std::to_string(j) + " and " + std::to_string(i) +
                                       detail::which(matrix, m.count) +
                                       " are equal to working precision, or the matrix is defective: they "
                                       "have no derivative",
                                   at);
    }
};

/// w of (packed, parts of A).  ẇᵢ = wᵢᴴ Ȧ vᵢ / wᵢᴴ vᵢ, that is diag(V⁻¹ Ȧ V);  Ā = V⁻ᴴ diag(w̄) Vᴴ.  Magnus 1985; Giles 2008.
struct GeneralEigenvalues {
    static constexpr std::string_view name = "eig";
    static constexpr unsigned saves = 0b011;
    template <class T> Ref<Block> value(const Ref<Block>& packed, const Ref<Block>& a, const Site&) const
    {
        const auto n = static_cast<std::size_t>(a->shape[a->shape.size() - 2]);
        const Ref<Block> w = detail::unpacked_vectors(packed, 0, 2 * n);
        Shape shape(a->shape.data(), a->shape.size() - 1);
        shape.back() = 2;
        shape[shape.size() - 2] = static_cast<std::int64_t>(n);
        return make_view(contiguous(w), shape, nullptr, 0);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a, const Tensor<T>&) const
    {
        const auto vh = adjoint(detail::as_complex(apply<EigVectors, T>({}, Site{}, f, a)), Site{});
        return solve(vh, expand_dims(detail::as_complex(g), -1, Site{}) * vh, Site{}).parts();
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>&) const
    {
        const auto v = detail::as_complex(apply<EigVectors, T>({}, Site{}, f, a));
        const auto inner = solve(v, matmul(detail::as_complex(da), v, Site{}), Site{});
        const Tensor<T> unit = expand_dims(detail::unit_beside(real(inner)), -1, Site{});
        return sum(inner.parts() * unit, Axes{-2}, false, Site{});
    }
};

namespace detail {
/// F of the eigenvectors' rules.
template <class T> Tensor<std::complex<T>> eig_quotients(const Tensor<T>& f, const Tensor<T>& a)
{
    const auto w = as_complex(apply<GeneralEigenvalues, T>({}, Site{}, f, a));
    const auto distance = expand_dims(w, -2, Site{}) - expand_dims(w, -1, Site{});
    const Tensor<T> unit = unit_beside(real(distance));
    return (T(1) - unit) / (distance + unit);
}
}  // namespace detail

template <class T>
Tensor<T> EigVectors::pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& f, const Tensor<T>& a,
                           const Tensor<T>& v) const
{
    const auto vh = adjoint(detail::as_complex(v), Site{});
    const auto inner = conj(detail::eig_quotients(f, a), Site{}) * matmul(vh, detail::as_complex(g), Site{});
    return solve(vh, matmul(inner, vh, Site{}), Site{}).parts();
}
template <class T>
Tensor<T> EigVectors::push(const Tensor<T>&, const Tensor<T>& da, const Tensor<T>& f, const Tensor<T>& a,
                           const Tensor<T>& v) const
{
    const auto z = detail::as_complex(v);
    const auto inner = solve(z, matmul(detail::as_complex(da), z, Site{}), Site{});
    return matmul(z, detail::eig_quotients(f, a) * inner, Site{}).parts();
}

namespace detail {
template <class T, class D>
Tensor<std::complex<T>, D> eig_of(const Tensor<std::complex<T>, D>& a, bool real, const Site& at)
{
    demand_complex_square("eig", a, at);
    const Tensor<T, D> f = apply<EigFactor, T>({real}, at, a.parts());
    return as_complex(apply<GeneralEigenvalues, T>({}, at, f, a.parts()));
}
}  // namespace detail

/// The eigenvalues of general matrices, ascending by real part, then by imaginary part. Derivatives throw NumericError where
/// values are equal to working precision or the matrix is defective. Throws ShapeError, and NumericError where A is not finite.
template <class T, class D>
Tensor<std::complex<T>, D> eig(const Tensor<std::complex<T>, D>& a,
                               Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::eig_of(a, false, at);
}
template <Differentiable T, class D>
Tensor<std::complex<T>, D> eig(const Tensor<T, D>& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    detail::demand_square("eig", a, at);
    return detail::eig_of(cast<std::complex<T>>(a, at), true, at);
}

}  // namespace wengert::linalg
