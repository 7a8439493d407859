// audit: every operation that a function records, its derivative tested where it stands.
#pragma once

#include "../ops/elementwise/cast.hpp"
#include "check_grads.hpp"

namespace wengert {

/// One operation whose derivative disagrees with differences.
struct AuditFinding {
    std::string primitive;
    Site at;
    double analytic = 0,
           numeric = 0;  ///< ⟨Jᵀu, v⟩ of the rule, ⟨u, J v⟩ by differences of the operation itself
};

/// What audit has found, operation by operation.
struct AuditReport {
    bool ok = true;
    std::size_t nodes = 0;  ///< operations tested
    std::vector<AuditFinding> findings;
    std::string message;  ///< a line for each wrong rule: primitive, file:line, both numbers
    explicit operator bool() const noexcept { return ok; }
};

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

/// One node, differentiated with respect to those of its inputs that have a derivative.
template <class T> bool audit_node(const Node& n, std::uint64_t& state, AuditFinding& finding)
{
    std::vector<AnyTensor> all(n.input_count);
    Tensors<T> x;
    DType narrowest = n.dtype;
    for (std::size_t i = 0; i < n.input_count; ++i) {
        all[i].value = Ref<Block>(n.saved()[i]);
        if (!n.inputs[i]) continue;
        narrowest = std::min(narrowest, n.saved()[i]->dtype);
        x.push_back(converted_from<T>(all[i]));
    }
    const TensorFunction<T> f = [&](const Tensors<T>& variables) {
        std::vector<AnyTensor> in = all;
        std::size_t next = 0;
        for (std::size_t i = 0; i < in.size(); ++i)
            if (n.inputs[i]) in[i] = converted_to(all[i].value->dtype, variables[next++]);
        return Tensors<T>{converted_from<T>(apply_again(n, in))};
    };
    const Tensors<T> v = random_like(x, state), u = random_like(Tensors<T>{f(x)}, state);
    const bool single = is_single(narrowest);
    const double h = single ? 1e-2 : 1e-5;
    double size = 0;
    finding.numeric = difference(f, x, v, u, h, size);
    finding.analytic = inner(vjp_at(f, n.at, x).second(u, n.at), v);
    return std::abs(finding.analytic - finding.numeric) <=
           (single ? 1e-2 : 1e-5) * (1 + std::abs(finding.numeric)) + size * (single ? 1e-6 : 1e-14) / h;
}

template <class F, class X> AuditReport audit_at(F& f, const Site& at, const X& args)
{
    Tape& tape = Tape::current();
    AuditReport report;
    LevelScope scope(tape, false);
    const Restore<bool> keep(tape.save_all, true);
    const auto variables = lift_tree(args, scope.level(), "audit", at);
    const auto y = call_with(f, variables, at);
    std::vector<const Node*> nodes;
    for (const Node* n = tape.first(); n; n = n->next)
        if (n->sequence >= scope.start() && n->input_count > 0 && !n->leaf() && n->saved()[0] &&
            applies_again(*n))
            nodes.push_back(n);
    std::uint64_t state = 7;
    const Restore<ActiveLevels> active(tape.active, 0);
    for (const Node* n : nodes) {
        AuditFinding finding{std::string(n->primitive->name), n->at};
        const bool ok = audit_node<double>(*n, state, finding);
        ++report.nodes;
        if (ok) continue;
        report.ok = false;
        report.message += "[" + finding.primitive + "] " + to_string(finding.at) + ": rule " +
                          std::to_string(finding.analytic) + ", difference " +
                          std::to_string(finding.numeric) + "\n";
        report.findings.push_back(std::move(finding));
    }
    return report;
}

}  // namespace detail

/// Runs f on its arguments and tests each operation that it records by one dot product, ⟨u, J v⟩ against ⟨Jᵀu, v⟩ with random
/// u and v: a wrong rule is named with the file and line of the user's call. Memory: every input of every operation.
template <class F, detail::NoSite A>
AuditReport audit(F&& f, const A& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::audit_at(f, at, detail::argument(a));
}
/// The same for several arguments, which may be given as a tuple too.
template <class F, detail::NoSite A, detail::NoSite B>
AuditReport audit(F&& f, const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::audit_at(f, at, std::tuple(detail::argument(a), detail::argument(b)));
}
template <class F, detail::NoSite A, detail::NoSite B, detail::NoSite C>
AuditReport audit(F&& f, const A& a, const B& b, const C& c, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::audit_at(f, at, std::tuple(detail::argument(a), detail::argument(b), detail::argument(c)));
}
template <class F, detail::NoSite... X>
    requires(sizeof...(X) > 3)
AuditReport audit(F&& f, const X&... x)
{
    return detail::audit_at(f, Site{}, std::tuple(detail::argument(x)...));
}

}  // namespace wengert
