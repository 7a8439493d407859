// What section.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../base/separate.hpp"
#include "section.hpp"

namespace wengert::detail {

WENGERT_INLINE const Primitive& part_primitive(DType d)
{
    static const Primitive single = make_part_primitive(add_any<float>, sum_to_any<float>);
    static const Primitive twice = make_part_primitive(add_any<double>, sum_to_any<double>);
    return d == DType::float32 ? single : twice;
}

WENGERT_INLINE AnyTensor lift_any(const AnyTensor& x, std::size_t level, std::string_view transform,
                                  const Site& at)
{
    if (x.value->dtype == DType::float32) return lift(Tensor<float>(x), level, transform, at).any();
    return lift(Tensor<double>(x), level, transform, at).any();
}

}  // namespace wengert::detail
