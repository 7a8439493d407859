// The cotangents of structural operations, for all types of elements at once.
#pragma once

#include "../structural_rules.hpp"

namespace wengert::detail {

/// The cotangent of a result and the values that the rule of its operation may read.
struct SavedValues {
    const Node& n;
    const AnyTensor& g;
    const AnyTensor* x;
    const AnyTensor& y;
    AnyTensor pull(const StructuralPull& by) const { return by.pull(n, g, x, y); }
};

/// The cotangent of input i under a recorder: what the sweep would do in place is an operation of its own. False where it is not
/// done like that.
inline bool recorded_accumulation(const Node& n, std::size_t i, const StructuralPull& pull,
                                  const AnyTensor& g, Cotangents& out)
{
    const Primitive* add = n.primitive->pull[i].add;
    if (!add || out.walk().records(n, g)) return false;
    const AnyTensor& so_far = out.so_far(i);
    if ((!pull.part && !so_far.value) || so_far.node) return false;
    const Node& to = *n.inputs[i];
    std::vector<AnyTensor> in{
        so_far.value ? so_far : AnyTensor{zeros_beside(*g.value, to.dtype, to.shape), {}}, g};
    for (std::size_t s = 0; s <= n.input_count; ++s)
        if (pull.reads >> s & 1) in.push_back({Ref<Block>(n.saved()[s]), {}});
    out.replace(i, apply_any(*add, n.op, in.data(), in.size(), n.at));
    return true;
}

inline void recorded_pull(const SavedValues& v, std::size_t i, const StructuralPull& pull, Cotangents& out)
{
    if (recorded_accumulation(v.n, i, pull, v.g, out)) return;
    const AnyTensor r = v.pull(pull);
    out.add(i, pull.with_zero_rule && !out.walk().tape().allow_nan ? pull.with_zero_rule(r, v.g) : r);
}

/// Adds to the cotangent that is there, if the rule can.
inline bool added_in_place(const SavedValues& v, std::size_t i, const StructuralPull& pull, Cotangents& out)
{
    if (!pull.add || out.walk().tape().anomaly || v.g.value->access.device || out.walk().records(v.n, v.g))
        return false;
    // a whole contribution is only added where there is something to add to
    if (!pull.part && !out.so_far(i).value) return false;
    Block* const into = out.writable(i);
    return into && pull.add(v.n, v.g, v.x, v.y, *into);
}

/// `apart`: ȳ is written afterwards, so what the rule sees of it is copied.
inline void structural_vjp_input(const SavedValues& v, std::size_t i, const StructuralPull& pull,
                                 Cotangents& out, bool apart = false)
{
    if (!pull.pull || !out.wanted(i)) return;
    if (recorder()) [[unlikely]]
        return recorded_pull(v, i, pull, out);
    const bool guards = pull.with_zero_rule && !out.walk().tape().allow_nan;
    if (guards && v.g.value->access.device)  // which looks for itself: nobody waits
        return out.add(i, pull.with_zero_rule(v.pull(pull), v.g));
    const bool no_cotangent = guards && all_zero(*v.g.value);
    if (!no_cotangent && added_in_place(v, i, pull, out)) return;
    AnyTensor r = v.pull(pull);
    if (apart && r.value->is_view()) r.value = copy_of(*r.value);
    const bool guarded = no_cotangent && (out.walk().records(v.n, v.g) || !all_finite(*r.value));
    out.add(i, guarded ? pull.with_zero_rule(r, v.g) : r);
}

/// Is ȳ the sweep's alone, to be written in place?
inline bool may_change(const SavedValues& v, Cotangents& out)
{
    const Block& g = *v.g.value;
    return !recorder() && !out.walk().records(v.n, v.g) && !out.walk().tape().anomaly && !g.access.device &&
           !g.strided && may_write(g);
}

/// Inputs of an operation of which one's cotangent is ȳ changed in place come in this order: that one last.
inline void pull_and_change(const SavedValues& v, const StructuralPull* pulls, Cotangents& out)
{
    const bool changes = may_change(v, out);
    std::size_t changed = 0;
    for (std::size_t i = 0; i < v.n.input_count; ++i) {
        if (pulls[i].change)
            changed = i;
        else
            structural_vjp_input(v, i, pulls[i], out, changes);
    }
    if (!out.wanted(changed)) return;
    if (!changes || !may_write(*v.g.value)) return structural_vjp_input(v, changed, pulls[changed], out);
    pulls[changed].change(v.n, v.g.value);
    out.add(changed, v.g);
}

/// A rule met an empty tensor: says which of its values it was.
[[noreturn]] inline void refuse_unsaved(const Node& n, const EmptyTensor& e)
{
    std::string which;
    for (std::size_t i = 0; i <= n.input_count; ++i) {
        const bool result = i == n.input_count;
        if (n.saved()[i] || e.source != (result ? &n : n.inputs[i])) continue;
        which += (which.empty() ? "" : " or ") +
                 (result ? std::string("its result") : "input " + std::to_string(i));
    }
    if (which.empty()) throw;
    fail<TapeError>(n.primitive->name, "the rule reads " + which + ", which it does not list in saves", n.at);
}

template <std::size_t most>
void pull_inputs(const Node& n, const AnyTensor& g, const StructuralPull* pulls, Cotangents& out)
{
    AnyTensor x[most];
    for (std::size_t i = 0; i < n.input_count; ++i) x[i] = saved_input(n, i);
    const AnyTensor y = saved_output(n);
    const SavedValues values{n, g, x, y};
    for (std::size_t i = 0; i < n.input_count; ++i)
        if (pulls[i].change) return pull_and_change(values, pulls, out);
    for (std::size_t i = 0; i < n.input_count; ++i) structural_vjp_input(values, i, pulls[i], out);
}

WENGERT_INLINE void structural_vjp_by(const Node& n, const AnyTensor& g, const StructuralPull* pulls,
                                      Cotangents& out)
{
    try {
        switch (n.input_count) {  // room for no more than there is: clearing it shows in small operations
        case 1: return pull_inputs<1>(n, g, pulls, out);
        case 2: return pull_inputs<2>(n, g, pulls, out);
        default: return pull_inputs<Primitive::max_elementwise>(n, g, pulls, out);
        }
    } catch (const EmptyTensor& e) {
        refuse_unsaved(n, e);
    }
}

}  // namespace wengert::detail
