// What section.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../base/separate.hpp"
#include "section.hpp"

namespace wengert::detail {

template <class T> const Primitive& part_primitive_of()
{
    static const Primitive part = make_part_primitive(add_any<T>, sum_to_any<T>);
    return part;
}
WENGERT_INLINE const Primitive& part_primitive(DType d)
{
    return is_single(d) ? part_primitive_of<float>() : part_primitive_of<double>();
}

WENGERT_INLINE AnyTensor lift_any(const AnyTensor& x, std::size_t level, std::string_view transform,
                                  const Site& at)
{
    return is_single(x.value->dtype) ? lift(Tensor<float>(x), level, transform, at).any()
                                     : lift(Tensor<double>(x), level, transform, at).any();
}

}  // namespace wengert::detail
