// The one place that names xtensor: its expressions come in, adaptors go out. Both header layouts are met here.
#pragma once

#if __has_include(<xtensor/containers/xarray.hpp>)  // xtensor 0.26 and later
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/core/xeval.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xeval.hpp>
#endif

#include <algorithm>

#include "layout.hpp"

#if XTENSOR_VERSION_MAJOR == 0 && XTENSOR_VERSION_MINOR < 25
// xtensor 0.24 guards this specialisation by `__cplusplus == 201703L`: with C++20 and g++ its small vectors then pass
// for arrays of length 4, and xt::eval of an xarray expression returns a tensor of rank 4 with garbage extents.
namespace xt::detail {
template <> struct xtype_for_shape<svector<std::size_t, 4>> {
    template <class T, layout_type L> using type = xarray<T, L>;
};
}  // namespace xt::detail
#endif

namespace wengert {

template <class E>
concept XtensorExpression = std::is_base_of_v<xt::xexpression<std::decay_t<E>>, std::decay_t<E>>;

/// Evaluates an xtensor expression into a new block, row major.
template <class T, class E> Ref<Block> block_from_xtensor(const E& expression)
{
    const auto& extents = expression.shape();
    Shape shape = Shape::filled(extents.size());
    std::copy(extents.begin(), extents.end(), shape.begin());
    auto out = make_block(dtype_of<T>(), shape);
    T* to = out->template as<T>();
    for (auto it = expression.template begin<xt::layout_type::row_major>(),
              end = expression.template end<xt::layout_type::row_major>();
         it != end; ++it)
        *to++ = static_cast<T>(*it);
    return placed(std::move(out));
}

/// A read-only xtensor adaptor over a block's elements, no copy; valid as long as the tensor lives unchanged.
template <class T> auto xtensor_adaptor(const Block& b)
{
    xt::dynamic_shape<std::size_t> shape(b.shape.begin(), b.shape.end());
    const Strides s = b.strides();
    xt::dynamic_shape<std::ptrdiff_t> strides(s.begin(), s.end());
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (shape[i] == 1) strides[i] = 0;  // xtensor's convention
    return xt::adapt(host_elements<T>(b), b.count, xt::no_ownership(), shape, strides);
}

/// An adaptor that can be assigned to, over the elements of a block in row-major order.
template <class T> auto xtensor_writable(const Block& b, T* elements)
{
    return xt::adapt(elements, b.count, xt::no_ownership(),
                     xt::dynamic_shape<std::size_t>(b.shape.begin(), b.shape.end()));
}

}  // namespace wengert
