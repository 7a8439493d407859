// Sections: several operations recorded as one, with several inputs, several results and a rule for them all. What
// checkpoints and frozen functions are on the tape.
//
// A node has one result, so a section is a hub, which knows inputs and rule, and a part for each result, whose only input is
// the hub. In a sweep the parts come first: each leaves its cotangent with the walk, and the hub finds them all there.
#pragma once

#include <memory>

#include "walk.hpp"

namespace wengert {

/// The derivative of a section, by one of two functions. Nothing is virtual: see FieldVisitor.
class SectionRule {
public:
    /// The cotangents of the inputs from those of the results; results without one, and inputs that do not want one, are
    /// empty. Written in tensors, so that it differentiates again.
    using Pull = std::vector<AnyTensor>(const SectionRule&, const std::vector<AnyTensor>& inputs,
                                        const std::vector<AnyTensor>& cotangents,
                                        const std::vector<bool>& wanted, const Site& at);
    /// Another way: the section recorded again, from inputs that still depend on what they came from. The sweep goes on from
    /// the results, so that it also reaches what the section captures.
    using Rerun = std::vector<AnyTensor>(const SectionRule&, const std::vector<AnyTensor>& inputs,
                                         const Site& at);

    const std::string_view name;
    Pull* const pull;
    Rerun* const rerun;

protected:
    SectionRule(std::string_view n, Pull* p) : name(n), pull(p), rerun(nullptr) {}
    SectionRule(std::string_view n, Rerun* r) : name(n), pull(nullptr), rerun(r) {}
    ~SectionRule() = default;
};

namespace detail {

struct SectionOp {
    std::shared_ptr<const SectionRule> rule;
    std::size_t results = 0;
};

inline void section_vjp(const Node& n, const AnyTensor&, Cotangents& out)
{
    const auto& op = *static_cast<const SectionOp*>(n.op);
    std::vector<AnyTensor> parts = out.walk().take_parts(n), inputs(n.input_count);
    std::vector<bool> wanted(n.input_count);
    parts.resize(op.results);
    const auto input = [&](std::size_t i) {
        return AnyTensor{Ref<Block>(n.saved[i]), Ref<Node>(n.inputs[i])};
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

inline void part_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    if (out.wanted(0)) out.walk().add_part(*n.inputs[0], *static_cast<const std::size_t*>(n.op), g);
}

template <class Op> void* clone_plain(const void* op) { return new Op(*static_cast<const Op*>(op)); }
template <class Op> void destroy_plain(void* op) noexcept { delete static_cast<Op*>(op); }

inline constexpr Primitive section_primitive = [] {
    Primitive p;
    p.name = "section";
    p.differentiable = true;
    p.vjp = section_vjp;
    p.clone = clone_plain<SectionOp>;
    p.destroy = destroy_plain<SectionOp>;
    return p;
}();

/// One for each floating-point type: `add` adds up what several uses of a result send back.
inline Primitive make_part_primitive(AnyTensor (*add)(const AnyTensor&, const AnyTensor&),
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

/// Records results that have been computed from `in` without a recording. `part` gives the descriptor of a result by its
/// dtype, `captured` the levels that what the section captures depends on. Results stay constants where nothing that records
/// depends on the inputs, and where they are no numbers.
template <class Part>
std::vector<AnyTensor> record_section(const std::vector<AnyTensor>& in, const std::vector<Ref<Block>>& out,
                                      std::shared_ptr<const SectionRule> rule, const Part& part,
                                      const Site& at, std::uint64_t captured = 0)
{
    Tape& tape = Tape::current();
    std::vector<const AnyTensor*> operands;
    for (const AnyTensor& x : in) operands.push_back(&x);
    const std::uint64_t mask = captured | tape.dependence(operands.data(), in.size(), rule->name, at);
    std::vector<AnyTensor> results;
    for (const auto& b : out) results.push_back({b, {}});
    if (mask == 0) return results;
    detail::refuse_writers(detail::section_primitive, operands.data(), in.size(), at);
    const auto token = zeros_block(DType::float32, Shape());
    auto hub = detail::make_node(tape, detail::section_primitive, operands.data(), in.size(), *token, mask,
                                 0xff, at);
    const detail::SectionOp op{std::move(rule), out.size()};
    hub->op = detail::section_primitive.clone(&op);
    if (tape.hooks) tape.pack(*hub);
    tape.append(hub.get());
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
