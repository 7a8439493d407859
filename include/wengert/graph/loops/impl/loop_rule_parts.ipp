// What loop_rule_parts.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../loop_rule_parts.hpp"

namespace wengert::detail {

WENGERT_INLINE AnyTensor filled(DType d, const Shape& shape, double v)
{
    return with_real(
        d, [&]<class T>() { return broadcast_to(Tensor<T>(static_cast<T>(v)), shape, Site{}).any(); });
}

WENGERT_INLINE std::vector<std::size_t> chosen(const std::vector<bool>& which, std::size_t first,
                                               std::size_t last)
{
    std::vector<std::size_t> out;
    for (std::size_t i = first; i < last; ++i)
        if (which[i]) out.push_back(i);
    return out;
}

WENGERT_INLINE void append(std::vector<std::size_t>& to, const std::vector<std::size_t>& from,
                           std::size_t shift)
{
    for (std::size_t i : from) to.push_back(i + shift);
}

WENGERT_INLINE std::vector<std::size_t> ranks(const std::vector<bool>& which)
{
    std::vector<std::size_t> out(which.size());
    for (std::size_t i = 0, n = 0; i < which.size(); ++i) out[i] = which[i] ? n++ : LoopParameters::npos;
    return out;
}

WENGERT_INLINE std::vector<std::size_t> pulled_inputs(const LoopParameters& pull)
{
    std::vector<std::size_t> out = pull.active_states;
    append(out, pull.active_constants);
    append(out, pull.active_xs);
    return out;
}

inline AnyTensor converted_to(const AnyTensor& t, DType d, const Site& at)
{
    return t.value ? converted(t, d, at) : t;
}
/// Of two tensors of one real dtype and shape.
inline AnyTensor sum_of(const AnyTensor& a, const AnyTensor& b, const Site& at)
{
    return with_real(a.value->dtype,
                     [&]<class T>() { return ops::add(Tensor<T>(a), Tensor<T>(b), at).any(); });
}

WENGERT_INLINE LoopPull::LoopPull(const Node& node, const LoopParameters& q, const AnyTensor& g,
                                  Cotangents& pulled,
                                  std::shared_ptr<const LoopParameters> without_host_calls)
    : n(node), out(pulled), p(std::move(without_host_calls)), cotangents(out.walk().take_parts(n))
{
    for (std::size_t i = 0; i + q.ignored < n.input_count; ++i) {
        in.push_back(saved_input(n, i));
        wanted.push_back(out.wanted(i) && differentiable(in[i].value->dtype));
    }
    cotangents.resize(q.results.size());
    const bool whole = g.value->dtype == q.dtype && g.value->shape == Shape{q.size};
    for (std::size_t k = 0; k < q.results.size(); ++k) {
        if (!differentiable(q.results[k].dtype)) continue;
        const AnyTensor part = converted_to(cotangents[k], q.results[k].dtype, n.at);
        cotangents[k] = part;
        if (!whole || !q.results[k].wanted()) continue;
        // a pullback in a body has read the block as one: what it gives is added to what the results have got
        const AnyTensor of_block = converted_to(unpacked(g, q.results[k], n.at), q.results[k].dtype, n.at);
        cotangents[k] = part.value ? sum_of(part, of_block, n.at) : of_block;
    }
}

WENGERT_INLINE void LoopPull::add(const LoopParameters& pull, const AnyTensor& packed,
                                  const std::vector<std::size_t>& inputs) const
{
    for (std::size_t k = 0; k < inputs.size(); ++k)
        if (out.wanted(inputs[k])) out.add(inputs[k], unpacked(packed, pull.results[k], n.at));
}

WENGERT_INLINE AnyTensor or_zeros(const AnyTensor& t, DType dtype, const Shape& shape)
{
    return t.value ? t : filled(dtype, shape, 0.0);
}

WENGERT_INLINE std::vector<bool> have_tangents(const AnyTensor* tangents, std::size_t n)
{
    std::vector<bool> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(bool(tangents[i].value));
    return out;
}

WENGERT_INLINE AnyTensor packed_from(const LoopParameters& p, const std::vector<AnyTensor>& parts)
{
    return with_real(p.dtype, [&]<class T>() {
        AnyTensor total;
        for (std::size_t k = 0; k < parts.size(); ++k) {
            if (!parts[k].value || !p.results[k].wanted()) continue;
            const Tensor<T> part(converted(parts[k], p.dtype, Site{}));
            const Tensor<T> term =
                apply<Pack, T>(Pack{p.results[k].offset, p.results[k].shape, p.size}, Site{}, part);
            total = total.value ? (Tensor<T>(total) + term).any() : term.any();
        }
        return total.value ? total : AnyTensor{zeros_block(p.dtype, Shape{p.size}), {}};
    });
}

}  // namespace wengert::detail
