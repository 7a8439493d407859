/// A frozen function beside the function itself: the same bits, call after call.
#pragma once

#include <wengert/wengert.hpp>
#include <wengert/graph/freeze/freeze.hpp>

#include "catch.hpp"
#include "same_bits.hpp"

namespace wg = wengert;
using wg::Tensor;

/// Without the replays beside the eager function: what is counted is then the graph's alone.
inline wg::FreezeOptions unchecked()
{
    wg::FreezeOptions o;
    o.check = false;
    return o;
}

/// Calls `frozen` and `f` on each of the arguments, three times over. f may not have effects.
template <class Frozen, class F, class... X>
void check_beside(Frozen& frozen, F&& f, const std::vector<std::tuple<X...>>& calls)
{
    for (int round = 0; round < 3; ++round)
        for (std::size_t k = 0; k < calls.size(); ++k) {
            INFO("round " << round << ", call " << k);
            CHECK(same_bits(std::apply(frozen, calls[k]), std::apply(f, calls[k])));
        }
}
template <class Frozen, class F, class T>
void check_beside(Frozen& frozen, F&& f, const std::vector<Tensor<T>>& calls)
{
    std::vector<std::tuple<Tensor<T>>> tuples;
    for (const auto& x : calls) tuples.emplace_back(x);
    check_beside(frozen, f, tuples);
}
