// What common_subexpressions.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../common_subexpressions.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE std::vector<std::uint64_t> parameters_of(const GraphNode& n)
{
    auto words = wengert::detail::words_of(n).words;
    if (n.op && !n.primitive->fields) words.push_back(reinterpret_cast<std::uintptr_t>(n.op.get()));
    return words;
}

WENGERT_INLINE std::uint64_t word_of(const Primitive& p)
{
    return p.value ? reinterpret_cast<std::uintptr_t>(p.value) : reinterpret_cast<std::uintptr_t>(p.compute);
}

WENGERT_INLINE bool determined(Fn fn) noexcept
{
    switch (fn) {
    case Fn::add:
    case Fn::subtract:
    case Fn::multiply:
    case Fn::divide:
    case Fn::negative:
    case Fn::where:
    case Fn::guarded_multiply:
    case Fn::guarded_divide: return true;
    default: return false;
    }
}

WENGERT_INLINE std::uint64_t hash_constant(const Block& b)
{
    if (b.strided) return reinterpret_cast<std::uintptr_t>(&b);
    std::uint64_t h = mix(static_cast<std::uint64_t>(b.dtype), b.count);
    for (auto e : b.shape) h = mix(h, static_cast<std::uint64_t>(e));
    const std::size_t bytes = b.bytes(), part = std::min<std::size_t>(bytes, 64);
    for (std::size_t i = 0; i < part; ++i) h = mix(h, static_cast<std::uint64_t>(b.data[i]));
    for (std::size_t i = bytes - part; i < bytes; ++i) h = mix(h, static_cast<std::uint64_t>(b.data[i]));
    return h;
}

WENGERT_INLINE std::uint64_t hash_node(const GraphNode& n, Fn fn)
{
    if (n.kind == Graph::Kind::constant) return hash_constant(*n.constant);
    const bool by_function = determined(fn);
    std::uint64_t h = by_function ? static_cast<std::uint64_t>(fn) : word_of(*n.primitive);
    h = mix(mix(h, static_cast<std::uint64_t>(n.dtype)), n.segment);
    if (commutes(fn)) {
        h = mix(mix(h, std::min(n.inputs[0], n.inputs[1])), std::max(n.inputs[0], n.inputs[1]));
    } else {
        for (ValueId v : n.inputs) h = mix(h, v);
    }
    for (std::uint64_t w : parameters_of(n)) h = mix(h, w);
    return h;
}

WENGERT_INLINE bool same_inputs(const GraphNode& a, const GraphNode& b, Fn fn)
{
    return a.inputs == b.inputs || (commutes(fn) && a.inputs[0] == b.inputs[1] && a.inputs[1] == b.inputs[0]);
}

WENGERT_INLINE bool same_node(const GraphNode& a, Fn fa, const GraphNode& b, Fn fb)
{
    if (a.kind != b.kind || a.dtype != b.dtype || !(a.shape == b.shape)) return false;
    if (a.kind == Graph::Kind::constant)
        return a.constant.get() == b.constant.get() || same_elements(*a.constant, *b.constant);
    if (a.segment != b.segment || fa != fb) return false;
    if (!determined(fa) && !same_primitive(*a.primitive, *b.primitive)) return false;
    if (!same_inputs(a, b, fa)) return false;
    return a.op == b.op || parameters_of(a) == parameters_of(b);
}

WENGERT_INLINE void remember_value(Rewrite& r, ValueId v)
{
    const GraphNode& n = r.node(v);
    if (n.kind == Graph::Kind::input || n.kind == Graph::Kind::result) return;
    if (n.primitive && n.primitive->effects) return;
    ValueId& known = r.known[r.hash ? std::exchange(r.hash, 0) : hash_node(n, r.fn(v)) | 1];
    if (known == no_value) known = v;
}

WENGERT_INLINE ValueId common_rule(Rewrite& r, GraphNode& n)
{
    if (n.kind == Graph::Kind::input) return no_value;
    r.hash = hash_node(n, r.here) | 1;
    const ValueId v = r.known.find(r.hash);
    return v != no_value && same_node(r.node(v), r.fn(v), n, r.here) ? v : no_value;
}

}  // namespace wengert::passes::detail
