// The bodies of checkpoint.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "../../array/layout.hpp"
#include "../../base/separate.hpp"
#include "../checkpoint.hpp"

namespace wengert::detail {

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

[[noreturn]] inline void results_differ(const std::string& now, const std::string& before, const Site& at)
{
    fail<TapeError>("checkpoint",
                    "the recomputation does not do what the first run did: it gives " + now +
                        ", the first run gave " + before +
                        "; what the function reads must not change before the backward pass",
                    at);
}

WENGERT_INLINE Fingerprint::Fingerprint(const Block& y) : shape(y.shape)
{
    if (!row_of(y.dtype).real || y.device() || y.count == 0) return;
    const Ref<Block> b = contiguous(Ref<Block>(const_cast<Block*>(&y)));
    with_real(b->dtype, [&]<class T>() {
        const std::size_t step = b->count / 4096 | 1;
        double weight = 1;
        for (std::size_t i = 0; i < b->count; i += step) {
            weight = weight < 1.4 ? weight + 0.6180339887498949 : weight - 0.3819660112501051;  // in [1, 2]
            const double v = weight * static_cast<double>(b->template as<T>()[i]);
            if (std::isfinite(v)) sum += v, size += std::abs(v);
        }
    });
}

WENGERT_INLINE void demand_same_fingerprints(const std::vector<Fingerprint>& first,
                                             const std::vector<AnyTensor>& second,
                                             const std::vector<AnyTensor>& inputs, const Site& at)
{
    if (first.empty()) return;  // there were hooks, which may bring other digits back
    if (first.size() != second.size())
        results_differ(std::to_string(second.size()) + " tensors", std::to_string(first.size()), at);
    for (std::size_t k = 0; k < first.size(); ++k) {
        const Fingerprint& a = first[k];
        const Fingerprint b(*second[k].value);
        if (!(a.shape == b.shape)) results_differ("shape " + to_string(b.shape), to_string(a.shape), at);
        const double digits = std::ldexp(1.0, 1 - row_of(second[k].value->dtype).digits);
        if (std::abs(a.sum - b.sum) <= std::sqrt(digits) * (a.size + b.size)) continue;
        const double count = static_cast<double>(std::min<std::size_t>(second[k].value->count, 4096));
        if (std::abs(a.sum - b.sum) <= 1000 * digits * count * greatest_number(inputs)) continue;
        results_differ("other values of shape " + to_string(b.shape), "those that were used", at);
    }
}

WENGERT_INLINE void demand_same_results(const std::vector<Ref<Block>>& first,
                                        const std::vector<AnyTensor>& second,
                                        const std::vector<AnyTensor>& inputs, const Site& at)
{
    if (first.size() != second.size())
        results_differ(std::to_string(second.size()) + " tensors", std::to_string(first.size()), at);
    const double most = greatest_number(second), most_in = greatest_number(inputs);
    for (std::size_t k = 0; k < first.size(); ++k) {
        const Block &a = *first[k], &b = *second[k].value;
        if (!(a.shape == b.shape)) results_differ("shape " + to_string(b.shape), to_string(a.shape), at);
        const double digits = std::ldexp(1.0, 1 - row_of(a.dtype).digits);
        const double rounding = std::sqrt(digits) * most + 1000 * digits * most_in;
        std::vector<double> now;
        each_number(second[k].value, [&](std::size_t, double v) { now.push_back(v); });
        each_number(first[k], [&](std::size_t i, double v) {
            const bool same = v == now[i] || (std::isnan(v) && std::isnan(now[i]));
            if (!same && !(std::abs(v - now[i]) <= rounding))
                results_differ(digits_of(now[i], 9), digits_of(v, 9), at);
        });
    }
}

}  // namespace wengert::detail
