// The bodies of section.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../section.hpp"

namespace wengert::detail {

struct PartPrimitive {
    template <class T> static const Primitive& of()
    {
        static const Primitive part = make_part_primitive(add_any<T>, sum_to_any<T>);
        return part;
    }
};
WENGERT_INLINE const Primitive& part_primitive(DType d) { return of_real<PartPrimitive>(d); }

struct Lifting {
    template <class T>
    static AnyTensor of(const AnyTensor& x, std::size_t level, std::string_view transform, const Site& at)
    {
        return lift(Tensor<T>(x), level, transform, at).any();
    }
};
WENGERT_INLINE AnyTensor lift_any(const AnyTensor& x, std::size_t level, std::string_view transform,
                                  const Site& at)
{
    return of_real<Lifting>(x.value->dtype, x, level, transform, at);
}

}  // namespace wengert::detail
