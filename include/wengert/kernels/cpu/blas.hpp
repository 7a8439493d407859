// The BLAS, where there is one: its products, which core it has been built for or has found, and when it is left aside.
#pragma once

#include "lane.hpp"

#include <climits>
#include <concepts>
#include <string>
#include <string_view>

#if __has_include(<cblas.h>) && !defined(WENGERT_NO_BLAS)
#include <cblas.h>
#define WENGERT_HAS_BLAS 1
/// OpenBLAS has them; null with any other BLAS.
extern "C" char* openblas_get_corename(void) __attribute__((weak));
extern "C" int openblas_get_num_threads(void) __attribute__((weak));
#endif

namespace wengert::kernels {

namespace detail {

#if defined(WENGERT_HAS_BLAS)
template <class A, class T>
inline void blas_gemm(bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a,
                      std::size_t lda, const T* b, std::size_t ldb, T beta, T* c, std::size_t ldc)
{
    const auto i = [](std::size_t v) { return static_cast<int>(v); };
    const CBLAS_TRANSPOSE op_a = ta ? CblasTrans : CblasNoTrans, op_b = tb ? CblasTrans : CblasNoTrans;
    if constexpr (std::same_as<T, float>)
        cblas_sgemm(CblasRowMajor, op_a, op_b, i(m), i(n), i(k), alpha, a, i(lda), b, i(ldb), beta, c,
                    i(ldc));
    else
        cblas_dgemm(CblasRowMajor, op_a, op_b, i(m), i(n), i(k), alpha, a, i(lda), b, i(ldb), beta, c,
                    i(ldc));
}

/// The processor that OpenBLAS takes this one for; "" with another BLAS.
inline std::string_view blas_core()
{
    return openblas_get_corename ? std::string_view(openblas_get_corename()) : std::string_view();
}

/// Bytes of the registers of OpenBLAS' kernels for a core; 64 for one that is not listed. OpenBLAS 0.3.21 knows Zen 4 by its flags
/// only: built without AVX-512, or told so, it takes those of Zen or Haswell there. It takes a processor that it does not know for a
/// Prescott.
inline std::size_t blas_register(std::string_view core)
{
    const auto is = [&](std::string_view one) {
        bool same = core.size() == one.size();
        for (std::size_t i = 0; same && i < core.size(); ++i) same = (core[i] | 0x20) == one[i];
        return same;
    };
    for (const std::string_view narrow : {"prescott", "core2", "penryn", "dunnington", "atom", "nehalem"})
        if (is(narrow)) return 16;
    for (const std::string_view narrow :
         {"haswell", "zen", "excavator", "steamroller", "piledriver", "bulldozer", "sandybridge"})
        if (is(narrow)) return 32;
    return 64;
}
#endif

/// Are the library's own loops the faster ones? Measured by bench/products.cpp. Where their registers are wider than those of the
/// BLAS they are for all sizes. With AVX-512 they are against OpenBLAS' for SkylakeX and later where B is transposed, and for few rows
/// of a product that is too large for its kernels for small matrices (m n k > 10⁶).
template <class A>
bool own_is_faster(std::size_t blas, bool tb, std::size_t m, std::size_t n, std::size_t k) noexcept
{
    constexpr std::size_t own = sizeof(Lane<double, A>);
    if (own > blas) return true;
    if (own < 64) return false;
    if (tb) return k <= 24 || m >= 200 || (m >= 24 && n >= 32) || (m >= 3 && n >= 128);
    return m >= 3 && m <= 32 && m * n * k > 1'000'000;
}

/// What OpenBLAS would share among several threads is left to it.
template <class A> bool own_is_chosen(bool tb, std::size_t m, std::size_t n, std::size_t k)
{
#if defined(WENGERT_HAS_BLAS)
    static const std::size_t blas = blas_register(blas_core());
    if (!own_is_faster<A>(blas, tb, m, n, k)) return false;
    return m * n * k <= 262'144 || !openblas_get_num_threads || openblas_get_num_threads() <= 1;
#else
    return static_cast<void>(tb), static_cast<void>(m), static_cast<void>(n), static_cast<void>(k), true;
#endif
}

}  // namespace detail

}  // namespace wengert::kernels
