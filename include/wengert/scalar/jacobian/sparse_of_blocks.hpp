// Jacobians and Hessians of many alike blocks: the function of one block is a kernel, which is evaluated on all of them at once, with a
// direction for each of a block's unknowns or results.
#pragma once

#include <numeric>

#include "../../ops/creation.hpp"
#include "../../ops/sum.hpp"
#include "../../transforms/derivatives.hpp"
#include "../kernel/kernel.hpp"
#include "sparse.hpp"

namespace wengert {

/// For each block the places of its unknowns among all of them.
template <std::size_t n> using BlockPlaces = std::vector<std::array<std::int64_t, n>>;

namespace detail {

template <class T> std::vector<T> numbers_of(const Tensor<T>& x)
{
    const Ref<Block> b = readable(x.any().value);
    return {b->template as<T>(), b->template as<T>() + b->count};
}

/// The structure of all blocks, and the order in which the columns of each ascend.
template <std::size_t n> class BlockStructure {
public:
    explicit BlockStructure(BlockPlaces<n> places) : places_(std::move(places)), order_(places_.size())
    {
        for (std::size_t b = 0; b < places_.size(); ++b) {
            std::iota(order_[b].begin(), order_[b].end(), std::uint16_t{0});
            std::sort(order_[b].begin(), order_[b].end(),
                      [&p = places_[b]](auto i, auto j) { return p[i] < p[j]; });
        }
    }
    std::size_t blocks() const { return places_.size(); }
    const std::array<std::int64_t, n>& places(std::size_t block) const { return places_[block]; }
    const std::array<std::uint16_t, n>& order(std::size_t block) const { return order_[block]; }

    /// Each argument of the blocks, for all of them.
    template <class T>
    std::array<Tensor<T>, n> gathered(std::string_view transform, const Tensor<T>& x, const Site& at) const
    {
        const AnyTensor* const in[] = {&x.any()};
        if (recorder() || Tape::current().dependence(in, 1, transform, at) != 0)
            fail<TapeError>(transform, "it is not differentiated itself, nor part of a graph: pass numbers",
                            at);
        const std::vector<T> all = numbers_of(x);
        std::array<std::vector<T>, n> columns;
        for (auto& c : columns) c.reserve(blocks());
        for (const auto& block : places_)
            for (std::size_t k = 0; k < n; ++k) {
                if (block[k] < 0 || static_cast<std::size_t>(block[k]) >= all.size())
                    fail<ShapeError>(transform,
                                     "a block has the unknown " + std::to_string(block[k]) + " of " +
                                         std::to_string(all.size()),
                                     at);
                columns[k].push_back(all[static_cast<std::size_t>(block[k])]);
            }
        std::array<Tensor<T>, n> out;
        for (std::size_t k = 0; k < n; ++k) out[k] = Tensor<T>(Shape{blocks()}, columns[k]);
        return out;
    }

private:
    BlockPlaces<n> places_;
    std::vector<std::array<std::uint16_t, n>> order_;
};

template <class T> std::vector<Tensor<T>> as_list(const Tensor<T>& y) { return {y}; }
template <class T> const std::vector<Tensor<T>>& as_list(const std::vector<Tensor<T>>& y) { return y; }

/// The kernel as a function of its unknowns, which gives a list. Data are one number for each block, or one for all.
template <class F, class... Data>
auto of_unknowns(const Kernel<F>& f, std::string_view who, const Site& at, const Data&... data)
{
    return [&f, who, at, &data...](const auto& q) {
        const auto y = std::apply([&](const auto&... e) { return as_list(f.at_line(at, e..., data...)); }, q);
        const Shape& blocks = q[0].shape();
        for (const auto& e : y)
            if (!(e.shape() == blocks))
                fail<ShapeError>(who,
                                 "the data make arrays of shape " + to_string(e.shape()) + " of " +
                                     std::to_string(blocks[0]) + " blocks: give one number for each block",
                                 at);
        return y;
    };
}

/// ∂ result / ∂ unknown for all blocks, [result][unknown][block]: by cotangents, or by tangents where unknowns are fewer.
template <class T, std::size_t n, class F>
std::vector<std::array<std::vector<T>, n>> block_derivatives(const F& f, const std::array<Tensor<T>, n>& q,
                                                             const Site& at)
{
    const Tensor<T> one = ones_like(q[0]), none = zeros_like(q[0]);
    const auto [y, pullback] = vjp(f, q, at);
    std::vector<std::array<std::vector<T>, n>> J(y.size());
    if (J.size() <= n) {
        std::vector<Tensor<T>> direction(J.size(), none);
        for (std::size_t r = 0; r < J.size(); ++r) {
            direction[r] = one;
            const std::array<Tensor<T>, n> g = pullback(direction, at);
            direction[r] = none;
            for (std::size_t k = 0; k < n; ++k) J[r][k] = numbers_of(g[k]);
        }
        return J;
    }
    std::array<Tensor<T>, n> direction;
    direction.fill(none);
    for (std::size_t k = 0; k < n; ++k) {
        direction[k] = one;
        const auto along = jvp(f, q, direction, at).second;
        direction[k] = none;
        for (std::size_t r = 0; r < J.size(); ++r) J[r][k] = numbers_of(along[r]);
    }
    return J;
}

template <class F, std::size_t n> class BlockJacobian : public Closure<BlockJacobian<F, n>> {
public:
    BlockJacobian(Kernel<F> f, BlockPlaces<n> places, const Site& made)
        : Closure<BlockJacobian>(made), function_(std::move(f)), structure_(std::move(places))
    {}
    template <class... X> static constexpr bool accepts() { return sizeof...(X) > 0; }
    template <class T, class... Data>
    SparseMatrix<T> at_line(const Site& at, const Tensor<T>& x, const Data&... data) const
    {
        SparseMatrix<T> m;
        m.width = static_cast<std::int64_t>(x.size());
        m.rows.push_back(0);
        if (structure_.blocks() == 0) return m;
        const auto J = block_derivatives<T, n>(of_unknowns(function_, "sparse_jacobian", at, data...),
                                               structure_.gathered("sparse_jacobian", x, at), at);
        m.rows.reserve(structure_.blocks() * J.size() + 1);
        m.columns.reserve(structure_.blocks() * J.size() * n);
        m.values.reserve(m.columns.capacity());
        const auto pattern = function_.template pattern<T>(n + sizeof...(Data));
        for (std::size_t b = 0; b < structure_.blocks(); ++b)
            for (std::size_t r = 0; r < J.size(); ++r)
                append(m, J[r], pattern.empty() ? typename ArrayCalls<T>::Set(n, true) : pattern[r], b);
        return m;
    }

private:
    /// A row of a block. Of an unknown that it has twice the derivatives add up.
    template <class T>
    void append(SparseMatrix<T>& m, const std::array<std::vector<T>, n>& row,
                const typename ArrayCalls<T>::Set& depends, std::size_t block) const
    {
        std::int64_t last = -1;
        for (const std::size_t k : structure_.order(block)) {
            if (!depends[k]) continue;
            const std::int64_t column = structure_.places(block)[k];
            if (column == last) {
                m.values.back() += row[k][block];
                continue;
            }
            m.columns.push_back(last = column);
            m.values.push_back(row[k][block]);
        }
        m.rows.push_back(static_cast<std::int64_t>(m.columns.size()));
    }

    Kernel<F> function_;
    BlockStructure<n> structure_;
};

/// Entries of a matrix in any order, added up to CSR.
template <class T> class AddedEntries {
public:
    explicit AddedEntries(std::size_t rows) : rows_(rows) {}
    void add(std::int64_t row, std::int64_t column, T value)
    {
        rows_[static_cast<std::size_t>(row)].push_back({column, value});
    }
    SparseMatrix<T> matrix()
    {
        SparseMatrix<T> m;
        m.width = static_cast<std::int64_t>(rows_.size());
        m.rows.push_back(0);
        for (auto& row : rows_) {
            std::stable_sort(row.begin(), row.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; });
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (i > 0 && row[i].first == row[i - 1].first) {
                    m.values.back() += row[i].second;
                    continue;
                }
                m.columns.push_back(row[i].first);
                m.values.push_back(row[i].second);
            }
            m.rows.push_back(static_cast<std::int64_t>(m.columns.size()));
        }
        return m;
    }

private:
    std::vector<std::vector<std::pair<std::int64_t, T>>> rows_;
};

