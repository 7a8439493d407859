// The derivative of what a solver has found. F(y, p) = 0 has ẏ = −J⁻¹ ∂F/∂p ṗ, J = ∂F/∂y (the implicit function theorem; Blondel et
// al. 2022). Derivatives of any order, in both modes, come from steps with a constant inverse at the answer y*:
//
//     y₀ = y*,   yₖ₊₁ = yₖ − J(y*)⁻¹ F(yₖ, p)
//
// In every order of its derivatives yₖ − y contracts by I − J(y*)⁻¹ J(yₖ, p), which has no constant term. So yₖ has the value y*, which
// no step changes, and the first k derivatives of y (Griewank & Walther 2008, chapter 15). What F captures is followed like p.
#pragma once

#include "../linalg/lu_factor.hpp"
#include "../graph/control/functions.hpp"
#include "../graph/control/vmap.hpp"
#include "krylov.hpp"

namespace wengert::detail {

/// y* with the derivatives of c, as many of them as `left`; any is none too many where it is negative. F is the residual that
/// depends on all that y depends on, so no derivative too many goes by unseen.
struct ImplicitValue {
    static constexpr std::string_view name = "implicit_value";
    static constexpr bool gives_tangents = true;
    static constexpr unsigned saves = 0xff;
    int left;
    ImplicitName of;

