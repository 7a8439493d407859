#pragma once

// The hand-written MLP that the floors of `mlp`, `hvp` and `jvp` share.

#include <cmath>

#include "problems.hpp"
#include "simd.hpp"

namespace bench {

struct MlpWeights {
    Buffer<float> w1, b1, w2, b2, w3, b3;

    template <class Source>
    explicit MlpWeights(const Source& s)
        : w1(buffer(s.w1)), b1(buffer(s.b1)), w2(buffer(s.w2)), b2(buffer(s.b2)), w3(buffer(s.w3)),
          b3(buffer(s.b3))
    {}
};

inline Results flat(const MlpWeights& w)
{
    return {flat(w.w1), flat(w.b1), flat(w.w2), flat(w.b2), flat(w.w3), flat(w.b3)};
}

/// Each row of y (batch, n) = b, ready for a GEMM with beta = 1.
inline void fill_rows(std::size_t batch, const Buffer<float>& b, Buffer<float>& y)
{
    for (std::size_t i = 0; i < batch; ++i)
        std::copy(b.begin(), b.end(), y.begin() + static_cast<std::ptrdiff_t>(i * b.size()));
}

/// y (batch, n) = x (batch, k) w (k, n) + b; a single row is a matrix-vector product.
inline void affine(std::size_t batch, const Buffer<float>& x, const Buffer<float>& w, const Buffer<float>& b,
                   Buffer<float>& y)
{
    const std::size_t n = b.size(), k = w.size() / n;
    fill_rows(batch, b, y);
    if (batch == 1)
        cblas_sgemv(CblasRowMajor, CblasTrans, static_cast<int>(k), static_cast<int>(n), 1, w.data(),
                    static_cast<int>(n), x.data(), 1, 1, y.data(), 1);
    else
        gemm(false, false, batch, n, k, 1, x.data(), w.data(), 1, y.data());
}

/// gx (batch, k) = g (batch, n) wᵀ
inline void affine_back(std::size_t batch, std::size_t n, const Buffer<float>& g, const Buffer<float>& w,
                        Buffer<float>& gx)
{
    const std::size_t k = w.size() / n;
    if (batch == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, static_cast<int>(k), static_cast<int>(n), 1, w.data(),
                    static_cast<int>(n), g.data(), 1, 0, gx.data(), 1);
    else
        gemm(false, true, batch, k, n, 1, g.data(), w.data(), 0, gx.data());
}

/// gw (k, n) = alpha xᵀ g + beta gw
inline void outer(std::size_t batch, float alpha, const Buffer<float>& x, const Buffer<float>& g, float beta,
                  Buffer<float>& gw)
{
    const std::size_t k = x.size() / batch, n = g.size() / batch;
    if (batch > 1) return gemm(true, false, k, n, batch, alpha, x.data(), g.data(), beta, gw.data());
    for (std::size_t i = 0; i < k; ++i) {
        float* row = &gw[i * n];
        const float xi = alpha * x[i];
        for_batches<float>(n, [&]<class V>(std::size_t j) {
            V out = get<V>(&g[j]) * V(xi);
            if (beta != 0) out += V(beta) * get<V>(row + j);
            put(row + j, out);
        });
    }
}

/// gb (n) = alpha Σ_rows g + beta gb
inline void column_sums(std::size_t batch, float alpha, const Buffer<float>& g, float beta, Buffer<float>& gb)
{
    const std::size_t n = gb.size();
    for (float& v : gb) v *= beta;
    for (std::size_t i = 0; i < batch; ++i)
        for (std::size_t j = 0; j < n; ++j) gb[j] += alpha * g[i * n + j];
}

inline void relu(Buffer<float>& h)
{
    for (float& v : h) v = v > 0 ? v : 0;
}

/// g = 0 where the relu was off
inline void mask(const Buffer<float>& h, Buffer<float>& g)
{
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = h[i] > 0 ? g[i] : 0.0f;
}

/// Softmax of each row of z, in place; returns the mean cross-entropy against the labels.
inline float softmax_cross_entropy(const Mlp& p, Buffer<float>& z)
{
    float loss = 0;
    for (std::size_t i = 0; i < p.batch; ++i) {
        float* row = &z[i * Mlp::out];
        const float top = *std::max_element(row, row + Mlp::out);
        const float target = row[p.labels[i]] - top;
        float total = 0;
        for (std::size_t j = 0; j < Mlp::out; ++j) total += row[j] = std::exp(row[j] - top);
        for (std::size_t j = 0; j < Mlp::out; ++j) row[j] /= total;
        loss += std::log(total) - target;
    }
    return loss / static_cast<float>(p.batch);
}

/// Loss and gradient with reused buffers.
struct MlpFloor {
    Mlp p;
    MlpWeights w, g;
    Buffer<float> x, h1, h2, z, g1, g2, gz;

    explicit MlpFloor(std::size_t batch)
        : p(batch), w(p), g(p), x(buffer(p.x)), h1(batch * Mlp::hidden), h2(h1.size()), z(batch * Mlp::out),
          g1(h1.size()), g2(h1.size()), gz(z.size())
    {}

    float forward()
    {
        affine(p.batch, x, w.w1, w.b1, h1), relu(h1);
        affine(p.batch, h1, w.w2, w.b2, h2), relu(h2);
        affine(p.batch, h2, w.w3, w.b3, z);
        return softmax_cross_entropy(p, z);
    }

    /// gz = (softmax - one_hot) / batch, after forward()
    void logits_back()
    {
        const float scale = 1 / static_cast<float>(p.batch);
        for (std::size_t i = 0; i < z.size(); ++i) gz[i] = z[i] * scale;
        for (std::size_t i = 0; i < p.batch; ++i)
            gz[i * Mlp::out + static_cast<std::size_t>(p.labels[i])] -= scale;
    }

    void hidden_back()
    {
        affine_back(p.batch, Mlp::out, gz, w.w3, g2), mask(h2, g2);
        affine_back(p.batch, Mlp::hidden, g2, w.w2, g1), mask(h1, g1);
    }

    /// target = alpha gradient + beta target: (1, 0) gives the gradient, (-rate, 1) is the SGD step itself.
    void weights_back(float alpha, float beta, MlpWeights& target)
    {
        outer(p.batch, alpha, x, g1, beta, target.w1), column_sums(p.batch, alpha, g1, beta, target.b1);
        outer(p.batch, alpha, h1, g2, beta, target.w2), column_sums(p.batch, alpha, g2, beta, target.b2);
        outer(p.batch, alpha, h2, gz, beta, target.w3), column_sums(p.batch, alpha, gz, beta, target.b3);
    }

    float gradient()
    {
        const float loss = forward();
        logits_back(), hidden_back(), weights_back(1, 0, g);
        return loss;
    }
};

}  // namespace bench
