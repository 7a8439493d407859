// cuBLAS of the fake devices: plain loops, in another order of summation than anybody's.
#include "fake.hpp"

namespace {

struct Blas {
    fake::Stream* stream = nullptr;
    void* workspace = nullptr;  ///< the caller's, for this stream
};

template <class T>
void product(bool ta, bool tb, int m, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, T beta,
             T* c, int ldc)
{
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) {
            T s = 0;
            for (int p = k; p-- > 0;)
                s += (ta ? a[std::size_t(i) * std::size_t(lda) + std::size_t(p)]
                         : a[std::size_t(p) * std::size_t(lda) + std::size_t(i)]) *
                     (tb ? b[std::size_t(p) * std::size_t(ldb) + std::size_t(j)]
                         : b[std::size_t(j) * std::size_t(ldb) + std::size_t(p)]);
            T& to = c[std::size_t(j) * std::size_t(ldc) + std::size_t(i)];
            to = beta == 0 ? alpha * s : alpha * s + beta * to;
        }
}
template <class T>
fake::Result products(const char* name, Blas* blas, int ta, int tb, int m, int n, int k, const T* alpha,
                      const T* a, int lda, long long to_a, const T* b, int ldb, long long to_b, const T* beta,
                      T* c, int ldc, long long to_c, int count)
{
    const fake::Call call(name);
    if (call.result) return call.result;
    if (m < 0 || n < 0 || k < 0 || lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m || lda < 1 ||
        ldb < 1 || ldc < 1)
        return 7;  // CUBLAS_STATUS_INVALID_VALUE
    // Without one it takes memory as it is captured. A body may not, and others keep it.
    if (!blas->workspace && fake::is_written(blas->stream)) return fake::spoil(blas->stream);
    fake::put(blas->stream, [=, alpha = *alpha, beta = *beta] {
        for (int i = 0; i < count; ++i)
            product(ta != 0, tb != 0, m, n, k, alpha, a + i * to_a, lda, b + i * to_b, ldb, beta,
                    c + i * to_c, ldc);
    });
    return 0;
}

}  // namespace

FAKE_EXPORT fake::Result cublasCreate_v2(Blas** blas)
{
    const fake::UnsafeCall call(__func__);
    if (call.result) return call.result;
    if (fake::thread_writes()) return 1;  // CUBLAS_STATUS_NOT_INITIALIZED
    *blas = new Blas;
    return 0;
}
FAKE_EXPORT fake::Result cublasSetStream_v2(Blas* blas, fake::Stream* stream)
{
    blas->stream = stream, blas->workspace = nullptr;
    return 0;
}
FAKE_EXPORT fake::Result cublasSetWorkspace_v2(Blas* blas, void* workspace, std::size_t bytes)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (!fake::is_live(reinterpret_cast<fake::Address>(workspace), bytes)) return 7;
    blas->workspace = workspace;
    return 0;
}
FAKE_EXPORT fake::Result cublasSgemm_v2(Blas* h, int ta, int tb, int m, int n, int k, const float* alpha,
                                        const float* a, int lda, const float* b, int ldb, const float* beta,
                                        float* c, int ldc)
{
    return products(__func__, h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
FAKE_EXPORT fake::Result cublasDgemm_v2(Blas* h, int ta, int tb, int m, int n, int k, const double* alpha,
                                        const double* a, int lda, const double* b, int ldb,
                                        const double* beta, double* c, int ldc)
{
    return products(__func__, h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
FAKE_EXPORT fake::Result cublasSgemmStridedBatched(Blas* h, int ta, int tb, int m, int n, int k,
                                                   const float* alpha, const float* a, int lda,
                                                   long long to_a, const float* b, int ldb, long long to_b,
                                                   const float* beta, float* c, int ldc, long long to_c,
                                                   int count)
{
    return products(__func__, h, ta, tb, m, n, k, alpha, a, lda, to_a, b, ldb, to_b, beta, c, ldc, to_c,
                    count);
}
FAKE_EXPORT fake::Result cublasDgemmStridedBatched(Blas* h, int ta, int tb, int m, int n, int k,
                                                   const double* alpha, const double* a, int lda,
                                                   long long to_a, const double* b, int ldb, long long to_b,
                                                   const double* beta, double* c, int ldc, long long to_c,
                                                   int count)
{
    return products(__func__, h, ta, tb, m, n, k, alpha, a, lda, to_a, b, ldb, to_b, beta, c, ldc, to_c,
                    count);
}
