// A program's own primitives of awkward kinds, and what plain loops make of the same: for test_user_primitives.cpp.
#pragma once

#include "graph/c/emit_programs.hpp"

#include <wengert/wengert.hpp>

namespace own_primitives {

using D = Tensor<double>;
using I = Tensor<std::int64_t>;

inline Positions at(std::initializer_list<Position> of)
{
    Positions all;
    for (const Position& p : of) all.push_back(p);
    return all;
}

/// y[i, j] = x[2 i − 1 clamped, 2 j − 3 mirrored] − x[i + j wrapped, j + 2] + x[n − 1, i − 1], the last two 0 outside
struct Crossed {
    static constexpr std::string_view name = "sum";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        const std::int64_t n = p.shape(0)[0];
        const Positions i = p.axes_of(0);
        p.write(i);
        p.read(0, at({clamp(i[0] * 2 - 1), mirror(i[1] * 2 - 3)}));
        p.read_minus(0, at({wrap(i[0] + i[1]), masked(i[1] + 2)}));
        p.read(0, at({n - 1, masked(i[0] - 1)}));
    }
};
/// y[k, j] = x[r[k], 2 j − 1 clamped], r from the end where it is negative
struct Picked {
    static constexpr std::string_view name = "take";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        const Positions i = p.axes({p.shape(1)[0], p.shape(0)[1]});
        p.write(i);
        p.read(0, at({p.element(1, at({i[0]}), true), clamp(i[1] * 2 - 1)}));
    }
};
/// y full of 0, and y[r[i], j + 1 wrapped] += x[i, j]
struct Scattered {
    static constexpr std::string_view name = "scatter_add";
    static constexpr bool linear = true;
    std::int64_t rows;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        p.write(at({p.element(1, at({i[0]})), wrap(i[1] + 1)}), {rows, p.shape(0)[1]});
        p.adding();
        p.read(0, i);
    }
};
/// y = x, and then y[i + 1, j] += x[i, 0]
struct Carried {
    static constexpr std::string_view name = "copy";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        const Shape& x = p.shape(0);
        const Positions i = p.axes({std::max<std::int64_t>(x[0] - 1, 0), x[1]});
        p.write_into(at({i[0] + 1, i[1]}), 0);
        p.adding();
        p.read(0, at({i[0], 0}));
    }
};
/// y[i, j] = Σ x[i − 1 clamped, k] over k ≥ j, at the column that is opposite
struct Summed {
    static constexpr std::string_view name = "cumsum";
    static constexpr bool linear = true;
    void describe(Index& p) const
    {
        const Shape& x = p.shape(0);
        const Positions i = p.axes_of(0);
        p.scan(i[1], Scan::add, true);
        p.write(at({i[0], x[1] - 1 - i[1]}), x);
        p.adding();
        p.read(0, at({clamp(i[0] - 1), i[1]}));
    }
};
/// s[i] = x[i] + c[i + h] s[i − 1] of rows, 0 before the first and where c ends, or from the last one on
struct Decay {
    static constexpr std::string_view name = "recurrence";
    static constexpr unsigned saves = 0b101;
    bool back;
    std::int64_t h;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(1);
        p.scan(i[0], Scan::recurrence, back);
        p.write(i);
        p.read(1, i);
        p.coefficient(0, at({masked(i[0] + h)}));
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& c, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Decay, T>({!back, h + (back ? -1 : 1)}, Site{}, c, g);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& c, const Tensor<T>& x,
                   const Tensor<T>& s) const
    {
        const Tensor<T> all = pull(wrt<1>{}, g, c, x, s);
        const Tensor<T> r = sum(all * moved(s, back ? -1 : 1), {1});
        return h == 0 ? r
                      : pad(view(r, range(h > 0 ? 0 : -h, c.shape()[0] - std::max<std::int64_t>(h, 0))),
                            {{std::max<std::int64_t>(h, 0), std::max<std::int64_t>(-h, 0)}});
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dc, const Tensor<T>& dx, const Tensor<T>& c, const Tensor<T>&,
                   const Tensor<T>& s) const
    {
        const Tensor<T> by = moved(reshape(dc, {dc.shape()[0], 1}), -h);
        return apply<Decay, T>(*this, Site{}, c, dx + by * moved(s, back ? -1 : 1));
    }

