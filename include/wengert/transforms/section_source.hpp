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
    return with_real(d, []<class T>() -> const Primitive& { return part_primitive_of<T>(); });
}

WENGERT_INLINE AnyTensor lift_any(const AnyTensor& x, std::size_t level, std::string_view transform,
                                  const Site& at)
{
    return with_real(x.value->dtype,
                     [&]<class T>() -> AnyTensor { return lift(Tensor<T>(x), level, transform, at).any(); });
}

}  // namespace wengert::detail
