// audit: every operation that a function records, its derivative tested where it stands.
#pragma once

#include "check_grads.hpp"

namespace wengert {

struct AuditFinding {
    std::string primitive;
    Site at;
    double analytic = 0, numeric = 0;  ///< ⟨Jᵀu, v⟩ of the rule, ⟨u, J v⟩ by differences of the operation itself
};

struct AuditReport {
    bool ok = true;
    std::size_t nodes = 0;             ///< operations tested
    std::vector<AuditFinding> findings;
    std::string message;               ///< a line for each wrong rule: primitive, file:line, both numbers
    explicit operator bool() const noexcept { return ok; }
};

namespace detail {

/// Applies the operation of a node again, to other inputs.
inline AnyTensor apply_again(const Node& n, const std::vector<AnyTensor>& x)
{
    std::vector<const AnyTensor*> in;
    for (const auto& t : x) in.push_back(&t);
    if (n.primitive->elementwise) return apply_elementwise(*n.primitive, in.data(), n.at);
    std::vector<Ref<Block>> blocks;
    for (const auto& t : x) blocks.push_back(t.value);
    return record(*n.primitive, in.data(), in.size(), n.primitive->compute(n.op, blocks.data(), n.at), n.op, n.at);
}

/// One node: its inputs' values and which of them have a derivative.
template <class T>
bool audit_node(const Node& n, std::uint64_t& state, AuditFinding& finding)
{
    std::vector<AnyTensor> all(n.input_count);
    Tensors<T> x;
    for (std::size_t i = 0; i < n.input_count; ++i) {
        all[i].value = Ref<Block>(n.saved[i]);
        if (n.inputs[i]) x.push_back(Tensor<T>(all[i]));
    }
    const TensorFunction<T> f = [&](const Tensors<T>& variables) {
        std::vector<AnyTensor> in = all;
        std::size_t next = 0;
        for (std::size_t i = 0; i < in.size(); ++i)
            if (n.inputs[i]) in[i] = variables[next++].any();
        return Tensors<T>{Tensor<T>(apply_again(n, in))};
    };
    const Tensors<T> v = random_like(x, state), u = random_like(Tensors<T>{f(x)}, state);
    constexpr bool single = sizeof(T) == 4;
    const double h = single ? 1e-2 : 1e-5;
    double size = 0;
    finding.numeric = difference(f, x, v, u, h, size);
    finding.analytic = inner(vjp(f, x).second(u), v);
    return std::abs(finding.analytic - finding.numeric) <=
           (single ? 1e-2 : 1e-5) * (1 + std::abs(finding.numeric)) + size * (single ? 1e-6 : 1e-14) / h;
}

}  // namespace detail

/// Runs f on `args` and tests each operation that it records by one dot product, ⟨u, J v⟩ against ⟨Jᵀu, v⟩ with random
/// u and v: a wrong rule is named with the file and line of the user's call. Memory: every input of every operation.
template <class F, class X>
AuditReport audit(F&& f, const X& args)
{
    Tape& tape = Tape::current();
    AuditReport report;
    detail::LevelScope scope(tape, false);
    const Restore<bool> keep(tape.save_all, true);
    const auto variables = detail::lift_tree(detail::argument(args), scope.level(), "audit");
    const auto y = detail::call_with(f, variables);
    std::vector<const Node*> nodes;
    for (const Node* n = tape.first(); n; n = n->next)
        if (n->sequence >= scope.start() && n->input_count > 0 && !n->leaf() && n->saved[0]) nodes.push_back(n);
    std::uint64_t state = 7;
    const Restore<std::uint64_t> active(tape.active, 0);
    for (const Node* n : nodes) {
        AuditFinding finding{std::string(n->primitive->name), n->at};
        const bool ok = n->dtype == DType::float32 ? detail::audit_node<float>(*n, state, finding)
                                                   : detail::audit_node<double>(*n, state, finding);
        ++report.nodes;
        if (ok) continue;
        report.ok = false;
        report.message += "[" + finding.primitive + "] " + to_string(finding.at) + ": rule " +
                          std::to_string(finding.analytic) + ", difference " + std::to_string(finding.numeric) + "\n";
        report.findings.push_back(std::move(finding));
    }
    return report;
}

}  // namespace wengert
