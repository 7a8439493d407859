#pragma once

// Cases of the wengert systems: leaves, a loss, backward, as in the README's training loop.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>
#include <wengert/wengert.hpp>

#include "../harness.hpp"

namespace bench {

template <class T> std::vector<double> doubles(const wengert::Tensor<T>& t)
{
    return std::vector<double>(t.data(), t.data() + t.size());
}

template <class T> wengert::Tensor<T> leaf(const std::vector<T>& values, const wengert::Shape& shape)
{
    wengert::Tensor<T> t(shape, values);
    t.requires_grad(true);
    return t;
}

/// Value and gradients of loss(leaves) with respect to every leaf.
template <class T, class Loss> Case differentiate(std::vector<wengert::Tensor<T>> leaves, Loss loss)
{
    auto shared = std::make_shared<std::vector<wengert::Tensor<T>>>(std::move(leaves));
    const auto once = [=] {
        for (auto& leaf : *shared) leaf.zero_grad();
        const wengert::Tensor<T> value = loss(*shared);
        wengert::backward(value);
        return value;
    };
    return {[=] { once(); },
            [=] {
                Results r = {doubles(once())};
                for (const auto& leaf : *shared) r.push_back(doubles(leaf.grad()));
                return r;
            }};
}

}  // namespace bench
