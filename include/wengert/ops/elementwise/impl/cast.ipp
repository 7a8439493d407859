// The body of cast.hpp that no type decides. With WENGERT_COMPILED only wengert::compiled compiles it.
#pragma once

#include "../../../base/separate.hpp"
#include "../cast.hpp"

namespace wengert::detail {

template <class U> struct CastTo {
    template <class T> static AnyTensor of(const AnyTensor& x, const Site& at)
    {
        return cast<U>(Tensor<T>(x), at).any();
    }
};
struct Casting {
    template <class U> static AnyTensor of(const AnyTensor& x, const Site& at)
    {
        return of_real<CastTo<U>>(x.value->dtype, x, at);
    }
};

WENGERT_INLINE AnyTensor converted(const AnyTensor& x, DType to, const Site& at)
{
    return x.value->dtype == to ? x : of_real<Casting>(to, x, at);
}

}  // namespace wengert::detail
