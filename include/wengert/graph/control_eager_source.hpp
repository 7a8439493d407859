// What control_eager.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../base/separate.hpp"
#include "control_eager.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE std::vector<AnyTensor> part_of(const std::vector<AnyTensor>& all, std::size_t first,
                                              std::size_t last)
{
    return {all.begin() + static_cast<std::ptrdiff_t>(first),
            all.begin() + static_cast<std::ptrdiff_t>(last)};
}

WENGERT_INLINE std::int64_t steps_of(const std::vector<AnyTensor>& xs, const Site& at)
{
    for (const AnyTensor& x : xs) {
        const Shape &shape = x.value->shape, &first = xs.front().value->shape;
        if (shape.size() == 0)
            fail<ShapeError>("scan", "xs are sliced along axis 0, but one of them has shape ()", at);
        if (shape[0] != first[0])
            fail<ShapeError>("scan",
                             "xs are sliced along axis 0, but their shapes " + to_string(first) + " and " +
                                 to_string(shape) + " differ there",
                             at);
    }
    return xs.front().value->shape[0];
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

}  // namespace detail
}  // namespace wengert
