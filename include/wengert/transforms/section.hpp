// The derivative of a section by running it again: what checkpoints and frozen functions have in common.
#pragma once

#include "../tape/section.hpp"
#include "level.hpp"

namespace wengert::detail {

/// The description of a section's result.
const Primitive& part_primitive(DType d);

/// A value of a run that was not recorded, which is recorded as a result from here on. Where the function has kept a copy of it, which
/// is recorded nowhere, the result has a header of its own. A run around it goes on unrecorded: there it stays what it is.
inline Ref<Block> as_result(Ref<Block> b)
{
    if (!b || !b->access.unrecorded || Tape::current().quiet == Tape::Quiet::run) return b;
    if (is_unique(b.get())) {
        b->access.unrecorded = false;
        return b;
    }
    Ref<Block> own = another_header(b);
    if (Recorder* const r = recorder()) {
        r->alias({b, {}}, own, {});
        own->access.unrecorded = false;
    }
    return own;
}

/// Sums of some elements of a tensor, each with a weight of its own. Another function, another branch or another parameter of an
/// operation gives others.
struct Fingerprint {
    Shape shape;
    double sum = 0, size = 0;  ///< Σ wᵢ yᵢ, Σ |wᵢ yᵢ| over finite elements

    /// Σ is 0 for what is no real number, or lies on another device.
    explicit Fingerprint(const Block& y);
};

/// What is kept of the first run's results, to notice that the second does something else.
class FirstResults {
public:
    FirstResults() = default;  ///< nothing: hooks may bring other digits back
    FirstResults(const std::vector<Ref<Block>>& results, bool whole);
    /// Throws TapeError where the second run's differ by more than rounding: what is recorded may be compiled otherwise than what is not.
    void demand_same(const std::vector<AnyTensor>& second, const std::vector<AnyTensor>& inputs,
                     std::string_view name, const Site& at) const;

private:
    std::vector<Ref<Block>> whole_;
    std::vector<Fingerprint> fingerprints_;
};

/// x as a variable of a level: see lift().
AnyTensor lift_any(const AnyTensor& x, std::size_t level, std::string_view transform, const Site& at);

/// f, from tensors to tensors, run on `inputs` and swept back from all results that have a cotangent. Gives the cotangents
/// of the wanted inputs, empty ones for zero.
template <class F>
std::vector<AnyTensor> pull_by_running(const F& f, const std::vector<AnyTensor>& inputs,
                                       const std::vector<AnyTensor>& cotangents,
                                       const std::vector<bool>& wanted, std::string_view name, const Site& at)
{
    Tape& tape = Tape::current();
    const Restore<Site> site(tape.site_override, Site{});  // errors inside name the lines of f
    const Restore<bool> rule(tape.in_rule, false);
    LevelScope scope(tape, false);
    std::vector<AnyTensor> variables = inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (wanted[i]) variables[i] = lift_any(inputs[i], scope.level(), name, at);
    const std::vector<AnyTensor> y = f(variables);
    Walk walk(tape, scope.level(), false);
    std::vector<std::pair<Node*, AnyTensor>> roots;
    for (std::size_t k = 0; k < y.size(); ++k)
        if (cotangents[k].value && walk.reaches(y[k].node.get()))
            roots.emplace_back(y[k].node.get(), cotangents[k]);
    walk.run(roots.data(), roots.size());
    std::vector<AnyTensor> out(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (wanted[i]) out[i] = variables[i].node->cotangent;
    return out;
}

/// The same forwards: the tangents of the results from those of the inputs, empty ones for zero.
template <class F>
std::vector<AnyTensor> push_by_running(const F& f, const std::vector<AnyTensor>& inputs,
                                       const AnyTensor* tangents, std::string_view name, const Site& at)
{
    Tape& tape = Tape::current();
    const Restore<Site> site(tape.site_override, Site{});  // errors inside name the lines of f
    const LevelScope scope(tape, true);
    std::vector<AnyTensor> variables = inputs, out;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!tangents[i].value) continue;
        variables[i] = lift_any(inputs[i], scope.level(), name, at);
        variables[i].node->add_tangent(scope.level(), tangents[i]);
    }
    for (const AnyTensor& y : f(variables)) {
        const AnyTensor* dot = y.node ? y.node->tangent(scope.level()) : nullptr;
        out.push_back(dot ? *dot : AnyTensor{});
    }
    return out;
}

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/section.ipp"
#endif