template <class F, std::size_t n> class BlockHessian : public Closure<BlockHessian<F, n>> {
public:
    BlockHessian(Kernel<F> f, BlockPlaces<n> places, const Site& made)
        : Closure<BlockHessian>(made), function_(std::move(f)), structure_(std::move(places))
    {}
    template <class... X> static constexpr bool accepts() { return sizeof...(X) > 0; }
    template <class T, class... Data>
    SparseMatrix<T> at_line(const Site& at, const Tensor<T>& x, const Data&... data) const
    {
        AddedEntries<T> entries(x.size());
        if (structure_.blocks() == 0) return entries.matrix();
        const auto total = [&](const std::array<Tensor<T>, n>& q) {
            const auto y = of_unknowns(function_, "sparse_hessian", at, data...)(q);
            if (y.size() != 1)
                fail<ShapeError>("sparse_hessian",
                                 "a block gives one number, not " + std::to_string(y.size()), at);
            return sum(y[0]);
        };
        const auto q = structure_.gathered("sparse_hessian", x, at);
        const auto product = hvp(total, at);
        std::array<Tensor<T>, n> direction;
        direction.fill(zeros_like(q[0]));
        for (std::size_t k = 0; k < n; ++k) {
            direction[k] = ones_like(q[0]);
            const std::array<Tensor<T>, n> column = product(q, direction, at);
            direction[k] = zeros_like(q[0]);
            for (std::size_t j = 0; j < n; ++j) add(entries, j, k, numbers_of(column[j]));
        }
        return entries.matrix();
    }

private:
    template <class T>
    void add(AddedEntries<T>& to, std::size_t j, std::size_t k, const std::vector<T>& values) const
    {
        for (std::size_t b = 0; b < structure_.blocks(); ++b)
            to.add(structure_.places(b)[j], structure_.places(b)[k], values[b]);
    }

    Kernel<F> function_;
    BlockStructure<n> structure_;
};

}  // namespace detail

/// sparse_jacobian(kernel(f), places)(x, data…): the Jacobian of all blocks of a structure at once, by the unknowns x, a tensor of rank 1. The
/// kernel takes a block's n unknowns and then what else it depends on, of which `data` has numbers or tensors with an element for each
/// block; rows are the results of the first block, then those of the second one. A row has the columns that its result depends on in some way through
/// the kernel's function that has been met. Throws ShapeError for a place that x does not have.
template <class F, std::size_t n>
auto sparse_jacobian(detail::Kernel<F> f, BlockPlaces<n> places,
                     Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::BlockJacobian<F, n>(std::move(f), std::move(places), at);
}

/// sparse_hessian(kernel(f), places)(x, data…): the Hessian of the sum of all blocks, each of which gives one number; both triangles.
template <class F, std::size_t n>
auto sparse_hessian(detail::Kernel<F> f, BlockPlaces<n> places,
                    Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::BlockHessian<F, n>(std::move(f), std::move(places), at);
}

}  // namespace wengert
