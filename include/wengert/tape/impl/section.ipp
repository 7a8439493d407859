// The bodies of section.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../section.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE const SectionOp& section_of(const void* op) { return *static_cast<const SectionOp*>(op); }

WENGERT_INLINE void section_vjp(const Node& n, const AnyTensor&, Cotangents& out)
{
    const SectionOp& op = section_of(n.op);
    std::vector<AnyTensor> parts = out.walk().take_parts(n), inputs(n.input_count);
    std::vector<bool> wanted(n.input_count);
    parts.resize(op.results);
    const auto input = [&](std::size_t i) {
        return AnyTensor{Ref<Block>(n.saved()[i]), Ref<Node>(n.inputs[i])};
    };
    if (op.rule->rerun) {
        for (std::size_t i = 0; i < n.input_count; ++i) inputs[i] = input(i);
        return out.walk().rerun([&] { return op.rule->rerun(*op.rule, inputs, n.at); }, std::move(parts));
    }
    for (std::size_t i = 0; i < n.input_count; ++i) {
        inputs[i] = input(i);
        wanted[i] = n.inputs[i] && out.wanted(i);
    }
    std::vector<AnyTensor> cotangents = op.rule->pull(*op.rule, inputs, parts, wanted, n.at);
    for (std::size_t i = 0; i < n.input_count; ++i)
        if (wanted[i] && cotangents[i].value) out.add(i, std::move(cotangents[i]));
}

WENGERT_INLINE const std::vector<std::uint64_t>& variables_of_section(const void* op)
{
    return section_of(op).rule->captured.variables;
}

WENGERT_INLINE Primitive make_part_primitive(AnyTensor (*add)(const AnyTensor&, const AnyTensor&),
                                             AnyTensor (*sum_to)(const AnyTensor&, const Shape&))
{
    Primitive p;
    p.name = "section result";
    p.arity = 1;
    p.differentiable = true;
    p.vjp = part_vjp;
    p.add = add;
    p.sum_to = sum_to;
    p.clone = clone_plain<std::size_t>;
    p.destroy = destroy_plain<std::size_t>;
    return p;
}

}  // namespace detail
WENGERT_INLINE std::vector<AnyTensor> record_section(const std::vector<AnyTensor>& in,
                                                     const std::vector<Ref<Block>>& out,
                                                     std::shared_ptr<const SectionRule> rule,
                                                     const Primitive& (*part)(DType), const Site& at,
                                                     bool communicates)
{
    Tape& tape = Tape::current();
    std::uint64_t captured = rule->captured.levels & tape.active;
    if (communicates) captured |= detail::levels_of_transforms(tape);
    std::vector<const AnyTensor*> operands;
    for (const AnyTensor& x : in) operands.push_back(&x);
    const std::uint64_t mask = captured | tape.dependence(operands.data(), in.size(), rule->name, at);
    std::vector<AnyTensor> results;
    for (const auto& b : out) results.push_back({b, {}});
    if (mask == 0) return results;
    detail::refuse_operands(detail::section_primitive, operands.data(), in.size(), at);
    const auto token = token_block();
    auto hub = detail::make_node(tape, detail::section_primitive, operands.data(), in.size(), *token, mask,
                                 0xff, at);
    const detail::SectionOp op{std::move(rule), out.size()};
    hub->op = detail::section_primitive.clone(&op);
    if (tape.hooks) tape.pack(*hub);
    tape.append(hub.get());
    if (communicates) detail::oblige(tape, hub);
    const AnyTensor source{token, hub};
    const AnyTensor* const from[] = {&source};
    for (std::size_t k = 0; k < out.size(); ++k) {
        if (!differentiable(out[k]->dtype)) continue;
        auto node = detail::make_node(tape, part(out[k]->dtype), from, 1, *out[k], mask, 0, at);
        node->op = part(out[k]->dtype).clone(&k);
        tape.append(node.get());
        results[k].node = std::move(node);
    }
    return results;
}

}  // namespace wengert