private:
    /// y[i] = x[i − by] of rows
    template <class T> static Tensor<T> moved(const Tensor<T>& x, std::int64_t by)
    {
        if (by == 0) return x;
        const std::int64_t n = x.shape()[0];
        return by > 0 ? pad(view(x, range(0, n - by)), {{by, 0}, {0, 0}})
                      : pad(view(x, range(-by, n)), {{0, -by}, {0, 0}});
    }
};
/// Σ x² ÷ (1 + |Σ x|) over axes
struct Ratio {
    static constexpr std::string_view name = "norm";
    static constexpr std::array identity = {lit(0), lit(0)};
    template <class V> static std::array<V, 2> map(const V& x) { return {x * x, x}; }
    template <class V> static std::array<V, 2> combine(const std::array<V, 2>& a, const std::array<V, 2>& b)
    {
        return {a[0] + b[0], a[1] + b[1]};
    }
    template <class V> static V result(const std::array<V, 2>& s)
    {
        using std::abs;
        return s[0] / (lit(1) + abs(s[1]));
    }
    Axes axes;
    bool keepdims;
    void describe(Fold& f) const { f.axes = &axes, f.keepdims = keepdims; }
};
/// y[b] = x[b] zᵀ for each b: a product of batches
struct Batched {
    static constexpr std::string_view name = "matmul";
    static constexpr bool bilinear = true, infallible = true;
    static constexpr unsigned saves = 0b011;
    MatrixProduct product() const
    {
        return {.a = {.operand = 0}, .b = {.operand = 1, .transposed = true, .column = true}, .batch = 1};
    }
    static Shape result_shape(const Shape& x, const Shape& z)
    {
        if (x.size() != 3 || z.size() != 2 || x[2] != z[1])
            throw ShapeError("shapes " + to_string(x) + " and " + to_string(z));
        return {x[0], x[1], z[0]};
    }
    template <class T> Ref<Block> value(const Ref<Block>& of, const Ref<Block>& by, const Site&) const
    {
        const auto a = contiguous(of), b = contiguous(by);
        auto y = make_block(dtype_of<T>(), result_shape(of->shape, by->shape));
        const auto n = static_cast<std::size_t>(b->shape[0]), k = static_cast<std::size_t>(b->shape[1]);
        for (std::size_t i = 0; i < y->count; ++i) {
            T s = 0;
            for (std::size_t p = 0; p < k; ++p)
                s += a->template as<T>()[i / n * k + p] * b->template as<T>()[i % n * k + p];
            y->template as<T>()[i] = s;
        }
        return y;
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>& z, const Tensor<T>&) const
    {
        return matmul(g, z);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>&, const Tensor<T>&) const
    {
        return sum(matmul(swapaxes(g, -1, -2), x), {0});
    }
};

/// y = z, and then y[r[i], j] = max(x[i, j], y[r[i], j]). What is equal to the greatest has equal shares of its cotangent.
struct ScatterMax {
    static constexpr std::string_view name = "amax";
    static constexpr unsigned saves = 0b1111;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(2);
        p.write_into(at({p.element(1, at({i[0]})), i[1]}), 0);
        p.combining(Combine::maximum);
        p.read(2, i);
    }
    /// 1 / n of those that are the greatest, else 0.
    struct Shares {
        D z, x;
    };
    static Shares shares(const D& z, const I& r, const D& x, const D& y)
    {
        const auto one_where = [](const Tensor<bool>& c) { return cast<double>(c); };
        const D of_z = one_where(z == y), of_x = one_where(x == take(y, r, 0));
        const D n = scatter_add(of_z, r, of_x, 0);
        return {of_z / n, of_x / take(n, r, 0)};
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const D& z, const I& r, const D& x, const D& y) const
    {
        return g * shares(z, r, x, y).z;
    }
    template <class T>
    Tensor<T> pull(wrt<2>, const Tensor<T>& g, const D& z, const I& r, const D& x, const D& y) const
    {
        return take(g, r, 0) * shares(z, r, x, y).x;
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& dz, const I&, const Tensor<T>& dx, const D& z, const I& r, const D& x,
                   const D& y) const
    {
        const Shares s = shares(z, r, x, y);
        return scatter_add(dz * s.z, r, dx * s.x, 0);
    }
};
/// y full of 0.2, and then y[2 i + j] = min(x[i, j], y[2 i + j]) where there is such a place: windows that overlap
struct Lowest {
    static constexpr std::string_view name = "amin";
    static constexpr unsigned saves = 0b11;
    void describe(Index& p) const
    {
        const Positions i = p.axes_of(0);
        p.write(at({masked(2 * i[0] + i[1])}), {8}, 0.2);
        p.combining(Combine::minimum);
        p.read(0, i);
    }
    /// y[2 i + j] of each i, j, and 0 where there is none
    struct There {
        static constexpr std::string_view name = "view";
        static constexpr bool linear = true;
        Shape of;
        void describe(Index& p) const
        {
            const Positions i = p.axes(of);
            p.write(i);
            p.read(0, at({masked(2 * i[0] + i[1])}));
        }
        template <class F> void each(F&& f) { f(of); }
    };
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>& x, const Tensor<T>& y) const
    {
        const There there{x.shape()};  // no two are equal here
        return where(x == apply<There, T>(there, Site{}, y), apply<There, T>(there, Site{}, g),
                     zeros_like(x));
    }
    template <class T> Tensor<T> push(const Tensor<T>& dx, const Tensor<T>& x, const Tensor<T>& y) const
    {
        const Tensor<T> met = apply<There, T>({x.shape()}, Site{}, y);
        return apply<Back, T>({}, Site{}, where(x == met, dx, zeros_like(x)));
    }
    /// Each element in its place, added to 0.
    struct Back {
        static constexpr std::string_view name = "scatter_add";
        static constexpr bool linear = true;
        void describe(Index& p) const
        {
            const Positions i = p.axes_of(0);
            p.write(at({masked(2 * i[0] + i[1])}), {8});
            p.adding();
            p.read(0, i);
        }
    };
};

