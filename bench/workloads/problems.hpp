#pragma once

// Shapes and inputs of the workloads; workloads.md gives the formulas. Every system starts from the same
// numbers.

#include <cstdint>
#include <utility>
#include <vector>

#include "../harness.hpp"

namespace bench {

struct SmallOp {
    static constexpr int operations = 1000;
    std::vector<double> h, a, b;

    explicit SmallOp(std::size_t n)
    {
        Numbers r(1);
        h = r.vector<double>(n, -1, 1), a = r.vector<double>(n, 0.9, 1.1), b = r.vector<double>(n, -0.1, 0.1);
    }
};

template <class T> struct Elementwise {
    std::vector<T> x, w, b;

    explicit Elementwise(std::size_t n)
    {
        Numbers r(2);
        x = r.vector<T>(n, -1, 1), w = r.vector<T>(n, -0.5, 0.5), b = r.vector<T>(n, -0.1, 0.1);
    }
};

struct Mlp {
    static constexpr std::size_t in = 784, hidden = 512, out = 10;
    std::size_t batch;
    std::vector<float> x, w1, b1, w2, b2, w3, b3;
    std::vector<std::int64_t> labels;
    float rate = 0.01f;  // set to 1 where the step itself is compared

    explicit Mlp(std::size_t batch_size) : batch(batch_size)
    {
        Numbers r(3);
        x = r.vector<float>(batch * in, 0, 1);
        w1 = r.vector<float>(in * hidden, -0.06, 0.06), b1 = r.vector<float>(hidden, -0.05, 0.05);
        w2 = r.vector<float>(hidden * hidden, -0.08, 0.08), b2 = r.vector<float>(hidden, -0.05, 0.05);
        w3 = r.vector<float>(hidden * out, -0.1, 0.1), b3 = r.vector<float>(out, -0.05, 0.05);
        for (std::size_t i = 0; i < batch; ++i) labels.push_back(static_cast<std::int64_t>(r.uniform(0, 10)));
    }
};

/// The direction of `hvp` and `jvp`: one tangent for every parameter of Mlp.
struct MlpTangent {
    std::vector<float> w1, b1, w2, b2, w3, b3;

    MlpTangent()
    {
        Numbers r(4);
        w1 = r.vector<float>(Mlp::in * Mlp::hidden, -0.1, 0.1), b1 = r.vector<float>(Mlp::hidden, -0.1, 0.1);
        w2 = r.vector<float>(Mlp::hidden * Mlp::hidden, -0.1, 0.1),
        b2 = r.vector<float>(Mlp::hidden, -0.1, 0.1);
        w3 = r.vector<float>(Mlp::hidden * Mlp::out, -0.1, 0.1), b3 = r.vector<float>(Mlp::out, -0.1, 0.1);
    }
};

struct Rk4 {
    static constexpr std::size_t dim = 2, hidden = 32;
    static constexpr int steps = 100;
    static constexpr float dt = 0.05f;
    std::size_t batch;
    std::vector<float> y, w1, b1, w2, b2, w3, b3;

    explicit Rk4(std::size_t batch_size) : batch(batch_size)
    {
        Numbers r(5);
        y = r.vector<float>(batch * dim, -1, 1);
        w1 = r.vector<float>(dim * hidden, -0.7, 0.7), b1 = r.vector<float>(hidden, -0.1, 0.1);
        w2 = r.vector<float>(hidden * hidden, -0.2, 0.2), b2 = r.vector<float>(hidden, -0.1, 0.1);
        w3 = r.vector<float>(hidden * dim, -0.2, 0.2), b3 = r.vector<float>(dim, -0.1, 0.1);
    }
};

struct Heat {
    static constexpr std::size_t n = 256;
    static constexpr int steps = 100;
    static constexpr float k = 0.1f;
    std::vector<float> u;

    Heat() { u = Numbers(6).vector<float>(n * n, 0, 1); }
};

struct Attention {
    static constexpr std::size_t length = 128, width = 64, heads = 4, head = width / heads;
    static constexpr float epsilon = 1e-5f;
    std::vector<float> x, gain, bias, wq, wk, wv, wo;

    Attention()
    {
        Numbers r(7);
        x = r.vector<float>(length * width, -1, 1);
        gain = r.vector<float>(width, 0.8, 1.2), bias = r.vector<float>(width, -0.2, 0.2);
        wq = r.vector<float>(width * width, -0.25, 0.25), wk = r.vector<float>(width * width, -0.25, 0.25);
        wv = r.vector<float>(width * width, -0.25, 0.25), wo = r.vector<float>(width * width, -0.25, 0.25);
    }
};

/// 13 additions, multiplications and fused multiply-adds; no product is only added to something, so that no compiler can
/// contract one.
struct Cheap {
    std::vector<float> a, b, c, d;

    explicit Cheap(std::size_t n)
    {
        Numbers r(8);
        a = r.vector<float>(n, -0.5, 0.5), b = r.vector<float>(n, -0.5, 0.5);
        c = r.vector<float>(n, -0.5, 0.5), d = r.vector<float>(n, -0.5, 0.5);
    }

    /// The outputs; V is a float, a batch or a tensor, fma one that rounds once.
    template <class V, class Fma>
    static std::pair<V, V> outputs(const V& a, const V& b, const V& c, const V& d, const Fma& fma)
    {
        const V t0 = a * b, t1 = fma(c, d, t0), t2 = a + c, t3 = t2 * t1, t4 = fma(t3, b, d), t5 = t4 + t1,
                t6 = t5 * t2, t7 = fma(t6, t4, a), t8 = t7 + t3, t9 = fma(t8, t0, t5);
        return {V(t9 * t7), V(fma(t9, d, t8) + t6)};
    }
};

/// Comparisons, truth values and a choice among three vectors.
struct Masks {
    std::vector<float> a, b, c;

    explicit Masks(std::size_t n)
    {
        Numbers r(10);
        a = r.vector<float>(n, -1, 1), b = r.vector<float>(n, -1, 1), c = r.vector<float>(n, -1, 1);
    }
};

/// A function of one number for each of many, and its derivative.
struct Vmap {
    static constexpr std::size_t rows = 100000;
    std::vector<double> x;

    Vmap() { x = Numbers(9).vector<double>(rows, -2, 2); }
    template <class V> static V value(const V& t) { return (t * t - 1.0) * t * 0.3 + 2.0 / (1.0 + t * t); }
    template <class V> static V slope(const V& t)
    {
        const V d = 1.0 + t * t;
        return 0.9 * (t * t) - 0.3 - 4.0 * t / (d * d);
    }
};

/// Complex numbers to be transformed, by their parts.
struct Fourier {
    static constexpr std::int64_t points = 1 << 20;
    std::vector<double> x = Numbers(11).vector<double>(2 * points, -1, 1),
                        cotangent = Numbers(12).vector<double>(2 * points, -1, 1);
};

/// Two coupled oscillators with a hardening spring each: positions and velocities, semi-implicit Euler steps.
struct Scan {
    static constexpr double dt = 0.01;
    std::vector<double> state{0.5, -0.3, 0.1, 0.2};       // q1, q2, v1, v2
    std::vector<double> parameters{1.0, 0.1, 0.2, 1e-4};  // stiffness k, hardening b, coupling s, damping c
};

}  // namespace bench
