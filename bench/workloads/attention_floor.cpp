#include <cmath>
#include <memory>

#include "problems.hpp"
#include "simd.hpp"

namespace bench {
namespace {

constexpr std::size_t L = Attention::length, W = Attention::width, D = Attention::head;
constexpr float scale = 0.25f;  // 1 / sqrt(16)
using V = xsimd::batch<float>;

/// One head's matrices are columns of (L, W) arrays: a GEMM with the leading dimension of either kind.
void head_gemm(bool ta, bool tb, std::size_t n, std::size_t k, float alpha, const float* a, std::size_t lda,
               const float* b, std::size_t ldb, float* c, std::size_t ldc)
{
    const auto i = [](std::size_t v) { return static_cast<int>(v); };
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, i(L), i(n),
                i(k), alpha, a, i(lda), b, i(ldb), 0, c, i(ldc));
}

float sum_row(const float* x, std::size_t n)
{
    V total(0.0f);
    for (std::size_t i = 0; i < n; i += V::size) total += load(x + i);
    return horizontal_sum(total);
}

float dot_row(const float* x, const float* y, std::size_t n)
{
    V total(0.0f);
    for (std::size_t i = 0; i < n; i += V::size) total = xsimd::fma(load(x + i), load(y + i), total);
    return horizontal_sum(total);
}

void softmax_row(float* s)
{
    V top = load(s);
    for (std::size_t i = V::size; i < L; i += V::size) top = xsimd::max(top, load(s + i));
    float highest = top.get(0), total = 0;
    for (std::size_t i = 1; i < V::size; ++i) highest = std::max(highest, top.get(i));
    for (std::size_t i = 0; i < L; i += V::size) store(s + i, V(xsimd::exp(load(s + i) - V(highest))));
    total = 1 / sum_row(s, L);
    for (std::size_t i = 0; i < L; ++i) s[i] *= total;
}

class AttentionFloor {
public:
    void run() { normalize(), attend(), attend_back(), normalize_back(); }

    Results results()
    {
        run();
        return {{loss_},    flat(gx_),  flat(ggain_), flat(gbias_),
                flat(gwq_), flat(gwk_), flat(gwv_),   flat(gwo_)};
    }

private:
    using B = Buffer<float>;

    void normalize()
    {
        for (std::size_t i = 0; i < L; ++i) {
            const float *x = &p_.x[i * W], mean = sum_row(x, W) / W;
            float* hat = &hat_[i * W];
            for (std::size_t j = 0; j < W; ++j) hat[j] = x[j] - mean;
            rstd_[i] = 1 / std::sqrt(dot_row(hat, hat, W) / W + Attention::epsilon);
            for (std::size_t j = 0; j < W; ++j)
                hat[j] *= rstd_[i], n_[i * W + j] = hat[j] * p_.gain[j] + p_.bias[j];
        }
    }

    void attend()
    {
        gemm(false, false, L, W, W, 1, n_.data(), p_.wq.data(), 0, q_.data());
        gemm(false, false, L, W, W, 1, n_.data(), p_.wk.data(), 0, k_.data());
        gemm(false, false, L, W, W, 1, n_.data(), p_.wv.data(), 0, v_.data());
        for (std::size_t h = 0; h < Attention::heads; ++h) {
            float* s = &s_[h * L * L];
            head_gemm(false, true, L, D, scale, &q_[h * D], W, &k_[h * D], W, s, L);
            for (std::size_t i = 0; i < L; ++i) softmax_row(s + i * L);
            head_gemm(false, false, D, L, 1, s, L, &v_[h * D], W, &o_[h * D], W);
        }
        std::copy(p_.x.begin(), p_.x.end(), y_.begin());
        gemm(false, false, L, W, W, 1, o_.data(), p_.wo.data(), 1, y_.data());
        loss_ = dot_row(y_.data(), y_.data(), L * W);
    }

    void attend_back()
    {
        for (std::size_t i = 0; i < L * W; ++i) gy_[i] = 2 * y_[i];
        gemm(true, false, W, W, L, 1, o_.data(), gy_.data(), 0, gwo_.data());
        gemm(false, true, L, W, W, 1, gy_.data(), p_.wo.data(), 0, go_.data());
        for (std::size_t h = 0; h < Attention::heads; ++h) head_back(h);
        gemm(true, false, W, W, L, 1, n_.data(), gq_.data(), 0, gwq_.data());
        gemm(true, false, W, W, L, 1, n_.data(), gk_.data(), 0, gwk_.data());
        gemm(true, false, W, W, L, 1, n_.data(), gv_.data(), 0, gwv_.data());
        gemm(false, true, L, W, W, 1, gq_.data(), p_.wq.data(), 0, gn_.data());
        gemm(false, true, L, W, W, 1, gk_.data(), p_.wk.data(), 1, gn_.data());
        gemm(false, true, L, W, W, 1, gv_.data(), p_.wv.data(), 1, gn_.data());
    }

    /// ds = p (dp - Σ p dp)
    void head_back(std::size_t h)
    {
        const float* p = &s_[h * L * L];
        head_gemm(false, true, L, D, 1, &go_[h * D], W, &v_[h * D], W, gs_.data(), L);
        head_gemm(true, false, D, L, 1, p, L, &go_[h * D], W, &gv_[h * D], W);
        for (std::size_t i = 0; i < L; ++i) {
            const float dot = dot_row(p + i * L, &gs_[i * L], L);
            for (std::size_t j = 0; j < L; ++j) gs_[i * L + j] = p[i * L + j] * (gs_[i * L + j] - dot);
        }
        head_gemm(false, false, D, L, scale, gs_.data(), L, &k_[h * D], W, &gq_[h * D], W);
        head_gemm(true, false, D, L, scale, gs_.data(), L, &q_[h * D], W, &gk_[h * D], W);
    }

    void normalize_back()
    {
        std::fill(ggain_.begin(), ggain_.end(), 0.0f), std::fill(gbias_.begin(), gbias_.end(), 0.0f);
        for (std::size_t i = 0; i < L; ++i) {
            const float* hat = &hat_[i * W];
            float* g = &gn_[i * W];
            for (std::size_t j = 0; j < W; ++j) {
                ggain_[j] += g[j] * hat[j], gbias_[j] += g[j];
                g[j] *= p_.gain[j];
            }
            const float mean = sum_row(g, W) / W, slope = dot_row(g, hat, W) / W;
            for (std::size_t j = 0; j < W; ++j)
                gx_[i * W + j] = gy_[i * W + j] + rstd_[i] * (g[j] - mean - hat[j] * slope);
        }
    }

    Attention p_;
    B hat_ = B(L * W), n_ = hat_, q_ = hat_, k_ = hat_, v_ = hat_, o_ = hat_, y_ = hat_, rstd_ = B(L);
    B s_ = B(Attention::heads * L * L), gs_ = B(L * L);
    B gy_ = hat_, go_ = hat_, gq_ = hat_, gk_ = hat_, gv_ = hat_, gn_ = hat_, gx_ = hat_;
    B ggain_ = B(W), gbias_ = B(W), gwq_ = B(W * W), gwk_ = gwq_, gwv_ = gwq_, gwo_ = gwq_;
    float loss_ = 0;
};

Case make()
{
    auto floor = std::make_shared<AttentionFloor>();
    return {[floor] { floor->run(); }, [floor] { return floor->results(); }};
}

const bool added = add({"attention", "128x64", "floor", make, 1e-4});

}  // namespace
}  // namespace bench