/// y = z, and then y[i] += x[i] three times over
struct Thrice {
    static constexpr std::string_view name = "add_view";
    static constexpr bool flat = true;
    void describe(Index& p) const
    {
        const Positions i = p.axes({p.shape(0)[0], 3});
        p.write_into(at({i[0]}), 0);
        p.adding();
        p.read(1, at({i[0]}));
    }
};

using Values = std::vector<double>;
/// Plain loops over x[n][m].
struct Plain {
    const double* x;
    std::int64_t n, m;
    double operator()(std::int64_t i, std::int64_t j) const { return x[i * m + j]; }
};
inline std::int64_t clamped(std::int64_t i, std::int64_t n) { return std::clamp<std::int64_t>(i, 0, n - 1); }
inline std::int64_t mirrored(std::int64_t i, std::int64_t n)
{
    while (n > 1 && (i < 0 || i >= n)) i = i < 0 ? -i : 2 * (n - 1) - i;
    return n == 1 ? 0 : i;
}

inline const std::vector<std::int64_t> picks = {2, -1, 0, 2, -3, 1}, rows = {2, 0, 2, 4, 0, 2, 1, 3, 3, 0};

inline I picked() { return I(Shape{static_cast<std::int64_t>(picks.size())}, picks); }
inline I rows_of(std::int64_t n)
{
    I all(Shape{static_cast<std::int64_t>(rows.size())}, rows);
    return view(all, range(0, n));
}
inline D coefficients(std::int64_t n) { return cos(arange<double>(static_cast<double>(n))); }

