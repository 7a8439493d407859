#include <memory>

#include "problems.hpp"
#include "simd.hpp"

namespace bench {
namespace {

using V = xsimd::batch<float>;
constexpr std::size_t H = Rk4::hidden, N = H / V::size;
constexpr int stages = 4;
constexpr float dt = Rk4::dt;

/// One row of 32 hidden values in registers.
struct Row32 {
    V part[N];

    static Row32 at(const float* p)
    {
        Row32 r;
        for (std::size_t n = 0; n < N; ++n) r.part[n] = V::load_unaligned(p + n * V::size);
        return r;
    }
    void to(float* p) const
    {
        for (std::size_t n = 0; n < N; ++n) part[n].store_unaligned(p + n * V::size);
    }
    void add(float s, const Row32& w)
    {
        for (std::size_t n = 0; n < N; ++n) part[n] = xsimd::fma(V(s), w.part[n], part[n]);
    }
    float dot(const Row32& w) const
    {
        V sum(0.0f);
        for (std::size_t n = 0; n < N; ++n) sum = xsimd::fma(part[n], w.part[n], sum);
        return horizontal_sum(sum);
    }
};

/// acc[r] += x[r] w for rows x[r] of 32 and w (32, 32). One row alone is summed in four parts to hide the
/// FMA's latency.
template <std::size_t R> void times_square(const float* x, const float* w, Row32 (&acc)[R])
{
    constexpr std::size_t P = R == 1 ? 4 : 1;
    Row32 part[P][R];
    for (std::size_t r = 0; r < R; ++r) part[0][r] = acc[r];
    for (std::size_t p = 1; p < P; ++p)
        for (std::size_t r = 0; r < R; ++r)
            for (V& v : part[p][r].part) v = V(0.0f);
    for (std::size_t k = 0; k < H; k += P)
        for (std::size_t p = 0; p < P; ++p) {
            const Row32 row = Row32::at(w + (k + p) * H);
            for (std::size_t r = 0; r < R; ++r) part[p][r].add(x[r * H + k + p], row);
        }
    for (std::size_t r = 0; r < R; ++r) {
        acc[r] = part[0][r];
        for (std::size_t p = 1; p < P; ++p)
            for (std::size_t n = 0; n < N; ++n) acc[r].part[n] += part[p][r].part[n];
    }
}

/// 100 steps, R rows of the batch at a time; weight gradients are GEMMs over the rows of several steps
/// together.
template <std::size_t R> class Rk4Floor {
public:
    explicit Rk4Floor(std::size_t batch)
        : p_(batch), rows_(stages * batch), chunk_(std::max<std::size_t>(1, 128 / batch)), w2t_(H * H),
          w3t_(2 * H), y_(batch * 2), in_(all() * 2), h1_(all() * H), h2_(all() * H), k_(rows_ * 2),
          gy_(batch * 2), gk_(rows_ * 2), gout_(chunk_ * rows_ * 2), g1_(chunk_ * rows_ * H), g2_(g1_)
    {
        if (chunk_ > Rk4::steps) chunk_ = Rk4::steps;
        w1_ = buffer(p_.w1), w2_ = buffer(p_.w2);
        ones_.assign(chunk_ * rows_, 1.0f);
    }

    void run()
    {
        transpose();
        std::copy(p_.y.begin(), p_.y.end(), y_.begin());
        for (std::size_t s = 0; s < Rk4::steps; ++s) step(s);
        loss_ = 0;
        for (std::size_t i = 0; i < y_.size(); ++i) loss_ += y_[i] * y_[i], gy_[i] = 2 * y_[i];
        reverse();
    }

    Results results()
    {
        run();
        return {{loss_}, flat(gy_), flat(gw1_), flat(gb1_), flat(gw2_), flat(gb2_), flat(gw3_), flat(gb3_)};
    }

private:
    std::size_t all() const { return rows_ * Rk4::steps; }

    void transpose()
    {
        for (std::size_t k = 0; k < H; ++k) {
            for (std::size_t j = 0; j < H; ++j) w2t_[j * H + k] = w2_[k * H + j];
            for (std::size_t j = 0; j < 2; ++j) w3t_[j * H + k] = p_.w3[k * 2 + j];
        }
    }

    /// k[i..i+R) = f(in) for the rows of stage `row` on, saving both hidden layers.
    void field(std::size_t row, float* k)
    {
        Row32 h[R];
        for (std::size_t r = 0; r < R; ++r) {
            const float* y = &in_[(row + r) * 2];
            h[r] = Row32::at(p_.b1.data());
            h[r].add(y[0], Row32::at(&w1_[0])), h[r].add(y[1], Row32::at(&w1_[H]));
            for (V& v : h[r].part) v = xsimd::tanh(v);
            h[r].to(&h1_[(row + r) * H]);
        }
        for (Row32& r : h) r = Row32::at(p_.b2.data());
        times_square(&h1_[row * H], w2_.data(), h);
        for (std::size_t r = 0; r < R; ++r) {
            for (V& v : h[r].part) v = xsimd::tanh(v);
            h[r].to(&h2_[(row + r) * H]);
            for (std::size_t j = 0; j < 2; ++j) k[r * 2 + j] = h[r].dot(Row32::at(&w3t_[j * H])) + p_.b3[j];
        }
    }

    void step(std::size_t s)
    {
        constexpr float reach[stages] = {0, dt / 2, dt / 2, dt};
        const std::size_t n = p_.batch * 2;
        for (std::size_t stage = 0; stage < stages; ++stage) {
            const std::size_t row = s * rows_ + stage * p_.batch;
            for (std::size_t i = 0; i < n; ++i)
                in_[row * 2 + i] = stage == 0 ? y_[i] : y_[i] + reach[stage] * k_[(stage - 1) * n + i];
            for (std::size_t i = 0; i < p_.batch; i += R) field(row + i, &k_[stage * n + i * 2]);
        }
        for (std::size_t i = 0; i < n; ++i)
            y_[i] += dt / 6 * (k_[i] + 2 * k_[n + i] + 2 * k_[2 * n + i] + k_[3 * n + i]);
    }

    /// From gk, the cotangent of f's rows, to the cotangent of its input; `slot` is the row within the chunk.
    void field_back(std::size_t row, std::size_t slot, const float* gk, float* gin)
    {
        Row32 g[R];
        const Row32 w30 = Row32::at(&w3t_[0]), w31 = Row32::at(&w3t_[H]);
        for (std::size_t r = 0; r < R; ++r) {
            const Row32 h = Row32::at(&h2_[(row + r) * H]);
            for (std::size_t n = 0; n < N; ++n)
                g[r].part[n] = (V(gk[r * 2]) * w30.part[n] + V(gk[r * 2 + 1]) * w31.part[n]) *
                               (V(1.0f) - h.part[n] * h.part[n]);
            g[r].to(&g2_[(slot + r) * H]);
            for (V& v : g[r].part) v = V(0.0f);
        }
        times_square(&g2_[slot * H], w2t_.data(), g);
        for (std::size_t r = 0; r < R; ++r) {
            const Row32 h = Row32::at(&h1_[(row + r) * H]);
            for (std::size_t n = 0; n < N; ++n) g[r].part[n] *= V(1.0f) - h.part[n] * h.part[n];
            g[r].to(&g1_[(slot + r) * H]);
            for (std::size_t j = 0; j < 2; ++j) gin[r * 2 + j] = g[r].dot(Row32::at(&w1_[j * H]));
        }
    }

    void step_back(std::size_t s)
    {
        constexpr float weight[stages] = {dt / 6, dt / 3, dt / 3, dt / 6},
                        reach[stages] = {0, dt / 2, dt / 2, dt};
        const std::size_t n = p_.batch * 2, base = s % chunk_ * rows_;
        float* gk = &gout_[base * 2];
        for (std::size_t i = 0; i < n; ++i) gk[3 * n + i] = weight[3] * gy_[i];
        for (std::size_t stage = stages; stage-- > 0;) {
            const std::size_t first = stage * p_.batch;
            for (std::size_t i = 0; i < p_.batch; i += R)
                field_back(s * rows_ + first + i, base + first + i, gk + stage * n + i * 2,
                           &gk_[stage * n + i * 2]);
            if (stage == 0) break;
            for (std::size_t i = 0; i < n; ++i)
                gk[(stage - 1) * n + i] = weight[stage - 1] * gy_[i] + reach[stage] * gk_[stage * n + i];
        }
        for (std::size_t i = 0; i < n; ++i) gy_[i] += gk_[i] + gk_[n + i] + gk_[2 * n + i] + gk_[3 * n + i];
    }

    void reverse()
    {
        float beta = 0;
        for (std::size_t s = Rk4::steps; s-- > 0;) {
            step_back(s);
            if (s % chunk_ == 0) weights_back(s, beta), beta = 1;
        }
    }

    /// The gradients of the weights and biases from the rows of steps [s, s + chunk).
    void weights_back(std::size_t s, float beta)
    {
        const std::size_t m = std::min<std::size_t>(chunk_, Rk4::steps - s) * rows_, row = s * rows_;
        gemm(true, false, 2, H, m, 1, &in_[row * 2], g1_.data(), beta, gw1_.data());
        gemm(true, false, H, H, m, 1, &h1_[row * H], g2_.data(), beta, gw2_.data());
        gemm(true, false, H, 2, m, 1, &h2_[row * H], gout_.data(), beta, gw3_.data());
        gemm(false, false, 1, H, m, 1, ones_.data(), g1_.data(), beta, gb1_.data());
        gemm(false, false, 1, H, m, 1, ones_.data(), g2_.data(), beta, gb2_.data());
        gemm(false, false, 1, 2, m, 1, ones_.data(), gout_.data(), beta, gb3_.data());
    }

    Rk4 p_;
    std::size_t rows_, chunk_;
    Buffer<float> w1_, w2_, w2t_, w3t_, y_, in_, h1_, h2_, k_, gy_, gk_, gout_, g1_, g2_, ones_;
    Buffer<float> gw1_ = Buffer<float>(2 * H), gb1_ = Buffer<float>(H), gw2_ = Buffer<float>(H * H),
                  gb2_ = Buffer<float>(H), gw3_ = Buffer<float>(2 * H), gb3_ = Buffer<float>(2);
    float loss_ = 0;
};

template <std::size_t R> Entry entry(std::size_t batch)
{
    const auto make = [batch] {
        auto floor = std::make_shared<Rk4Floor<R>>(batch);
        return Case{[floor] { floor->run(); }, [floor] { return floor->results(); }};
    };
    return {"rk4", "batch=" + std::to_string(batch), "floor", make, 1e-3};
}

const bool added = add(entry<1>(1)) && add(entry<4>(32));

}  // namespace
}  // namespace bench
