/// The same work for two translation units that are compiled for different instruction sets.
#pragma once

#include <wengert/eager.hpp>

#include <utility>

using wengert::Tensor;

struct Result {
    Tensor<double> value, gradient;
    Tensor<float> single;
};

/// Values and gradients over sizes that are no multiple of any vector's width. Internal linkage: each unit compiles
/// its own, and everything beneath comes from the library's inline functions, of which the linker keeps one copy.
static Result work(std::size_t n)
{
    const Tensor<double> x = wengert::linspace<double>(-2.0, 3.0, n);
    const auto f = [](const Tensor<double>& t) {
        return sum(tanh(t) * sigmoid(t) + exp(-square(t)) * sin(t));
    };
    auto [value, gradient] = wengert::value_and_grad(f)(x);
    const Tensor<double> square = matmul(reshape(x, {n, 1}), reshape(gradient, {1, n}));
    const Tensor<float> single = log1p(abs(wengert::cast<float>(sum(square, {1})))) + 1.0f;
    return {std::move(value), std::move(gradient), single};
}

Result work_baseline(std::size_t n);
Result work_native(std::size_t n);

/// Sum of squares, for tensors that the other unit made: a layout that differs between the two would show.
Tensor<double> sum_baseline(const Tensor<double>& x);
Tensor<double> sum_native(const Tensor<double>& x);
