// Products of matrices. The loops are in gemm_block.hpp, gemm_small.hpp, gemv.hpp and outer_product.hpp; programs that link
// wengert::compiled do not read them.
#pragma once

#include <concepts>
#include <cstddef>

#include "simd.hpp"

namespace wengert::kernels {

/// The library's own loops, whatever BLAS there is.
template <class T, class A = xsimd::default_arch>
    requires std::same_as<T, float> || std::same_as<T, double>
void own_gemm(bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a,
              std::size_t lda, const T* b, std::size_t ldb, T beta, T* c, std::size_t ldc);

/// C = α op(A) op(B) + β C, row major: op(A) is (m, k), op(B) is (k, n), C is (m, n); `ta` and `tb` say that
/// the operand is stored transposed, lda, ldb, ldc are the lengths of stored rows. With β = 0, C is not read.
template <class T, class A = xsimd::default_arch>
    requires std::same_as<T, float> || std::same_as<T, double>
void gemm(bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda,
          const T* b, std::size_t ldb, T beta, T* c, std::size_t ldc);

/// gemm() of `count` matrices, α = 1, whose operands start step_a and step_b elements apart, and whose results lie one behind another.
template <class T, class A = xsimd::default_arch>
    requires std::same_as<T, float> || std::same_as<T, double>
void gemm_batch(std::size_t count, bool ta, bool tb, std::size_t m, std::size_t n, std::size_t k, const T* a,
                std::size_t lda, std::ptrdiff_t step_a, const T* b, std::size_t ldb, std::ptrdiff_t step_b,
                T beta, T* c);

#ifdef WENGERT_COMPILED  // in impl/library.ipp
extern template void gemm_batch<float>(std::size_t, bool, bool, std::size_t, std::size_t, std::size_t,
                                       const float*, std::size_t, std::ptrdiff_t, const float*, std::size_t,
                                       std::ptrdiff_t, float, float*);
extern template void gemm_batch<double>(std::size_t, bool, bool, std::size_t, std::size_t, std::size_t,
                                        const double*, std::size_t, std::ptrdiff_t, const double*,
                                        std::size_t, std::ptrdiff_t, double, double*);
extern template void gemm<float>(bool, bool, std::size_t, std::size_t, std::size_t, float, const float*,
                                 std::size_t, const float*, std::size_t, float, float*, std::size_t);
extern template void gemm<double>(bool, bool, std::size_t, std::size_t, std::size_t, double, const double*,
                                  std::size_t, const double*, std::size_t, double, double*, std::size_t);
#endif

}  // namespace wengert::kernels

#ifndef WENGERT_COMPILED
#include "impl/gemm.ipp"
#endif
