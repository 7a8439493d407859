// What ops/elementwise/library.hpp declares: the primitives whose code wengert::compiled holds.
#pragma once

#include "../ops/every_primitive.hpp"
#include "../ops/index/impl/run.ipp"

#ifdef WENGERT_COMPILED
#include "../kernels/cpu/impl/gemm.ipp"
#include "../ops/impl/tensor_rule.ipp"

namespace wengert::kernels {

template void gemm_batch<float>(std::size_t, bool, bool, std::size_t, std::size_t, std::size_t, const float*,
                                std::size_t, std::ptrdiff_t, const float*, std::size_t, std::ptrdiff_t, float,
                                float*);
template void gemm_batch<double>(std::size_t, bool, bool, std::size_t, std::size_t, std::size_t,
                                 const double*, std::size_t, std::ptrdiff_t, const double*, std::size_t,
                                 std::ptrdiff_t, double, double*);
template void gemm<float>(bool, bool, std::size_t, std::size_t, std::size_t, float, const float*, std::size_t,
                          const float*, std::size_t, float, float*, std::size_t);
template void gemm<double>(bool, bool, std::size_t, std::size_t, std::size_t, double, const double*,
                           std::size_t, const double*, std::size_t, double, double*, std::size_t);
template void sum<float>(const float*, std::size_t, std::size_t, std::size_t, float*);
template void sum<double>(const double*, std::size_t, std::size_t, std::size_t, double*);

}  // namespace wengert::kernels

namespace wengert::detail {

// Not inlined: programs call them.
template <class P, class A, class Out, class... In>
[[gnu::noinline]] const Primitive& library_elementwise() noexcept
{
    return elementwise_primitive<P, A, Out, In...>;
}
template <class Op, class A, class Out, class... In>
[[gnu::noinline]] const Primitive& library_structural() noexcept
{
    return structural_primitive<Op, A, Out, In...>;
}

/// Instantiates the library's primitives. Their addresses are stored, or the compiler would leave out what nothing calls. There is one
/// for each instruction set, as there is of their descriptors.
template <class A> struct LibraryCode {
    const Primitive& (*volatile made)() noexcept;

    template <class P, class Out, class... In> void add_elementwise()
    {
        if constexpr (is_library_elementwise<P>(List<Out>(), List<In...>()))
            made = library_elementwise<P, A, Out, In...>;
    }
    template <class Op, class Out, class... In> void add_structural()
    {
        if constexpr (is_library_structural<Op>(List<Out>(), List<In...>()))
            made = library_structural<Op, A, Out, In...>;
    }
    template <class Op, class T> void add_variadic() {}
    template <class To, class From> void add_cast() {}
};
template void each_primitive(LibraryCode<xsimd::default_arch>&);

}  // namespace wengert::detail
#endif
