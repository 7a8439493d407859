// The bodies of section.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "../../array/layout.hpp"
#include "../../base/separate.hpp"
#include "../../kernels/cpu/lane.hpp"
#include "../section.hpp"

namespace wengert::detail {

struct PartPrimitive {
    template <class T> static const Primitive& of()
    {
        static const Primitive part = make_part_primitive(add_any<T>, sum_to_any<T>);
        return part;
    }
};
WENGERT_INLINE const Primitive& part_primitive(DType d) { return of_real<PartPrimitive>(d); }

struct Lifting {
    template <class T>
    static AnyTensor of(const AnyTensor& x, std::size_t level, std::string_view transform, const Site& at)
    {
        return lift(Tensor<T>(x), level, transform, at).any();
    }
};
WENGERT_INLINE AnyTensor lift_any(const AnyTensor& x, std::size_t level, std::string_view transform,
                                  const Site& at)
{
    return of_real<Lifting>(x.value->dtype, x, level, transform, at);
}

/// The elements of a block of real numbers, in turn.
template <class Fn> void each_number(const Ref<Block>& of, const Fn& fn)
{
    if (!row_of(of->dtype).real) return;
    const Ref<Block> b = contiguous(on_host(of));
    with_real(b->dtype, [&]<class T>() {
        for (std::size_t i = 0; i < b->count; ++i) fn(i, static_cast<double>(b->as<T>()[i]));
    });
}

/// The largest finite number in some tensors.
inline double greatest_number(const std::vector<AnyTensor>& of)
{
    double most = 0;
    for (const AnyTensor& t : of)
        if (t.value)
            each_number(t.value, [&](std::size_t, double v) {
                if (std::isfinite(v)) most = std::max(most, std::abs(v));
            });
    return most;
}

[[noreturn]] inline void results_differ(const std::string& now, const std::string& before,
                                        std::string_view name, const Site& at)
{
    fail<TapeError>(name,
                    "the recomputation does not do what the first run did: it gives " + now +
                        ", the first run gave " + before +
                        "; what the function reads must not change before the backward pass",
                    at);
}

inline constexpr std::size_t most_in_sum = 1024;  ///< elements of a fingerprint, and fewer than twice as many

/// The weights of a fingerprint's first registers, in [1, 2]. Along a register they go on by the golden ratio, from one register to the
/// next by √2: shifted elements meet others.
template <class T, std::size_t width, std::size_t chains> constexpr auto make_weights()
{
    std::array<T, width * chains> w{};
    for (std::size_t i = 0; i < w.size(); ++i) {
        const double turns = 0.6180339887498949 * static_cast<double>(i % width) +
                             0.41421356237309505 * static_cast<double>(i / width);
        w[i] = static_cast<T>(1 + turns - static_cast<double>(static_cast<int>(turns)));
    }
    return w;
}

/// Σ wᵢ yᵢ and Σ |wᵢ yᵢ| of whole registers, in chains of sums that do not wait for each other.
template <class T> class WeightedSums {
public:
    void add(const T* x, std::size_t count)
    {
        const std::size_t step = (count / most_in_sum | 1) * L::width;
        std::size_t i = 0, c = 0;
        for (; i + (chains - 1) * step + L::width <= count; i += chains * step)
            for (c = 0; c < chains; ++c) add_register(c, L::load(x + i + c * step));
        for (c = 0; i + L::width <= count; i += step) add_register(c++, L::load(x + i));
        if (i < count) add_register(c, L::load_part(x + i, count - i));
    }
    double sum() const { return total(sum_); }
    double size() const { return total(size_); }

private:
    using L = Lane<T>;
    static constexpr std::size_t chains = 4;
    static constexpr auto weights = make_weights<T, L::width, chains>();
    static constexpr T turn = T(4 * 0.41421356237309505 - 1);  ///< from a chain's register to its next

    [[gnu::always_inline]] void add_register(std::size_t c, const L& some)
    {
        const L v = weight_[c] * some;
        const auto finite = abs(v) <= L(std::numeric_limits<T>::max());
        sum_[c] += where(finite, v, L(T(0)));
        size_[c] += where(finite, abs(v), L(T(0)));
        weight_[c] = where(weight_[c] < L(2 - turn), weight_[c] + L(turn), weight_[c] - L(1 - turn));
    }
    static double total(const L (&of)[chains])
    {
        T lanes[L::width];
        ((of[0] + of[1]) + (of[2] + of[3])).store(lanes);
        double all = 0;
        for (const T v : lanes) all += static_cast<double>(v);
        return all;
    }
    L weight_[chains] = {L::load(weights.data()), L::load(weights.data() + L::width),
                         L::load(weights.data() + 2 * L::width), L::load(weights.data() + 3 * L::width)},
      sum_[chains] = {L(T(0)), L(T(0)), L(T(0)), L(T(0))},
      size_[chains] = {L(T(0)), L(T(0)), L(T(0)), L(T(0))};
};

WENGERT_INLINE Fingerprint::Fingerprint(const Block& y) : shape(y.shape)
{
    if (!row_of(y.dtype).real || y.device() || y.count == 0) return;
    const Ref<Block> b = contiguous(Ref<Block>(const_cast<Block*>(&y)));
    with_real(b->dtype, [&]<class T>() {
        WeightedSums<T> sums;
        sums.add(b->template as<T>(), b->count);
        sum = sums.sum();
        size = sums.size();
    });
}

inline void demand_same(const Fingerprint& a, const AnyTensor& y, const std::vector<AnyTensor>& inputs,
                        std::string_view name, const Site& at)
{
    const Fingerprint b(*y.value);
    if (!(a.shape == b.shape)) results_differ("shape " + to_string(b.shape), to_string(a.shape), name, at);
    const double digits = std::ldexp(1.0, 1 - row_of(y.value->dtype).digits);
    if (!std::isfinite(a.size + b.size)) return;  // of so large numbers nothing is known
    const double difference = std::abs(a.sum - b.sum);
    if (difference <= std::sqrt(digits) * (a.size + b.size)) return;
    const double count = static_cast<double>(std::min(y.value->count, most_in_sum));
    if (difference <= 1000 * digits * count * greatest_number(inputs)) return;
    results_differ("other values of shape " + to_string(b.shape), "those that were used", name, at);
}

/// `most`, `most_in`: the largest numbers in all results and arguments.
inline void demand_same(const Block& a, const AnyTensor& y, double most, double most_in,
                        std::string_view name, const Site& at)
{
    const Block& b = *y.value;
    if (!(a.shape == b.shape)) results_differ("shape " + to_string(b.shape), to_string(a.shape), name, at);
    const double digits = std::ldexp(1.0, 1 - row_of(a.dtype).digits);
    const double rounding = std::sqrt(digits) * most + 1000 * digits * most_in;
    std::vector<double> now;
    each_number(y.value, [&](std::size_t, double v) { now.push_back(v); });
    each_number(Ref<Block>(const_cast<Block*>(&a)), [&](std::size_t i, double v) {
        const bool same = v == now[i] || (std::isnan(v) && std::isnan(now[i]));
        if (!same && !(std::abs(v - now[i]) <= rounding))
            results_differ(digits_of(now[i], 9), digits_of(v, 9), name, at);
    });
}

WENGERT_INLINE FirstResults::FirstResults(const std::vector<Ref<Block>>& results, bool whole)
{
    if (whole)
        whole_ = results;
    else
        for (const auto& b : results) fingerprints_.emplace_back(*b);
}

WENGERT_INLINE void FirstResults::demand_same(const std::vector<AnyTensor>& second,
                                              const std::vector<AnyTensor>& inputs, std::string_view name,
                                              const Site& at) const
{
    const std::size_t count = whole_.size() + fingerprints_.size();
    if (count == 0) return;
    if (count != second.size())
        results_differ(std::to_string(second.size()) + " tensors", std::to_string(count), name, at);
    for (std::size_t k = 0; k < fingerprints_.size(); ++k)
        detail::demand_same(fingerprints_[k], second[k], inputs, name, at);
    if (whole_.empty()) return;
    const double most = greatest_number(second), most_in = greatest_number(inputs);
    for (std::size_t k = 0; k < count; ++k)
        detail::demand_same(*whole_[k], second[k], most, most_in, name, at);
}

}  // namespace wengert::detail
