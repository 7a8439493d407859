// cg, gmres and bicgstab with an operator of the user's.
#pragma once

#include "solution.hpp"

namespace wengert {

/// The type of `cg`, `gmres` and `bicgstab`.
template <detail::ImplicitName method>
class LinearSolver : public detail::SolverForms<LinearSolver<method>, SolverOptions> {
public:
    template <class F, class Y, class... P>
    Y run(const Site& at, const SolverOptions& options, const F& f, const Y& b, const P&... p) const
    {
        const ComposedAt line(at);
        const std::string_view name = detail::name_of_implicit(method);
        options.demand(name, at);
        using V = detail::Flat<Y>;
        const detail::VectorFunction<V> flat = detail::FlatFunction<F, Y, P...>(f, b, name, at, p...);
        const V right = detail::flatten_tree(b, name, at);
        const V found = detail::krylov(method, flat, right, options, at);
        const auto residual = [flat, right](const V& z) { return flat(z) - right; };
        return detail::unflatten_tree(b, detail::follow(method, method, residual, found, options, at), at);
    }
};
/// cg(apply, b, p…, options): the z with apply(z, p…) = b by conjugate gradients; apply is linear in z, symmetric and positive definite. z
/// and b are any trees of tensors. ż = A⁻¹ (ḃ − Ȧ z), to any order and in both modes. Throws NumericError where it does not converge.
inline constexpr LinearSolver<detail::ImplicitName::cg> cg{};
/// gmres(apply, b, p…, options): the z with apply(z, p…) = b, apply linear in z, by the least residual over Krylov's space, begun again
/// after `restart` vectors.
inline constexpr LinearSolver<detail::ImplicitName::gmres> gmres{};
/// bicgstab(apply, b, p…, options): the z with apply(z, p…) = b, apply linear in z, with memory for a few vectors.
inline constexpr LinearSolver<detail::ImplicitName::bicgstab> bicgstab{};

}  // namespace wengert