inline Values crossed(const Plain& x)
{
    Values y;
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t j = 0; j < x.m; ++j) {
            double v = x(clamped(2 * i - 1, x.n), mirrored(2 * j - 3, x.m));
            v -= j + 2 < x.m ? x((i + j) % x.n, j + 2) : 0.0;
            v += i >= 1 && i - 1 < x.m ? x(x.n - 1, i - 1) : 0.0;
            y.push_back(v);
        }
    return y;
}
inline Values of_picked(const Plain& x)
{
    Values y;
    for (const auto r : picks)
        for (std::int64_t j = 0; j < x.m; ++j) y.push_back(x(r < 0 ? r + x.n : r, clamped(2 * j - 1, x.m)));
    return y;
}
inline Values scattered(const Plain& x)
{
    Values y(static_cast<std::size_t>(5 * x.m));
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t j = 0; j < x.m; ++j)
            y[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)] * x.m + (j + 1) % x.m)] += x(i, j);
    return y;
}
inline double base_of(const Plain& x, std::int64_t j) { return 0.5 * x(0, j) - 0.1; }
inline Values greatest(const Plain& x)
{
    Values y;
    for (std::int64_t i = 0; i < 5; ++i)
        for (std::int64_t j = 0; j < x.m; ++j) y.push_back(base_of(x, j));
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t j = 0; j < x.m; ++j) {
            double& v = y[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)] * x.m + j)];
            v = std::max(v, x(i, j));
        }
    return y;
}
inline Values lowest(const Plain& x)
{
    Values y(8, 0.2);
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t j = 0; j < x.m; ++j)
            if (2 * i + j < 8) {
                double& v = y[static_cast<std::size_t>(2 * i + j)];
                v = std::min(v, x(i, j));
            }
    return y;
}
inline Values carried(const Plain& x)
{
    Values y(x.x, x.x + x.n * x.m);
    for (std::int64_t i = 0; i + 1 < x.n; ++i)
        for (std::int64_t j = 0; j < x.m; ++j) y[static_cast<std::size_t>((i + 1) * x.m + j)] += x(i, 0);
    return y;
}
inline Values summed(const Plain& x)
{
    Values y(static_cast<std::size_t>(x.n * x.m));
    for (std::int64_t i = 0; i < x.n; ++i) {
        double s = 0;
        for (std::int64_t j = x.m; j-- > 0;)
            y[static_cast<std::size_t>(i * x.m + x.m - 1 - j)] = s += x(clamped(i - 1, x.n), j);
    }
    return y;
}
inline Values decayed(const Plain& x)
{
    Values y;
    for (std::int64_t i = 0; i < x.n; ++i)
        for (std::int64_t j = 0; j < x.m; ++j)
            y.push_back(x(i, j) + (i > 0 && i + 1 < x.n ? std::cos(static_cast<double>(i + 1)) *
                                                              y[static_cast<std::size_t>((i - 1) * x.m + j)]
                                                        : 0.0));
    return y;
}
inline Values ratios(const Plain& x)
{
    Values y;
    for (std::int64_t i = 0; i < x.n; ++i) {
        double a = 0, b = 0;
        for (std::int64_t j = 0; j < x.m; ++j) a += x(i, j) * x(i, j), b += x(i, j);
        y.push_back(a / (1 + std::abs(b)));
    }
    return y;
}
inline Values products(const Plain& x)
{
    Values y;
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t i = 0; i < x.n; ++i)
            for (std::int64_t j = 0; j < x.n; ++j) {
                double s = 0;
                for (std::int64_t k = 0; k < x.m; ++k) s += (b ? 2 : 1) * x(i, k) * x(j, k);
                y.push_back(s);
            }
    return y;
}

struct Own {
    std::string name;
    D (*of)(const D&);
    Values (*plain)(const Plain&);
    bool library = false, fixed = false;  ///< fixed: constants of the extent are part of it
};
inline const std::vector<Own>& all_own()
{
    static const std::vector<Own> all = {
        {"crossed", [](const D& x) { return apply<Crossed, double>({}, Site{}, x); }, crossed},
        {"picked", [](const D& x) { return apply<Picked, double>({}, Site{}, x, picked()); }, of_picked},
        {"scattered",
         [](const D& x) { return apply<Scattered, double>({5}, Site{}, x, rows_of(x.shape()[0])); },
         scattered, false, true},
        {"scatter_max",
         [](const D& x) {
             const Shape& s = x.shape();
             const D base = broadcast_to(view(x, 0) * 0.5 - 0.1, {5, s[1]});
             return apply<ScatterMax, double>({}, Site{}, base, rows_of(s[0]), x);
         },
         greatest, false, true},
        {"lowest", [](const D& x) { return apply<Lowest, double>({}, Site{}, x); }, lowest},
        {"carried", [](const D& x) { return apply<Carried, double>({}, Site{}, x); }, carried},
        {"summed", [](const D& x) { return apply<Summed, double>({}, Site{}, x); }, summed},
        {"decayed",
         [](const D& x) {
             return apply<Decay, double>({false, 1}, Site{}, coefficients(x.shape()[0]), x);
         },
         decayed, false, true},
        {"decayed by the data",
         [](const D& x) {
             return apply<Decay, double>({true, -1}, Site{}, sum(x, {1}), x);
         },
         nullptr},
        {"ratio",
         [](const D& x) {
             return apply<Ratio, double>({{1}, true}, Site{}, x);
         },
         ratios},
        {"products",
         [](const D& x) {
             return apply<Batched, double>({}, Site{}, wengert::stack({x, 2.0 * x}, 0), x);
         },
         products, true}};
    return all;
}

}  // namespace own_primitives
