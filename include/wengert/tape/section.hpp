// Sections: several operations recorded as one, with several inputs, several results and a rule for them all. What
// checkpoints and frozen functions are on the tape.
//
// A node has one result, so a section is a hub, which knows inputs and rule, and a part for each result, whose only input is
// the hub. In a sweep the parts come first: each leaves its cotangent with the walk, and the hub finds them all there.
#pragma once

#include <memory>

#include "obliged.hpp"
#include "run_log.hpp"
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
    const Captured captured;  ///< what the section reads when it is recorded again

protected:
    SectionRule(std::string_view n, Pull* p) : name(n), pull(p), rerun(nullptr) {}
    SectionRule(std::string_view n, Rerun* r, Captured c)
        : name(n), pull(nullptr), rerun(r), captured(std::move(c))
    {}
    ~SectionRule() = default;
};

namespace detail {

struct SectionOp {
    std::shared_ptr<const SectionRule> rule;
    std::size_t results = 0;
};

void section_vjp(const Node& n, const AnyTensor&, Cotangents& out);

inline void part_vjp(const Node& n, const AnyTensor& g, Cotangents& out)
{
    if (out.wanted(0)) out.walk().add_part(*n.inputs[0], *static_cast<const std::size_t*>(n.op), g);
}

template <class Op> void* clone_plain(const void* op) { return new Op(*static_cast<const Op*>(op)); }
template <class Op> void destroy_plain(void* op) noexcept { delete static_cast<Op*>(op); }

const std::vector<std::uint64_t>& variables_of_section(const void* op);

inline constexpr Primitive section_primitive = [] {
    Primitive p;
    p.name = "section";
    p.differentiable = true;
    p.vjp = section_vjp;
    p.variables_beside = variables_of_section;
    p.clone = clone_plain<SectionOp>;
    p.destroy = destroy_plain<SectionOp>;
    return p;
}();

/// One for each floating-point type: `add` adds up what several uses of a result send back.
Primitive make_part_primitive(AnyTensor (*add)(const AnyTensor&, const AnyTensor&),
                              AnyTensor (*sum_to)(const AnyTensor&, const Shape&));

}  // namespace detail

/// Records results that have been computed from `in` without a recording. `part` gives the descriptor of a result by its
/// dtype. The section depends on its inputs and on the levels of what it captures. One that communicates is obliged to be
/// swept. Results stay constants where nothing that records depends on the inputs, and where they are no numbers.
std::vector<AnyTensor> record_section(const std::vector<AnyTensor>& in, const std::vector<Ref<Block>>& out,
                                      std::shared_ptr<const SectionRule> rule,
                                      const Primitive& (*part)(DType), const Site& at,
                                      bool communicates = false);

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/section.ipp"
#endif
