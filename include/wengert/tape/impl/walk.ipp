// The bodies of walk.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <algorithm>
#include <iterator>

#include "../../base/separate.hpp"
#include "../walk.hpp"

namespace wengert {

WENGERT_INLINE Walk::~Walk() { abandon(); }

namespace detail {

WENGERT_INLINE WalkFailure& last_failure()
{
    static thread_local WalkFailure failure;
    return failure;
}

}  // namespace detail

WENGERT_INLINE Walk::Walk(Tape& tape, std::size_t level, std::uint64_t start, std::uint64_t lower,
                          bool retain)
    : tape_(tape), level_(level), bit_(Tape::bit(level)), start_(start), lower_(tape.active & lower),
      of_loops_(tape.levels_of_loops & lower), keep_(retain)
{
    if (tape_.walks > 0) [[unlikely]]
        set_aside();
}

WENGERT_INLINE void Walk::run(const Ref<Node>& out, AnyTensor g)
{
    std::pair<Node*, AnyTensor> root(out.get(), std::move(g));
    run(&root, 1);
}

WENGERT_INLINE void Walk::set_aside()
{
    aside_ = std::make_unique<SetAside>();
    for (const Node* n = tape_.last(); n && n->sequence >= start_; n = n->previous) {
        if (!n->pending && !n->cotangent.value) continue;
        Node& node = *const_cast<Node*>(n);
        aside_->held.push_back({Ref<Node>(&node), {}, node.pending});  // what may throw comes first
        std::swap(aside_->held.back().cotangent, node.cotangent);
        node.pending = false;
    }
}

WENGERT_INLINE Walk::SetAside::~SetAside()
{
    for (Held& h : held) {
        h.node->cotangent = std::move(h.cotangent);
        h.node->pending = h.pending;
    }
}

WENGERT_INLINE void Walk::take_obliged(std::size_t first)
{
    const auto begin = tape_.obliged.begin() + static_cast<std::ptrdiff_t>(first);
    for (auto n = begin; n != tape_.obliged.end(); ++n)
        if (owes(**n)) announce(**n);
    const auto mine = std::stable_partition(begin, tape_.obliged.end(),
                                            [&](const Ref<Node>& n) { return (n->mask & lower_) != 0; });
    std::move(mine, tape_.obliged.end(), std::back_inserter(rerun_));
    tape_.obliged.erase(mine, tape_.obliged.end());
}

WENGERT_INLINE void Walk::run(std::pair<Node*, AnyTensor>* roots, std::size_t count,
                              const std::vector<Ref<Node>>* given)
{
    const std::vector<Ref<Node>>& obliged = given ? *given : tape_.obliged;
    const Restore<int> running(tape_.walks, tape_.walks + 1);
    current_ = nullptr;
    const auto start_at = [&](Node* n) {
        if (!current_ || n->sequence > current_->sequence) current_ = n;
    };
    for (std::size_t k = 0; k < count; ++k) start_at(roots[k].first);
    for (const auto& n : obliged)
        if (owes(*n)) start_at(n.get());
    if (observer_) find_variables();
    if (!current_) return end_observed();
    highest_ = current_->sequence;
    try {
        for (const auto& n : obliged)
            if (owes(*n)) announce(*n);
        for (std::size_t k = 0; k < count; ++k) deliver(*roots[k].first, std::move(roots[k].second));
        if (pending_ > 0) current_ = newest(current_);
        while (pending_ > 0) {
            Node& n = *current_;
            AnyTensor g = take(n);
            if (!g.value) [[unlikely]]  // obliged to be passed, and nobody used it
                g.value = zeros_block(n.dtype, n.shape);
            if (n.flags & Node::packed) [[unlikely]]
                tape_.unpack(n);
            if (n.primitive->elementwise && !records(n, g))
                pull_elementwise(n, g);
            else
                differentiate(n, g);
            advance(n);
            if (observed_) [[unlikely]]
                tell_observer();
        }
        end_observed();
    } catch (const std::exception& e) {
        detail::last_failure() = {current_ ? current_->sequence : 0, highest_, e.what()};
        throw;
    }
    if (!tape_.obliged.empty())
        std::erase_if(tape_.obliged, [](const Ref<Node>& n) { return (n->flags & Node::consumed) != 0; });
}

WENGERT_INLINE void Walk::find_variables()
{
    observed_.emplace(*observer_, tape_.last(), level_, start_);
    const auto& variables = observed_->variables();
    leaves_.insert(leaves_.end(), variables.begin(),
                   variables.end());  // none keeps what end_observed() gives it
}

WENGERT_INLINE void Walk::tell_observer()
{
    const InSweep in_sweep(tape_, lower_);
    observed_->tell(pending_ > 0 ? current_->sequence : 0);
}

WENGERT_INLINE void Walk::end_observed()
{
    if (!observed_) return;
    const InSweep in_sweep(tape_, lower_);
    observed_->end();
}

WENGERT_INLINE void Walk::add_part(Node& hub, std::size_t k, const AnyTensor& g)
{
    if (!parts_) parts_ = std::make_unique<Parts>();
    auto& parts = (*parts_)[&hub];
    if (parts.size() <= k) parts.resize(k + 1);
    parts[k] = parts[k].value ? hub.primitive->add(parts[k], g) : g;
    if (!hub.cotangent.value) deliver(hub, {token_block(), {}});
}

WENGERT_INLINE std::vector<AnyTensor> Walk::take_parts(const Node& hub)
{
    if (!parts_) return {};
    auto found = parts_->extract(&hub);
    return found ? std::move(found.mapped()) : std::vector<AnyTensor>();
}

WENGERT_INLINE void Walk::drop_unpacked(Node& n) noexcept
{
    const auto& values = tape_.packed.at(&n).values;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (Block* b = values[i].packed ? std::exchange(n.saved()[i], nullptr) : nullptr)
            release(b, Block::disposal);
}

WENGERT_INLINE Node* Walk::newest(const Node* n)
{
    while (!n->pending) n = n->previous;
    return const_cast<Node*>(n);
}

/// Of a sweep whose nodes stay, as one that is recorded. Below a second run it goes on where it was: it does not pass again what other
/// second runs have left between, which would be n² steps for n of them.
WENGERT_INLINE Node* Walk::newest_of_runs(const Node* n)
{
    has_run_again_ = true;
    for (;;) {
        const auto in_run = [&] { return runs_.empty() || n->sequence >= runs_.back().second; };
        while (n && !n->pending && in_run()) n = n->previous;
        if (n && n->pending) {
            while (!in_run()) runs_.pop_back();
            return const_cast<Node*>(n);
        }
        if (n) {
            n = runs_.back().first.get();
            runs_.pop_back();
        } else {  // one in between, which a function has captured after its first run
            n = tape_.last();
            runs_.clear();
        }
    }
}

WENGERT_INLINE void Walk::refuse_consumed(const Node& n) const
{
    const auto& failure = detail::last_failure();
    const bool failed = !failure.text.empty() && n.sequence >= failure.first && n.sequence <= failure.last;
    const std::string_view why =
        level_ > 0
            ? " by backward(), or because the transform that recorded it has ended: call a pullback before "
              "that transform returns"
            : " by an earlier backward; pass {.retain = true} to that one to retain it";
    fail<TapeError>(level_ > 0 ? "vjp" : "backward",
                    "the derivative of " + std::string(n.primitive->name) + ", shape " + to_string(n.shape) +
                        ", recorded at " + to_string(n.at) + ", has been used up" +
                        (failed ? " by an earlier backward that failed: " + failure.text : std::string(why)),
                    {});
}

WENGERT_INLINE void Walk::report_birth(const Block& g) const
{
    const Node& n = *current_;
    fail<NumericError>(n.primitive->name,
                       "a NaN or Inf was born in the backward pass of this operation, cotangent shape " +
                           to_string(g.shape),
                       n.at);
}

WENGERT_INLINE void Walk::abandon() noexcept
{
    Node* const from = has_run_again_ && pending_ > 0 ? const_cast<Node*>(tape_.last()) : current_;
    for (Node* n = from; n && pending_ > 0;) {
        Node* before = n->previous;
        while (before && !before->pending) before = before->previous;
        if (n->pending) {
            n->pending = false;
            n->cotangent = {};
            --pending_;
            release(n, Node::disposal);
        }
        n = before;
    }
    for (const auto& leaf : leaves_) leaf->cotangent = {};
}

/// The zero-cotangent rule as an operation is there under a recorder, or where a cotangent is 0: it hands each contribution on by
/// itself, as sums keep the order then that they have without it.
WENGERT_INLINE void Walk::hand_on(Node& n, AnyTensor& g)
{
    if (n.flags & Node::consumed) refuse_consumed(n);
    const bool packed = n.flags & Node::packed;
    if (packed) tape_.unpack(n);
    differentiate(n, g);
    if (packed) drop_unpacked(n);
}

/// What n has handed on becomes its own again. The next contribution adds several terms to it, one after the other, as it does
/// without the zero-cotangent rule. The operand belongs to n alone if it is the operation before: nothing else is in its sum.
WENGERT_INLINE void Walk::take_back(Node& n)
{
    Node* const r = n.inputs[0];
    if (!reaches(r) || r->sequence + 1 != n.sequence || !so_far(*r).value || r->cotangent.node) return;
    hold(n, std::exchange(r->cotangent, {}));
}

/// Calls the rule on tensors. It is recorded if levels below ask for it.
WENGERT_INLINE void Walk::differentiate(Node& n, AnyTensor& g)
{
    const InSweep in_sweep(tape_, lower_);
    const Restore<Site> site(tape_.site_override, n.at);
    const Restore<Tape::Quiet> quiet(tape_.quiet, std::max(tape_.quiet, Tape::Quiet::rule));
    Cotangents out(*this, n);
    n.primitive->vjp(n, g, out);
    if (!tape_.anomaly) [[likely]]
        return;
    for (std::size_t i = 0; i < n.input_count; ++i)  // deliver() has looked at values, not at their tangents
        if (const Node* x = n.inputs[i]; x && !detail::finite_with_tangents(x->cotangent))
            report_birth(*x->cotangent.value);
}

}  // namespace wengert
