// What a kernel takes, roughly: enough to tell what is worth a thread. Counts steps of rules, multiplications of products,
// and otherwise the elements of the largest array that is read or written.
#pragma once

#include <array>
#include <cmath>

#include "library_rules.hpp"
#include "planned.hpp"
#include "schedule.hpp"

namespace wengert::tiling {

namespace detail {

/// Nanoseconds for each element, measured on one core with AVX-512, f64; half of it for f32.
struct KernelRates {
    static constexpr double arithmetic = 0.04, function = 1.0, product = 0.024;
};

inline double rule_work(const Primitive& p)
{
    if (!p.describe || p.arity > Primitive::max_elementwise) return KernelRates::function;
    TermProgram program;
    const TermScope scope(program);
    std::array<Term, Primitive::max_elementwise> in{};
    for (std::size_t i = 0; i < p.arity; ++i) in[i] = Term::input(static_cast<std::int32_t>(i));
    p.describe(in.data());
    double work = 0;
    for (const TermStep& s : program.steps) {
        const bool slow = (s.kind >= TermKind::exp && s.kind <= TermKind::erf) || s.kind == TermKind::pow ||
                          s.kind == TermKind::sigmoid || s.kind == TermKind::normal_cdf;
        work += slow ? KernelRates::function : KernelRates::arithmetic;
    }
    return work;
}

inline double elements_of(const Graph& g, ValueId v)
{
    return static_cast<double>(element_count(g.node(v).shape));
}

/// For C = AB of sizes (m, k), (k, n): mkn = √(|A| |B| |C|). A stack of s of them has s √(|A| |B| |C| / s³).
inline double product_work(const Graph& g, const GraphNode& n, ValueId v)
{
    const std::size_t first = n.primitive->name == "matmul" ? 0 : 1;  // others add to their first operand
    double stack = 1;
    for (std::size_t a = 2; a < n.shape.size(); ++a) stack *= static_cast<double>(n.shape[a - 2]);
    return KernelRates::product * std::sqrt(elements_of(g, v) * elements_of(g, n.inputs[first]) *
                                            elements_of(g, n.inputs[first + 1]) / std::max(stack, 1.0));
}

inline double node_work(const Graph& g, const Layouts& layouts, ValueId v)
{
    const GraphNode& n = g.node(v);
    double elements = elements_of(g, v);
    if (n.primitive->value) return elements * rule_work(*n.primitive);
    if (layouts[v].is_view(v)) return 0;
    const std::string_view name = n.primitive->name;
    if (name == "matmul" || ((name.substr(0, 7) == "matmul." || name == "gemm") && n.inputs.size() > 2))
        return product_work(g, n, v);
    for (ValueId i : n.inputs) elements = std::max(elements, elements_of(g, i));
    const Rule r = rule_of(g, layouts, v);
    const bool other = r == Rule::compute || r == Rule::update;  // softmax, random numbers
    return elements * (other ? KernelRates::function : KernelRates::arithmetic);
}

}  // namespace detail

/// Nanoseconds on one thread.
inline double kernel_work(const Graph& g, const Layouts& layouts, const Task& t)
{
    double work = 0, bytes = 0;
    for (ValueId v : t.group.nodes)
        work += detail::node_work(g, layouts, v) * (size_of(g.node(v).dtype) == 8 ? 1.0 : 0.5);
    for (const auto* list : {&t.group.operands, &t.group.results})
        for (ValueId v : *list)
            bytes += detail::elements_of(g, v) * static_cast<double>(size_of(g.node(v).dtype));
    return work + bytes * detail::KernelRates::arithmetic / 8;
}

/// Does a team divide the kernel among its threads?
inline bool is_divided(const Graph& g, const Layouts& layouts, const Task& t)
{
    const GraphNode& n = g.node(t.group.nodes[0]);
    std::size_t count = 0;
    if (t.kernel)
        count = t.kernel->elements();
    else if (n.primitive->value)
        count = element_count(n.shape);
    else if (const Rule r = rule_of(g, layouts, t.group.nodes[0]); r == Rule::sum || r == Rule::mean)
        count = element_count(g.node(n.inputs[0]).shape);
    return count >= least_divided;
}

}  // namespace wengert::tiling
