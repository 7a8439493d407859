// Tensors here and there, and one program on the host and on a device.
#pragma once

#include <wengert/cuda.hpp>

#include "catch.hpp"

namespace wg = wengert;
using wg::Tensor;
using There = Tensor<double, wg::cuda>;

template <class T, class D> bool is_there(const Tensor<T, D>& x) { return x.any().value->device() != 0; }

inline Tensor<double> some(const wg::Shape& shape, std::uint64_t seed = 3)
{
    return wg::normal<double>(wg::Key(seed), shape);
}
template <class T, class D> std::vector<T> bits(const Tensor<T, D>& x)
{
    const Tensor<T> here = wg::to<wg::cpu>(copy(x));
    return std::vector<T>(here.data(), here.data() + here.size());
}

/// f on the host and there: the same bits. Returns how often the host has helped.
template <class F> std::int64_t same_everywhere(const F& f)
{
    const std::int64_t before = wg::cuda::counts().host_calls;
    const auto numbers = [&](std::uint8_t device) {
        const wg::OnDevice there(device);
        const auto y = f();
        CHECK(y.any().value->device() == device);
        return std::pair(y.shape(), bits(y));
    };
    const auto host = numbers(0), there = numbers(wg::detail::gpu::number_of(wg::cuda{}));
    CHECK(host.first == there.first);
    const auto same = [](auto a, auto b) { return a == b || (a != a && b != b); };
    CHECK(std::equal(host.second.begin(), host.second.end(), there.second.begin(), there.second.end(), same));
    return wg::cuda::counts().host_calls - before;
}