    template <class Visit> void each(const Visit& visit)
    {
        visit(left);
        visit_name(of, visit);
    }
    template <class T>
    Ref<Block> value(const Ref<Block>& y, const Ref<Block>& /* c */, const Ref<Block>& /* f */,
                     const Site&) const
    {
        return copy_of(*y);
    }
    template <class T>
    Tensor<T> pull(wrt<1>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, const Tensor<T>& f,
                   const Tensor<T>&) const
    {
        return next(g, f);
    }
    /// Nothing, as an operation that still counts where c is constant.
    template <class T>
    Tensor<T> pull(wrt<2>, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, const Tensor<T>& f,
                   const Tensor<T>&) const
    {
        return next(zeros_like(f), f);
    }
    template <class T>
    Tensor<T> push(const Tensor<T>&, const Tensor<T>& c, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&,
                   const Tensor<T>& f, const Tensor<T>&) const
    {
        return next(c, f);
    }

private:
    template <class T> Tensor<T> next(const Tensor<T>& x, const Tensor<T>& f) const
    {
        if (left < 0) return x;
        if (left == 0)
            fail<TapeError>(
                name_of_implicit(of),
                "a frozen function has derivatives up to the order that the solver's options say: "
                "ask for more by .orders",
                Tape::current().site_override);
        return apply<ImplicitValue, T>({left - 1, of}, Site{}, stop_gradient(x), x, f);
    }
};

/// ∂F/∂v, a row for each element of F: by reverse mode, which every function has. In a trace one loop makes all rows.
template <class T, class D>
Tensor<T, D> dense_jacobian(const VectorFunction<Tensor<T, D>>& f, const Tensor<T, D>& v, const Site& at)
{
    if (!is_traced()) return jacobian(f, at)(v, at);
    const auto row = [&](const Tensor<T, D>& unit) { return vjp_at(f, at, v).second(unit, at); };
    return vmap(row, {}, at)(linalg::detail::unit_beside(reshape(v, {1, -1}, at), at), at);
}

/// J⁻¹ as a matrix with its factors, of a constant J at v.
template <class T, class D> class DenseInverse {
public:
    DenseInverse(const Tensor<T, D>& j, const Tensor<T, D>& v, const Site& at)
        : j_(as_constant(j, v)), factors_(linalg::detail::lu_factor(j_, at)), at_(at)
    {}
    Tensor<T, D> operator()(const Tensor<T, D>& r) const
    {
        return linalg::detail::with_columns(r, at_, [&](const Tensor<T, D>& x) {
            return linalg::LuSolve::solved(factors_, j_, x, false, at_);
        });
    }

private:
    Tensor<T, D> j_, factors_;
    Site at_;
};

/// J⁻¹ of a constant linear map without its matrix, by the solver of `options`: x ↦ J⁻¹ x. Its rules are itself and its transpose.
template <class T, class D> struct MapInverse {
    struct Maps {
        VectorFunction<Tensor<T, D>> plain, transposed;
        ImplicitName method;
        SolverOptions options;
        std::uint8_t
            device;  ///< of the maps' numbers, where r goes: a primitive without a kernel there is called on the host
    };
    static constexpr std::string_view name = "implicit_inverse";
    static constexpr unsigned saves = 0;
    std::shared_ptr<const Maps> maps;
    bool transposed;

    template <class Visit> void each(const Visit& visit)
    {
        visit(maps);
        visit(transposed);
    }
    template <class U> Ref<Block> value(const Ref<Block>& r, const Site& at) const
    {
        const detail::Unrecorded nothing_recorded;
        const Untraced unseen;
        const auto& map = transposed ? maps->transposed : maps->plain;
        const OnDevice there(maps->device);
        const Tensor<T, D> right(AnyTensor{placed(r, maps->device), {}});
        return on_host(krylov(maps->method, map, right, maps->options, at).any().value);
    }
    template <class U> Tensor<U> pull(wrt<0>, const Tensor<U>& g, const Tensor<U>&, const Tensor<U>&) const
    {
        return apply<MapInverse, U>({maps, !transposed}, Site{}, g);
    }
    template <class U> Tensor<U> push(const Tensor<U>& r, const Tensor<U>&, const Tensor<U>&) const
    {
        return apply<MapInverse, U>({maps, transposed}, Site{}, r);
    }
};

/// Is the Jacobian at v a matrix?
template <class T, class D> bool makes_matrix(const Tensor<T, D>& v, const SolverOptions& options)
{
    return is_traced() || static_cast<std::int64_t>(v.size()) <= options.dense;
}

/// The constant J⁻¹ of F at v, as a function. F is copied where no matrix is made.
template <class T, class D>
VectorFunction<Tensor<T, D>> inverse_at(const VectorFunction<Tensor<T, D>>& f, const Tensor<T, D>& v,
                                        ImplicitName method, const SolverOptions& options, const Site& at)
{
    const detail::Unrecorded constants;
    if (makes_matrix(v, options)) return DenseInverse<T, D>(dense_jacobian(f, v, at), v, at);
    using Inverse = MapInverse<T, D>;
    const auto plain = [f, v, at](const Tensor<T, D>& x) { return forward(f, v, x, "jvp", at).second; };
    const auto back = [f, v, at](const Tensor<T, D>& x) { return vjp_at(f, at, v).second(x, at); };
    SolverOptions inner = options;
    inner.report = nullptr;
    inner.tolerance = 0;
    inner.iterations = 0;
    const Inverse inverse{std::make_shared<const typename Inverse::Maps>(
                              typename Inverse::Maps{plain, back, method, inner, v.any().value->device()}),
                          false};
    return [inverse, at](const Tensor<T, D>& r) { return apply<Inverse, T>(inverse, at, r); };
}

/// Tells a run of what was made unseen: y, and its tangents of every order, come of `of`.
inline void tell_of(Recorder& run, const AnyTensor& of, const AnyTensor& y, const Site& at)
{
    run.alias(of, y.value, at);
    if (!y.node || !y.node->tangents) return;
    for (const Tangent& t : *y.node->tangents) tell_of(run, of, t.value, at);
}

/// y* as the solution of F(y) = 0 for what is differentiated. `make_inverse()` makes the constant J⁻¹ at y*; a trace has derivatives
/// up to `orders_of_trace`.
template <class T, class D>
Tensor<T, D> follow_by(const std::function<VectorFunction<Tensor<T, D>>()>& make_inverse, int orders_of_trace,
                       ImplicitName of, const VectorFunction<Tensor<T, D>>& f, const Tensor<T, D>& found,
                       const Site& at)
{
    const bool traced = is_traced();
    const Tape& tape = Tape::current();
    if (found.size() == 0 || (!traced && tape.active == 0)) return found;
    std::optional<Untraced>
        unseen;  // what a checkpoint does again must not depend on the derivatives asked for
    if (!traced) unseen.emplace();
    const Tensor<T, D> first = f(found);
    if (!traced && !first.any().node) return found;
    const int orders = traced ? orders_of_trace : std::popcount(first.any().node->mask & tape.active);
    const auto inverse = make_inverse();
    Tensor<T, D> y = found;
    for (int k = 0; k < orders; ++k) {
        const Tensor<T, D> c = y - inverse(k == 0 ? first : f(y));
        const int left = traced && k + 1 == orders ? orders : -1;
        y = apply<ImplicitValue, T>({left, of}, at, found, c, left < 0 ? stop_gradient(first) : first);
    }
    if (traced && orders <= 0) y = apply<ImplicitValue, T>({0, of}, at, found, stop_gradient(found), first);
    unseen.reset();
    if (Recorder* const run = traced ? nullptr : recorder()) tell_of(*run, found.any(), y.any(), at);
    return y;
}
/// The same with the J⁻¹ of F's own derivatives. `method` solves linear systems without a matrix.
template <class T, class D>
Tensor<T, D> follow(ImplicitName of, ImplicitName method,
                    const std::type_identity_t<VectorFunction<Tensor<T, D>>>& f, const Tensor<T, D>& found,
                    const SolverOptions& options, const Site& at)
{
    const auto inverse = [&] { return inverse_at(f, found, method, options, at); };
    return follow_by<T, D>(inverse, options.orders, of, f, found, at);
}

}  // namespace wengert::detail
