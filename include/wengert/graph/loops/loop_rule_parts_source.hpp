// What loop_rule_parts.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../base/separate.hpp"
#include "loop_rule_parts.hpp"

namespace wengert::detail {

WENGERT_INLINE std::vector<AnyTensor> saved_inputs(const Node& n)
{
    std::vector<AnyTensor> in;
    for (std::size_t i = 0; i < n.input_count; ++i) in.push_back(saved_input(n, i));
    return in;
}

WENGERT_INLINE AnyTensor filled(DType d, const Shape& shape, double v)
{
    return is_single(d) ? filled_with(static_cast<float>(v), shape) : filled_with(v, shape);
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

WENGERT_INLINE std::vector<std::size_t> all_of(std::size_t first, std::size_t last)
{
    std::vector<std::size_t> out;
    for (std::size_t i = first; i < last; ++i) out.push_back(i);
    return out;
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

WENGERT_INLINE void add_pulled(const LoopParameters& pull, const AnyTensor& packed,
                               const std::vector<std::size_t>& inputs, Cotangents& out, const Site& at)
{
    for (std::size_t k = 0; k < inputs.size(); ++k)
        if (out.wanted(inputs[k])) out.add(inputs[k], unpacked(packed, pull.results[k], at));
}

WENGERT_INLINE Shape stacked_shape(std::int64_t steps, const Shape& one)
{
    Shape s{steps};
    for (auto e : one) s.push_back(e);
    return s;
}

WENGERT_INLINE void drop_unused(LoopParameters& p, std::vector<AnyTensor>& in)
{
    const Graph& g = *p.body;
    std::vector<bool> used(g.size());
    for (const GraphNode& n : g.nodes())
        for (ValueId i : n.inputs) used[i] = true;
    for (ValueId v : g.outputs()) used[v] = true;
    std::vector<std::size_t> keep;
    std::vector<AnyTensor> kept;
    std::size_t xs = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (i >= p.states && !used[g.inputs()[i]]) continue;
        keep.push_back(i);
        kept.push_back(in[i]);
        xs += i >= p.states && i < p.states + p.xs;
    }
    p.body = shared_graph(rearranged(g, keep, all_of(0, g.outputs().size())));
    p.xs = xs;
    in = std::move(kept);
}

WENGERT_INLINE std::vector<AnyTensor> cotangents_of_results(const Node& n, const AnyTensor& g,
                                                            Cotangents& out)
{
    const LoopParameters& p = *n.primitive->loop(n.op);
    std::vector<AnyTensor> parts = out.walk().take_parts(n);
    parts.resize(p.results.size());
    if (g.value->dtype == p.dtype && g.value->shape == Shape{p.size})  // of the packed block as a whole
        for (std::size_t k = 0; k < p.results.size(); ++k)
            if (differentiable(p.results[k].dtype) && p.results[k].wanted())
                parts[k] = unpacked(g, p.results[k], n.at);
    for (std::size_t k = 0; k < p.results.size(); ++k)
        if (parts[k].value && differentiable(p.results[k].dtype))
            parts[k] = converted(parts[k], p.results[k].dtype, n.at);
    return parts;
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
    AnyTensor total;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        if (!parts[k].value || !p.results[k].wanted()) continue;
        const AnyTensor part = converted(parts[k], p.dtype, Site{});
        total = is_single(p.dtype) ? packed_sum<float>(total, part, p.results[k], p.size)
                                   : packed_sum<double>(total, part, p.results[k], p.size);
    }
    return total.value ? total : AnyTensor{zeros_block(p.dtype, Shape{p.size}), {}};
}

WENGERT_INLINE std::shared_ptr<LoopParameters> branch_of(Graph yes, Graph no)
{
    auto q = std::make_shared<LoopParameters>();
    q->kind = Kind::cond;
    for (ValueId v : yes.outputs()) q->results.push_back({yes.node(v).dtype, yes.node(v).shape, 0});
    q->body = shared_graph(std::move(yes));
    q->other = shared_graph(std::move(no));
    return completed(std::move(q));
}

}  // namespace wengert::detail
