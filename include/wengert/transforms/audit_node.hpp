// One recorded operation, its derivative tested where it stands.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "../ops/elementwise/cast.hpp"
#include "audit_report.hpp"
#include "check_grads.hpp"

namespace wengert {

namespace detail {

/// Can the operation be applied to other inputs? The identities at the borders of transforms cannot, and need not.
inline bool applies_again(const Node& n)
{
    const Primitive& p = *n.primitive;
    return p.elementwise || p.compute;
}

/// Applies the operation of a node to other inputs.
inline AnyTensor apply_again(const Node& n, const std::vector<AnyTensor>& x)
{
    const Primitive& p = *n.primitive;
    std::vector<const AnyTensor*> in;
    for (const auto& t : x) in.push_back(&t);
    if (p.elementwise) return apply_elementwise(p, in.data(), n.at);
    std::vector<Ref<Block>> blocks;
    for (const auto& t : x) blocks.push_back(t.value);
    return record(p, in.data(), in.size(), compute_structural(p, n.op, blocks.data(), blocks.size(), n.at),
                  n.op, n.at);
}

/// Inputs and result may be of different types (casts): the test runs in one type T, and converts on the way in and out.
template <class T> Tensor<T> converted_from(const AnyTensor& x)
{
    return Tensor<T>(converted(x, dtype_of<T>(), Site{}));
}
template <class T, class D> AnyTensor converted_to(DType to, const Tensor<T, D>& x)
{
    return converted(x.any(), to, Site{});
}

/// What differences of a dtype are worth: the step of an operation's inputs, that of the function's arguments, the relative error
/// that is forgiven, and that of a number.
struct AuditScale {
    double step, motion, tolerance, rounding;
};
inline AuditScale scale_of(DType narrowest)
{
    return is_single(narrowest) ? AuditScale{1e-2, 1e-2, 1e-2, 1e-6} : AuditScale{1e-5, 1e-4, 1e-5, 1e-14};
}
/// Is the rule right, by both numbers? `size` is that of the terms whose difference one of them is.
inline bool agree(const AuditFinding& f, const AuditScale& scale, double size, double step)
{
    return std::abs(f.analytic - f.numeric) <=
           scale.tolerance * (1 + std::abs(f.numeric)) + size * scale.rounding / step;
}

/// Has the node an input that its rule does not name, and that is a constant to the tape?
inline bool is_silent(const Node& n, std::size_t i)
{
    return i < 8 && (n.primitive->silent >> i & 1) && !n.inputs[i];
}
inline bool has_silent_input(const Node& n)
{
    for (std::size_t i = 0; i < n.input_count; ++i)
        if (is_silent(n, i)) return true;
    return false;
}
/// x in another block, each element larger by a millionth: whole numbers among them, such as pivots, keep their meaning.
template <class T> Ref<Block> nudged(const Block& x)
{
    auto y = copy_of(x);
    T* const e = y->template as<T>();
    for (std::size_t i = 0; i < y->count; ++i) e[i] = e[i] == 0 ? T(0x1p-20) : e[i] * T(1 + 0x1p-20);
    return y;
}
/// Does the result depend on a silent input? One that says whether a solver has converged is of no consequence.
template <class T> bool hears_silent_input(const Node& n)
{
    if (!has_silent_input(n)) return false;
    std::vector<AnyTensor> in(n.input_count);
    for (std::size_t i = 0; i < n.input_count; ++i) {
        in[i].value = Ref<Block>(n.saved()[i]);
        if (!is_silent(n, i)) continue;
        const Ref<Block> x = readable(in[i].value);
        in[i].value =
            placed(with_real(x->dtype, [&]<class V>() { return nudged<V>(*x); }), n.saved()[i]->device());
    }
    try {
        const Tensors<T> y{converted_from<T>(AnyTensor{Ref<Block>(n.saved()[n.input_count]), {}})},
            moved{converted_from<T>(apply_again(n, in))}, d{moved[0] - y[0]};
        return !(inner(d, d) == 0);
    } catch (const Error&) {
        return true;
    }
}

/// Is there no finite number among the elements of its result? Then nothing can be said of its rule.
template <class T> bool has_no_finite_element(const Node& n)
{
    const auto y = converted_from<T>(AnyTensor{Ref<Block>(n.saved()[n.input_count]), {}});
    const Ref<Block> b = contiguous(readable(y.any().value));
    const T* const e = b->template as<T>();
    return b->count > 0 && std::none_of(e, e + b->count, [](T v) { return std::isfinite(v); });
}

/// A node as a function of some of its inputs, and their values. These are the inputs that have a derivative, or `named`: all that
/// the rule may name.
template <class T> struct AuditedNode {
    explicit AuditedNode(const Node& n, bool named = false)
        : node(n), all(n.input_count), varies(n.input_count), narrowest(n.dtype)
    {
        for (std::size_t i = 0; i < n.input_count; ++i) {
            all[i].value = Ref<Block>(n.saved()[i]);
            const DType type = all[i].value->dtype;
            varies[i] = n.inputs[i] || (named && row_of(type).real && !is_silent(n, i));
            if (!varies[i]) continue;
            narrowest = std::min(narrowest, type);
            x.push_back(converted_from<T>(all[i]));
        }
    }
    Tensors<T> operator()(const Tensors<T>& variables) const
    {
        std::vector<AnyTensor> in = all;
        std::size_t next = 0;
        for (std::size_t i = 0; i < in.size(); ++i)
            if (varies[i]) in[i] = converted_to(all[i].value->dtype, variables[next++]);
        return Tensors<T>{finite_part(converted_from<T>(apply_again(node, in)))};
    }
    /// With 0 where the result is not finite: ∞ − ∞ tells nothing of a rule.
    Tensor<T> finite_part(const Tensor<T>& y) const
    {
        return where(is_finite(converted_from<T>(AnyTensor{Ref<Block>(node.saved()[node.input_count]), {}})),
                     y, zeros_like(y));
    }

    const Node& node;
    std::vector<AnyTensor> all;
    std::vector<bool> varies;
    Tensors<T> x;
    DType narrowest;
};

/// One node, its inputs that have a derivative moved by themselves. By shorter steps as long as those change the differences: 1/x at
/// 1e-3 bends.
template <class T> bool audit_node(const Node& n, std::uint64_t& state, AuditFinding& finding)
{
    const AuditedNode<T> audited(n);
    const TensorFunction<T> f = std::cref(audited);
    const Tensors<T>& x = audited.x;
    const Tensors<T> v = random_like(x, state), u = random_like(Tensors<T>{f(x)}, state);
    finding.analytic = inner(vjp_at(f, n.at, x).second(u, n.at), v);
    const AuditScale scale = scale_of(audited.narrowest);
    const auto by = [&](double step, AuditFinding& found) {
        double size = 0;
        found.numeric = difference(f, x, v, u, step, size);
        return agree(found, scale, size, step);
    };
    double step = scale.step;
    for (bool right = by(step, finding); !right; right = by(step, finding)) {
        AuditFinding finer{"", {}, finding.numeric};
        if (by(step /= 10, finer) || step < 1e-7 * scale.step) return false;  // so the differences are right
    }
    return true;
}

}  // namespace detail
}  // namespace wengert
