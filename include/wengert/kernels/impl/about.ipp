// What about.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../base/separate.hpp"
#include "../about.hpp"
#include "../cpu/blas.hpp"

namespace wengert::kernels {

WENGERT_INLINE std::string about_loops()
{
    using A = xsimd::default_arch;
    return std::string(A::name()) + ", " + std::to_string(8 * sizeof(Lane<double, A>)) + " bits";
}

WENGERT_INLINE std::string about_products()
{
#if defined(WENGERT_HAS_BLAS)
    using A = xsimd::default_arch;
    const std::string core(detail::blas_core());
    const std::string name = core.empty() ? "CBLAS" : "OpenBLAS (" + core + ")";
    constexpr std::size_t own = sizeof(Lane<double, A>);
    if (own > detail::blas_register(core))
        return name + ", but products by own loops, which have wider registers";
    return own < 64 ? name : name + ", some shapes by own loops";
#else
    return "own loops, no BLAS";
#endif
}

}  // namespace wengert::kernels
