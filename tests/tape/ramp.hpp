/// A ramp, and the elements of a tensor, for the tests of writes.
#pragma once

#include <wengert/tape/tensor.hpp>

#include <vector>

/// More than fits into a block's header, so that memory can be told apart.
inline wengert::Tensor<double> ramp(std::size_t n)
{
    std::vector<double> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<double>(i);
    return wengert::Tensor<double>(wengert::Shape{n}, v);
}

inline std::vector<double> values(const wengert::Tensor<double>& x)
{
    const auto b = readable(x.any().value);
    return {b->as<double>(), b->as<double>() + b->count};
}
