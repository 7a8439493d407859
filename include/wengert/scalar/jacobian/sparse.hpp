// sparse_jacobian: pattern and values of a Jacobian from the program of a scalar function.
#pragma once

#include <utility>
#include <vector>

#include "../../transforms/closure.hpp"
#include "../transforms/packed.hpp"

namespace wengert {

/// A matrix by its nonzeros (CSR): those of row i are from rows[i] up to rows[i + 1], their columns in ascending order.
template <class T> struct SparseMatrix {
    std::vector<std::int64_t> rows, columns;
    std::vector<T> values;
    std::int64_t width = 0;  ///< number of columns

    /// Puts the rows of another matrix below. Throws ShapeError where it has another number of columns.
    SparseMatrix& append(const SparseMatrix& below, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        if (below.width != width)
            fail<ShapeError>("append",
                             "matrices of " + std::to_string(width) + " and " + std::to_string(below.width) +
                                 " columns",
                             at);
        const auto before = static_cast<std::int64_t>(columns.size());
        if (rows.empty()) rows.push_back(0);
        for (std::size_t i = 1; i < below.rows.size(); ++i) rows.push_back(before + below.rows[i]);
        columns.insert(columns.end(), below.columns.begin(), below.columns.end());
        values.insert(values.end(), below.values.begin(), below.values.end());
        return *this;
    }
};

namespace detail {

/// Sweeps back from one position through what it depends on and nothing else, the newest operation first. Adjoints and handles of
/// what was passed are zeros again afterwards.
class SparseRow {
public:
    using Found = std::pair<std::uint32_t, double>;  ///< an input's position, and the derivative by it

    explicit SparseRow(ScalarStream& s) : stream_(s), adjoint_(s.size()), met_(s.size()) {}
    /// Of each input, in descending order.
    const std::vector<Found>& sweep(std::uint32_t position);

private:
    void send(std::uint32_t position, double g);

    ScalarStream& stream_;
    std::vector<std::uint32_t> queue_;  ///< a heap
    std::vector<double> adjoint_;
    std::vector<char> met_;
    std::vector<Found> found_;
};

/// A function of a container of reals, recorded on a tape of its own, with nothing before it.
template <class X> struct IsolatedRecording {
    using T = typename first_real<X>::type;
    const bool anomaly = Tape::current().anomaly;
    const TapeScope scope;
    ScalarStream& stream = ScalarStream::of(Tape::current());
    std::uint32_t first = 0, inputs = 0;  ///< positions of the arguments

    template <class F> auto run(std::string_view transform, F& f, X x, const Site& at)
    {
        Tape::current().anomaly = anomaly;
        std::vector<T> values;
        for (const Real<T>* r : reals_in<T>(x)) {
            if (r->is_active())
                fail<TapeError>(transform, "it is not differentiated itself: pass numbers, detach()", at);
            values.push_back(r->plain());
        }
        Tensor<T> leaf(Shape{values.size()}, values);
        leaf.requires_grad(true, at);
        const std::vector<Real<T>> in = elements(leaf, at);
        if (!in.empty()) first = in[0].handle().index();
        inputs = static_cast<std::uint32_t>(in.size());
        std::size_t k = 0;
        for (Real<T>* r : reals_in<T>(x)) *r = in[k++];
        auto y = call_at(f, at, x);
        if (stream.chunk() != 0)
            fail<MemoryError>(transform, "f does more than 2^31 operations: take its Jacobian in parts", at);
        std::size_t entered = 0;
        for (const ScalarSpan* s : stream.spans()) entered += s->entered.size();
        if (entered > 1)
            fail<TapeError>(transform,
                            "f has more in it than operations on Reals (tensors, checkpoints, transforms, "
                            "rules of its own, external functions, parallel_for), through which no pattern "
                            "is known: jacobian() takes it",
                            at);
        tree::for_each(  // what is none of this tape's is refused
            [&](const Real<T>& r) { static_cast<void>(stream.dependence(r.handle(), transform, at)); }, y);
        return y;
    }
};

template <class T> void append_row(SparseMatrix<T>& m, SparseRow& row, const Real<T>& y, std::uint32_t first)
{
    if (y.is_active()) {
        const auto& found = row.sweep(y.handle().index());
        for (auto e = found.rbegin(); e != found.rend(); ++e) {
            m.columns.push_back(e->first - first);
            m.values.push_back(static_cast<T>(e->second));
        }
    }
    m.rows.push_back(static_cast<std::int64_t>(m.columns.size()));
}

template <class F> class SparseJacobian : public Closure<SparseJacobian<F>> {
public:
    SparseJacobian(F f, const Site& made) : Closure<SparseJacobian>(made), function_(std::move(f)) {}
    template <class... X> static constexpr bool accepts()
    {
        return sizeof...(X) == 1 && (std::is_invocable_v<F&, X&> && ...);
    }
    template <class X> auto at_line(const Site& at, const X& x) const
    {
        IsolatedRecording<X> isolated;
        using T = typename IsolatedRecording<X>::T;
        auto y = isolated.run("sparse_jacobian", function_, x, at);
        SparseMatrix<T> m;
        m.rows.push_back(0);
        m.width = isolated.inputs;
        SparseRow row(isolated.stream);
        for (const Real<T>* r : reals_in<T>(y)) append_row(m, row, *r, isolated.first);
        return m;
    }

private:
    mutable F function_;
};

}  // namespace detail

/// sparse_jacobian(f)(x): the Jacobian of a function from a container of reals to one, rows in order of the results. Its
/// pattern is what the operations that f did depend on, so entries may be 0. Each row costs what its result depends on.
template <class F> auto sparse_jacobian(F f, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::SparseJacobian<F>(std::move(f), at);
}

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/sparse.ipp"
#endif
