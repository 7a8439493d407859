// Unit tensors: what whole derivative matrices are made with, a row or a column at a time.
#pragma once

#include "../tape/tensor.hpp"

namespace wengert::detail {

/// The k-th unit tensor of x's shape, on x's device.
template <class T, class D> Tensor<T, D> unit(const Tensor<T, D>& x, std::size_t k)
{
    auto b = zeros_block(dtype_of<T>(), x.shape());
    b->template as<T>()[k] = T(1);
    return Tensor<T, D>(AnyTensor{placed(std::move(b), x.any().value->device()), {}});
}

inline Shape joined(const Shape& a, const Shape& b)
{
    Shape s = a;
    for (auto e : b) s.push_back(e);
    return s;
}

/// x's unit tensors, one a row, of the shape of x.
template <class T, class D> Tensor<T, D> units_of(const Tensor<T, D>& x)
{
    const std::size_t n = x.size();
    auto b = zeros_block(dtype_of<T>(), joined({static_cast<std::int64_t>(n)}, x.shape()));
    for (std::size_t k = 0; k < n; ++k) b->template as<T>()[k * (n + 1)] = T(1);
    return Tensor<T, D>(AnyTensor{placed(std::move(b), x.any().value->device()), {}});
}

}  // namespace wengert::detail
