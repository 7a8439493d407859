// sparse_hessian: pattern and values of a Hessian from the program of a scalar function.
#pragma once

#include "sparse.hpp"

namespace wengert {

namespace detail {

using Columns = std::vector<std::uint32_t>;

/// The columns of each row, both triangles in ascending order. Inputs are the entries from `first` on.
std::vector<Columns> hessian_pattern(const ScalarStream& s, std::uint32_t first, std::uint32_t inputs,
                                     std::uint32_t result);
/// Star colouring of a symmetric pattern: with a column for each colour, the sum of its columns, every entry can be read off directly
/// (Coleman & Moré 1984).
std::vector<std::uint32_t> star_colours(const std::vector<Columns>& rows);

/// The sums of the columns of each colour, row by row.
class CompressedColumns {
public:
    CompressedColumns(const ScalarStream& s, std::uint32_t first, std::uint32_t result,
                      const std::vector<std::uint32_t>& colour);
    double at(std::uint32_t row, std::uint32_t colour) const { return sums_[row * width_ + colour]; }

private:
    std::size_t width_;
    std::vector<double> sums_;
};

/// Each entry from the row where no other column has its colour.
template <class T>
void read_off(SparseMatrix<T>& m, const std::vector<Columns>& rows, const std::vector<std::uint32_t>& colour,
              const CompressedColumns& sums)
{
    std::vector<std::uint32_t> count(rows.size() + 1);
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
        for (const std::uint32_t j : rows[i]) ++count[colour[j]];
        for (const std::uint32_t j : rows[i]) {
            m.columns.push_back(j);
            m.values.push_back(
                static_cast<T>(count[colour[j]] == 1 ? sums.at(i, colour[j]) : sums.at(j, colour[i])));
        }
        for (const std::uint32_t j : rows[i]) count[colour[j]] = 0;
        m.rows.push_back(static_cast<std::int64_t>(m.columns.size()));
    }
}

template <class F> class SparseHessian : public Closure<SparseHessian<F>> {
public:
    SparseHessian(F f, const Site& made) : Closure<SparseHessian>(made), function_(std::move(f)) {}
    template <class... X> static constexpr bool accepts()
    {
        return sizeof...(X) == 1 && (std::is_invocable_v<F&, X&> && ...);
    }
    template <class X> auto at_line(const Site& at, const X& x) const
    {
        IsolatedRecording<X> isolated;
        using T = typename IsolatedRecording<X>::T;
        const Real<T> y = isolated.run("sparse_hessian", function_, x, at);
        SparseMatrix<T> m;
        m.width = isolated.inputs;
        m.rows.push_back(0);
        if (!y.is_active()) {
            m.rows.resize(isolated.inputs + 1);
            return m;
        }
        const std::uint32_t result = y.handle().index();
        const auto rows = hessian_pattern(isolated.stream, isolated.first, isolated.inputs, result);
        const auto colour = star_colours(rows);
        read_off(m, rows, colour, CompressedColumns(isolated.stream, isolated.first, result, colour));
        if (isolated.anomaly &&
            !std::all_of(m.values.begin(), m.values.end(), [](T v) { return std::isfinite(v); }))
            fail<NumericError>("sparse_hessian",
                               "a NaN or Inf was born in its sweeps; hessian(f) says of which operation", at);
        return m;
    }

private:
    mutable F function_;
};

}  // namespace detail

/// sparse_hessian(f)(x): the Hessian of a function from a container of reals to one Real, both triangles. Its pattern is what the operations
/// that f did couple, so entries may be 0. Columns that a star colouring tells apart are computed together, four of those at once: it costs a
/// few sweeps over what f recorded, where hessian(f) costs one for each row.
template <class F> auto sparse_hessian(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::SparseHessian<F>(std::move(f), at);
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/sparse_hessian.ipp"
#endif
