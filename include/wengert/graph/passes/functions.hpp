// Which function a primitive computes. Elementwise ones are known by the program of their rule (base/term.hpp), so a name
// means nothing: a user's x + y is an addition and a user's `add` that multiplies is none. Structural ones are known by
// the type of their parameters.
#pragma once

#include "../../ops/creation.hpp"
#include "../../ops/math.hpp"
#include "../../ops/shape_rules.hpp"
#include "../../ops/view.hpp"
#include "../ir/graph.hpp"

namespace wengert::passes {

enum class Fn : std::uint8_t {
    unknown,
    // elementwise
    identity,
    add,
    subtract,
    multiply,
    divide,
    negative,
    maximum,
    minimum,
    abs,
    square,
    exp,
    sqrt,
    tanh,
    where,
    relu,
    logical_not,
    cast,
    guarded_multiply,           ///< g b, or 0 where g is 0 and that is not finite: multiply.pull0, exp.pull0
    guarded_divide,             ///< the same of g / b
    guarded_square,             ///< the same of g (2 x)
    zero_where_undefined,       ///< of (g, r)
    zero_where_undefined_pull,  ///< of (h, g, r)
    // structural
    reshape,
    transpose,
    broadcast_to,
    expand_dims,
    squeeze,
    select,
    copy,
    sum,
    product,          ///< of matrices, as MatrixProduct says
    silence,          ///< Primitive::silences, of (r, g) or (v, r, g)
    view_accumulate,  ///< cotangent so far + g at a selection
    element_accumulate
};

namespace detail {

using Program = std::vector<TermStep>;

struct Reference {
    Fn fn;
    std::size_t arity;
    Program program;
};

template <class P> Program pull_program()
{
    return written_rule(2, [](const Term* in) { return wengert::detail::describe_pull<P, 0, 0, 1, 2>(in); });
}

/// The functions that passes know, as the library's own rules write them.
inline const std::vector<Reference>& references()
{
    static const auto* const table = [] {
        auto* t =
            new std::vector<Reference>;  // for the program's life: rules are asked for by thread_local caches
        const auto say = [&](Fn fn, std::size_t n, auto rule) {
            t->push_back({fn, n, written_rule(n, rule)});
        };
        using T = const Term*;
        say(Fn::identity, 1, [](T x) { return x[0]; });
        say(Fn::add, 2, [](T x) { return Add::value(x[0], x[1]); });
        say(Fn::subtract, 2, [](T x) { return Subtract::value(x[0], x[1]); });
        say(Fn::multiply, 2, [](T x) { return Multiply::value(x[0], x[1]); });
        say(Fn::divide, 2, [](T x) { return Divide::value(x[0], x[1]); });
        say(Fn::negative, 1, [](T x) { return Negative::value(x[0]); });
        say(Fn::maximum, 2, [](T x) { return maximum(x[0], x[1]); });
        say(Fn::minimum, 2, [](T x) { return minimum(x[0], x[1]); });
        say(Fn::abs, 1, [](T x) { return abs(x[0]); });
        say(Fn::square, 1, [](T x) { return x[0] * x[0]; });
        say(Fn::exp, 1, [](T x) { return exp(x[0]); });
        say(Fn::sqrt, 1, [](T x) { return sqrt(x[0]); });
        say(Fn::tanh, 1, [](T x) { return tanh(x[0]); });
        say(Fn::where, 3, [](T x) { return Where::value(x[0], x[1], x[2]); });
        say(Fn::relu, 1, [](T x) { return maximum(x[0], Term(lit(0))); });
        say(Fn::logical_not, 1, [](T x) { return !x[0]; });
        say(Fn::cast, 1, [](T x) { return x[0].cast(DType::float64); });
        t->push_back({Fn::guarded_multiply, 2, pull_program<Multiply>()});
        t->push_back({Fn::guarded_divide, 2, pull_program<Divide>()});
        say(Fn::guarded_square, 2, [](T in) { return wengert::detail::describe_pull<Square, 0, 0, 1>(in); });
        say(Fn::zero_where_undefined, 2, [](T x) { return ZeroWhereUndefined::value(x[0], x[1]); });
        say(Fn::zero_where_undefined_pull, 3,
            [](T in) { return wengert::detail::describe_pull<ZeroWhereUndefined, 1, 0, 1, 2>(in); });
        return t;
    }();
    return *table;
}

template <class Op> bool is_op(const Primitive& p, std::string_view kind = Op::name)
{
    return p.kind == kind;
}

inline Fn structural_function(const Primitive& p)
{
    if (is_op<Reshape>(p)) return Fn::reshape;
    if (is_op<Transpose>(p)) return Fn::transpose;
    if (is_op<BroadcastTo>(p)) return Fn::broadcast_to;
    if (is_op<ExpandDims>(p)) return Fn::expand_dims;
    if (is_op<Squeeze>(p)) return Fn::squeeze;
    if (is_op<Select>(p)) return Fn::select;
    if (is_op<Copy>(p)) return Fn::copy;
    if (is_op<Sum>(p)) return Fn::sum;
    if (p.product) return Fn::product;
    if (p.silences) return Fn::silence;
    if (is_op<Select>(p, "view.pull0")) return Fn::view_accumulate;
    if (is_op<Element>(p, "element.pull0")) return Fn::element_accumulate;
    return Fn::unknown;
}

inline Fn recognise(const Primitive& p)
{
    if (!p.value) return structural_function(p);
    if (!p.describe || p.arity > Primitive::max_elementwise) return Fn::unknown;
    const Program program = written_rule(p.arity, p.describe);
    for (const Reference& r : references())
        if (r.arity == p.arity && same_rule(r.program, program)) return r.fn;
    return Fn::unknown;
}

}  // namespace detail

/// What p computes. Remembered for each descriptor.
inline Fn function_of(const Primitive& p)
{
    struct Entry {
        const Primitive* p;
        TileKernel value;
        decltype(Primitive::compute) compute;
        Fn fn;
    };
    static thread_local std::array<Entry, 512> cache{};
    Entry& e = cache[(reinterpret_cast<std::uintptr_t>(&p) >> 6) * 0x9E3779B97F4A7C15ULL >> 55];
    // a library that has been unloaded may have left its descriptor's address to another one
    const bool same = e.p == &p && e.value == p.value && e.compute == p.compute;
    if (!same) e = {&p, p.value, p.compute, detail::recognise(p)};
    return e.fn;
}

/// Of Fn::silence: the first operand is the one that may not be finite.
inline bool silences_itself(const GraphNode& n) { return n.inputs.size() == 2; }

/// The parameters of a structural node whose function is known.
template <class Op> const Op& parameters_of(const GraphNode& n)
{
    return *static_cast<const Op*>(n.op.get());
}

}  // namespace wengert::passes
