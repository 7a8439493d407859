// Quotients by distances of eigenvalues and by singular values: the one place where derivatives of vectors have a pole.
#pragma once

#include "matrices.hpp"

namespace wengert::linalg {

/// What a quotient divides by: hⱼ − hᵢ of eigenvalues, sⱼ² − sᵢ² of singular values, or sⱼ alone.
enum class Divisor { eigenvalues, squares, singular_values };

/// qᵢⱼ = nᵢⱼ / dᵢⱼ(w), 0 where nᵢⱼ is 0 and where i = j of a difference. Throws NumericError where dᵢⱼ is not known to any digit,
/// |wⱼ − wᵢ| ≤ 16 n ε max |w|, and nᵢⱼ is not 0.
/// n̄ = ȳ / d;  ṅ and ẇ give (ṅ − q ḋ) / d;  w̄ from q ȳ / d by the transpose of ḋ.
template <Divisor divisor> struct Quotients {
    static constexpr std::string_view name = divisor == Divisor::eigenvalues ? "eigh" : "svd";
    static constexpr unsigned saves = 0b110;

    template <class T> Ref<Block> value(const Ref<Block>& of, const Ref<Block>& by, const Site& at) const
    {
        const Ref<Block> numerators = contiguous(of), values = contiguous(by);
        const detail::Matrices m(numerators->shape);
        auto q = make_block(dtype_of<T>(), numerators->shape);
        for (std::size_t i = 0; i < m.count; ++i) {
            const T *const x = numerators->template as<T>() + i * m.size(), *const w =
                                                                                values->template as<T>() +
                                                                                i * m.columns;
            T* const y = q->template as<T>() + i * m.size();
            T most = 0;
            for (std::size_t j = 0; j < m.columns; ++j) most = std::max(most, std::abs(w[j]));
            const T least = T(16) * static_cast<T>(m.columns) * std::numeric_limits<T>::epsilon() * most;
            for (std::size_t k = 0; k < m.size(); ++k) {
                const std::size_t r = k / m.columns, c = k % m.columns;
                y[k] = T(0);
                if (x[k] == T(0) || (differs && r == c)) continue;
                const T distance = differs ? w[c] - w[r] : w[c];
                if (std::abs(distance) <= least) refuse_pole(*numerators, r, c, w, i, m.count, at);
                y[k] = x[k] / (divisor == Divisor::squares ? distance * (w[c] + w[r]) : distance);
            }
        }
        return q;
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& w, const Tensor<T>&) const
    {
        return apply<Quotients, T>({}, Site{}, g, w);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& w, const Tensor<T>& q) const
    {
        const Tensor<T> p = apply<Quotients, T>({}, Site{}, g * q, w);
        Tensor<T> d = -sum(p, Axes{-2}, false, Site{});
        if constexpr (differs) d = d + sum(p, Axes{-1}, false, Site{});
        return divisor == Divisor::squares ? d * w * T(2) : d;
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dn, const Tensor<T>& dw, const Tensor<T>&, const Tensor<T>& w,
                   const Tensor<T>& q) const
    {
        const Tensor<T> d = divisor == Divisor::squares ? w * dw * T(2) : dw;
        Tensor<T> along = detail::as_row(d);
        if constexpr (differs) along = along - detail::as_column(d);
        return apply<Quotients, T>({}, Site{}, dn - q * along, w);
    }

private:
    static constexpr bool differs = divisor != Divisor::singular_values;
    template <class T>
    static void refuse_pole(const Block& numerators, std::size_t r, std::size_t c, const T* w, std::size_t i,
                            std::size_t count, const Site& at)
    {
        const std::string kind = divisor == Divisor::eigenvalues ? "eigenvalue" : "singular value",
                          last = std::to_string(c) + detail::which(i, count);
        detail::refuse(
            name, numerators,
            differs ? kind + "s " + std::to_string(r) + " and " + last + ", " +
                          detail::digits(static_cast<double>(w[r])) + " and " +
                          detail::digits(static_cast<double>(w[c])) +
                          ", are equal to working precision: this derivative of their vectors does not exist"
                    : kind + " " + last +
                          " is 0 to working precision: this derivative of its vectors does not exist",
            at);
    }
};

/// h as it is, with the same errors as the quotients of n and w: a cotangent h that asks a sum over values for its derivative. Where
/// two values are equal that is a limit, also where the cotangents of the values are 0.
template <Divisor divisor> struct PoleGuard {
    static constexpr std::string_view name = Quotients<divisor>::name;
    static constexpr unsigned saves = 0;
    template <class T>
    Ref<Block> value(const Ref<Block>& h, const Ref<Block>& n, const Ref<Block>& w, const Site& at) const
    {
        Quotients<divisor>{}.template value<T>(n, w, at);
        return h;
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&,
                   const Tensor<T>&) const
    {
        return g;
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dh, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&,
                   const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) const
    {
        return dh;
    }
};

/// What the values of a factorization send back to A, as it is. `Guard` has guarded(h, f, a), which throws where h asks for a derivative
/// that vectors of equal values do not have.
template <class Guard> struct OfValues {
    static constexpr std::string_view name = Guard::values;
    static constexpr unsigned saves = 0b110;
    template <class T>
    Ref<Block> value(const Ref<Block>& x, const Ref<Block>&, const Ref<Block>&, const Site&) const
    {
        return x;
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& h, const Tensor<T>&, const Tensor<T>& f, const Tensor<T>& a,
                   const Tensor<T>&) const
    {
        return Guard::guarded(h, f, a);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dx, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&,
                   const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) const
    {
        return dx;
    }
};

}  // namespace wengert::linalg
