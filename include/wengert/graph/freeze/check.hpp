// Comparing a graph with an eager run: what a replay that is checked does.
#pragma once

#include <cmath>

#include "../../array/layout.hpp"
#include "../loops/trace_difference.hpp"
#include "frozen.hpp"

namespace wengert::detail {

template <class T> double distance(const Block& a, const Block& b)
{
    double worst = 0;
    for (std::size_t i = 0; i < a.count; ++i) {
        const T p = a.as<T>()[i], q = b.as<T>()[i];
        if (p == q || (p != p && q != q)) continue;
        const double x = static_cast<double>(p), y = static_cast<double>(q);
        const double d = std::abs(x - y) / (1 + std::abs(y));
        worst = d >= 0 ? std::max(worst, d) : HUGE_VAL;
    }
    return worst;
}

/// A result of the graph against that of f. Throws TapeError.
inline void compare_outputs(const Graph& g, std::size_t k, const Block& graph, const Block& eager,
                            const Site& at)
{
    const Ref<Block> a = readable(Ref<Block>(const_cast<Block*>(&graph))),
                     b = readable(Ref<Block>(const_cast<Block*>(&eager)));
    double d = 0;
    with_dtype(a->dtype, [&]<class T>() { d = distance<T>(*a, *b); });
    if (!(a->shape == b->shape) || a->dtype != b->dtype || d > (is_single(a->dtype) ? 1e-3 : 1e-9))
        fail<TapeError>("freeze",
                        "the graph's result " + std::to_string(k) + " differs from the function's by " +
                            std::to_string(d) + " (relative): " + described(g.node(g.outputs()[k])),
                        at);
}

inline void compare_calls(const FrozenPath& path, const std::vector<Ref<Block>>& outputs,
                          const FrozenTrace& now, const Site& at)
{
    std::string difference;
    if (!path.varies && !now.varies) difference = trace_difference(path.recorded, now.graph);
    if (!difference.empty())
        difference +=
            "; pass what it depends on as an argument, or as live() tensor, or use {.check = false} if "
            "this is meant";
    else if (now.depends)
        difference =
            "a tensor that the function captures is a variable now, it was none when the function was "
            "traced";
    else if (now.numbers != path.numbers)
        difference =
            "a number or text in the result is another one than when the function was traced, without a "
            "tensor's value having decided that; return it as a tensor, or pass what it depends on";
    else if (now.live != path.live || now.values.size() != outputs.size())
        difference =
            "the function assigned to other live tensors than when it was traced, without a tensor's "
            "value having decided that";
    if (!difference.empty()) fail<TapeError>("freeze", difference, at);
    for (std::size_t k = 0; k < outputs.size(); ++k)
        compare_outputs(path.recorded, k, *outputs[k], *now.values[k], at);
}

}  // namespace wengert::detail
