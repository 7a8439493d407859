// What tracing.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../ops/selection.hpp"
#include "../tracing.hpp"

namespace wengert::detail {

WENGERT_INLINE std::int64_t steps_of(const std::vector<Shape>& xs, const Site& at)
{
    if (xs.empty())
        fail<ShapeError>("scan", "xs hold no tensors that are not empty; give a number of steps instead", at);
    for (const Shape& shape : xs) {
        if (shape.size() == 0)
            fail<ShapeError>("scan", "xs are sliced along axis 0, but one of them has shape ()", at);
        if (shape[0] != xs.front()[0])
            fail<ShapeError>("scan",
                             "xs are sliced along axis 0, but their shapes " + to_string(xs.front()) +
                                 " and " + to_string(shape) + " differ there",
                             at);
    }
    return xs.front()[0];
}

WENGERT_INLINE void check_same_shapes(std::string_view primitive, const char* what,
                                      const std::vector<AnyTensor>& before,
                                      const std::vector<AnyTensor>& after, const Site& at)
{
    if (before.size() != after.size())
        fail<ShapeError>(primitive,
                         std::string(what) + ": " + std::to_string(after.size()) +
                             " tensors where there were " + std::to_string(before.size()),
                         at);
    for (std::size_t i = 0; i < before.size(); ++i)
        if (!(before[i].value->shape == after[i].value->shape))
            fail<ShapeError>(primitive,
                             std::string(what) + ": tensor " + std::to_string(i) + " has shape " +
                                 to_string(after[i].value->shape) + " where it had " +
                                 to_string(before[i].value->shape),
                             at);
}

WENGERT_INLINE void check_condition(std::string_view primitive, const Block& b, const Site& at)
{
    if (b.shape.size() != 0)
        fail<ShapeError>(primitive,
                         "the condition must be one truth value, shape (), not shape " + to_string(b.shape),
                         at);
}

WENGERT_INLINE std::vector<AnyTensor> example_slices(const std::vector<AnyTensor>& xs)
{
    std::vector<AnyTensor> out;
    for (const AnyTensor& x : xs) {
        const Block& b = *x.value;
        const Shape shape(b.shape.data() + 1, b.shape.size() - 1);
        if (b.count == 0)
            out.push_back({zeros_beside(b, b.dtype, shape), {}});
        else
            out.push_back({Selection::at(b.shape, 0, 0).view(x.value), {}});
    }
    return out;
}

}  // namespace wengert::detail
