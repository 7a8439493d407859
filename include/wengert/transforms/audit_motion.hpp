// Operations whose rule has the derivative with respect to more than moves where they stand: det reads factors that are computed once
// and are constants to the tape. They are tested as the whole function moves, in four runs with other arguments.
#pragma once

#include <algorithm>
#include <array>

#include "audit_node.hpp"

namespace wengert::detail {

/// The greatest magnitude of an element; NaN where there is one.
template <class T> double largest(const Tensor<T>& x)
{
    const Ref<Block> b = contiguous(readable(x.any().value));
    double most = 0;
    for (std::size_t i = 0; i < b->count && !std::isnan(most); ++i)
        if (const double e = std::abs(static_cast<double>(b->template as<T>()[i])); !(e <= most)) most = e;
    return most;
}

/// The operations of a run that hear silent inputs, as they are when the arguments move.
template <class T> class AuditMotion {
public:
    AuditMotion(const AuditRun& run, const std::vector<const Node*>& nodes)
        : step_(scale_of(narrowest(nodes)).motion)
    {
        for (const Node* n : nodes)
            if (hears_silent_input<T>(*n)) heard_.push_back(n);
        if (heard_.empty()) return;
        for (const Node* n : nodes)
            if (is_followed(*n)) {
                seen_.resize(seen_.size() +
                             1);  // at emplace_back(n, Seen{}) g++ 12 fails with _GLIBCXX_DEBUG
                seen_.back().first = n;
            }
        try {
            for (std::size_t k = 0; k < 4; ++k)
                run(step_ * steps[k],
                    [&](const std::vector<const Node*>& moved) { failed_ = failed_ || !take(k, moved); });
        } catch (const Error&) {
            failed_ = true;  // outside of the function's domain, say
        }
    }
    bool failed() const noexcept { return failed_; }
    double step() const noexcept { return step_; }
    bool hears(const Node& n) const { return std::find(heard_.begin(), heard_.end(), &n) != heard_.end(); }

    /// The derivative of input i of a node along the motion, of its result where i counts the inputs.
    Tensor<T> slope(const Node& n, std::size_t i) const
    {
        const auto at = [&](std::size_t k) { return value(n, i, k); };
        return (8.0 * (at(0) - at(1)) - (at(2) - at(3))) / (12 * step_);
    }
    /// Does it jump on the way, as the sign of an eigenvector may?
    bool jumps(const Node& n, std::size_t i) const
    {
        const auto x = converted_from<T>(AnyTensor{Ref<Block>(n.saved()[i]), {}});
        const double most = 0.1 * step_ * (1 + largest(x));
        const auto bend = [&](std::size_t k) {
            return largest(value(n, i, k) + value(n, i, k + 1) - 2.0 * x);
        };
        const double one = bend(0), two = bend(2);
        if (one <= most && two <= most) return false;
        return !(two > 2 * one && two < 8 * one);  // 4 times where it only bends
    }

private:
    static DType narrowest(const std::vector<const Node*>& nodes)
    {
        DType d = dtype_of<double>();
        for (const Node* n : nodes) d = std::min(d, n->dtype);
        return d;
    }
    static constexpr double steps[] = {1, -1, 2, -2};
    using Seen = std::array<std::vector<Ref<Block>>, 4>;

    /// The same operation may hear at one point and not at another, where what it multiplies is 0.
    bool is_followed(const Node& n) const
    {
        return has_silent_input(n) && std::any_of(heard_.begin(), heard_.end(),
                                                  [&](const Node* h) { return h->primitive == n.primitive; });
    }
    Tensor<T> value(const Node& n, std::size_t i, std::size_t step) const
    {
        const auto of =
            std::find_if(seen_.begin(), seen_.end(), [&](const auto& s) { return s.first == &n; });
        return converted_from<T>(AnyTensor{of->second[step][i], {}});
    }
    /// False where a run has recorded others of these operations. Beside them sweeps record others where a cotangent is 0.
    bool take(std::size_t k, const std::vector<const Node*>& moved)
    {
        std::size_t next = 0;
        for (const Node* m : moved) {
            if (!is_followed(*m)) continue;
            if (next == seen_.size() || !alike(*seen_[next].first, *m)) return false;
            for (std::size_t i = 0; i <= m->input_count; ++i)
                seen_[next].second[k].emplace_back(m->saved()[i]);
            ++next;
        }
        return next == seen_.size();
    }
    static bool alike(const Node& a, const Node& b)
    {
        if (a.primitive != b.primitive || a.input_count != b.input_count) return false;
        for (std::size_t i = 0; i <= a.input_count; ++i)
            if (!(a.saved()[i]->shape == b.saved()[i]->shape)) return false;
        return true;
    }

    double step_;
    bool failed_ = false;
    std::vector<const Node*> heard_;
    std::vector<std::pair<const Node*, Seen>> seen_;
};

/// Does input i of a node move with the arguments?
template <class T> bool moves(const Node& n, std::size_t i, const AuditMotion<T>& motion)
{
    if (!row_of(n.saved()[i]->dtype).real) return false;
    const Tensors<T> d{motion.slope(n, i)};
    return inner(d, d) != 0;
}

/// One node, its inputs moved as the arguments move them: detached ones too, as they are behind silent ones.
template <class T>
bool audit_moved(const Node& n, const AuditMotion<T>& motion, std::uint64_t& state, AuditFinding& finding)
{
    const AuditedNode<T> audited(n, true);
    const TensorFunction<T> f = std::cref(audited);
    Tensors<T> dx;
    for (std::size_t i = 0; i < n.input_count; ++i)
        if (audited.varies[i]) dx.push_back(motion.slope(n, i));
    const Tensors<T> y = f(audited.x), u = random_like(y, state);
    double size = 0;
    inner(u, y, &size);
    finding.numeric = inner(u, Tensors<T>{audited.finite_part(motion.slope(n, n.input_count))});
    finding.analytic = inner(vjp_at(f, n.at, audited.x).second(u, n.at), dx);
    return agree(finding, scale_of(audited.narrowest), size, motion.step());
}

/// One node that hears a silent input. Empty, or why nothing can be said of it.
template <class T>
std::string audit_silent(const Node& n, const AuditMotion<T>& motion, std::uint64_t& state,
                         AuditFinding& finding, bool& ok)
{
    if (motion.failed()) return "as f has no such operations at other arguments";
    bool silent_moves = false, all_move = true;
    for (std::size_t i = 0; i < n.input_count; ++i) {
        if (is_silent(n, i)) silent_moves |= moves(n, i, motion);
        if (n.inputs[i]) all_move &= moves(n, i, motion);
    }
    for (std::size_t i = 0; silent_moves && i <= n.input_count; ++i)
        if ((i == n.input_count || !is_silent(n, i)) && motion.jumps(n, i))
            return "as it jumps at other arguments";
    if (silent_moves) {
        ok = audit_moved(n, motion, state, finding);
        return "";
    }
    ok = audit_node<T>(n, state, finding);
    return ok || all_move ? "" : "as it depends on a variable that is no argument";
}

}  // namespace wengert::detail
