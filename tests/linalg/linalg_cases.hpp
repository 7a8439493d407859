/// The functions of linalg:: as a list: what each test walks through gradients, executors, loops. Compiled once, in linalg_cases.cpp.
#pragma once

#include <wengert/wengert.hpp>

#include "catch.hpp"
#include "same_bits.hpp"

#include <functional>

namespace linalg_cases {

namespace wg = wengert;
using wg::Shape;
using wg::Tensor;

template <class T> using Function = std::function<Tensor<T>(const Tensor<T>&)>;

/// A function of matrices, and the extents that it is tried with.
template <class T> struct Case {
    std::string name;
    Function<T> f;
    std::vector<std::pair<std::int64_t, std::int64_t>> extents;
};

/// All of them. Where vectors are given up to their sign, what does not depend on it.
template <class T> const std::vector<Case<T>>& all();

/// Matrices that are no multiple of a special one: regular, with positive, well separated eigenvalues and singular values.
template <class T>
Tensor<T> matrices(const Shape& batch, std::int64_t rows, std::int64_t columns, std::uint64_t seed = 1)
{
    Shape shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    std::vector<double> diagonal(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < std::min(rows, columns); ++i)
        diagonal[static_cast<std::size_t>(i * columns + i)] = 1.0 + 0.8 * static_cast<double>(i);
    return wg::uniform<T>(wg::Key(seed), shape, T(-0.3), T(0.3)) + Tensor<T>(Shape{rows, columns}, diagonal);
}

}  // namespace linalg_cases
