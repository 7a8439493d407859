// What a solver tells of its run, and the error of one that has not converged.
#pragma once

#include "../linalg/matrices.hpp"

namespace wengert {

/// What a solver did: `.report` in its options points to one. A frozen function writes it in each replay.
struct SolverReport {
    std::int64_t iterations = 0;   ///< steps, of odeint those accepted
    std::int64_t rejected = 0;     ///< steps that were tried and made smaller
    std::int64_t evaluations = 0;  ///< of the function, without those for Jacobians
    std::int64_t jacobians =
        0;                ///< matrices of derivatives, each factorized once; without that of the answer
    double residual = 0;  ///< the greatest of |f|, of odeint the time that was reached
};

namespace detail {

/// The functions of implicit.hpp, as they are called.
enum class ImplicitName : std::uint8_t { root, fixed_point, minimize, cg, gmres, bicgstab, odeint };
inline std::string_view name_of_implicit(ImplicitName n)
{
    switch (n) {
    case ImplicitName::root: return "root";
    case ImplicitName::fixed_point: return "fixed_point";
    case ImplicitName::minimize: return "minimize";
    case ImplicitName::cg: return "cg";
    case ImplicitName::gmres: return "gmres";
    case ImplicitName::bicgstab: return "bicgstab";
    default: return "odeint";
    }
}

/// The parameter `of` of an operation, for what compares operations.
template <class Visit> void visit_name(ImplicitName& of, const Visit& visit)
{
    auto number = static_cast<std::int64_t>(of);
    visit(number);
    of = static_cast<ImplicitName>(number);
}

/// What a solver has found, its state being (whether it has converged, iterations, rejected, evaluations, Jacobians, residual). An operation,
/// because graphs have to throw as well.
struct Converged {
    static constexpr std::string_view name = "converged";
    static constexpr unsigned saves = 0;
    ImplicitName of;
    std::shared_ptr<SolverReport> report;

    template <class Visit> void each(const Visit& visit)
    {
        visit_name(of, visit);
        visit(report);
    }
    template <class T>
    Ref<Block> value(const Ref<Block>& found, const Ref<Block>& state, const Site& at) const
    {
        const Ref<Block> c = contiguous(state);
        const T* const s = c->template as<T>();
        if (report)
            *report = {static_cast<std::int64_t>(s[1]), static_cast<std::int64_t>(s[2]),
                       static_cast<std::int64_t>(s[3]), static_cast<std::int64_t>(s[4]),
                       static_cast<double>(s[5])};
        if (!(s[0] > 0) && !runs_example()) complain(s[0] < 0, s[1], s[2], s[5], at);
        return another_header(found);
    }
    template <class T>
    Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&) const
    {
        return g;
    }
    template <class T>
    Tensor<T> push(const Tensor<T>& found, const Tensor<T>&, const Tensor<T>&, const Tensor<T>&,
                   const Tensor<T>&) const
    {
        return found;
    }

private:
    [[noreturn]] void complain(bool wrong_times, double iterations, double rejected, double residual,
                               const Site& at) const
    {
        const bool ode = of == ImplicitName::odeint;
        fail<NumericError>(
            name_of_implicit(of),
            wrong_times ? "the times are not in order"
                        : "not converged after " + linalg::detail::digits(iterations) + " iterations (" +
                              linalg::detail::digits(rejected) +
                              " steps rejected): " + (ode ? "the time reached is " : "the residual is ") +
                              linalg::detail::digits(residual),
            at.line ? at : Tape::current().site_override);
    }
};

/// x for a solver, which gives it derivatives of its own. What a run without recording keeps of it is refused like `origin`
/// (Block::Access::unrecorded).
template <class T, class D> Tensor<T, D> as_constant(const Tensor<T, D>& x, const Tensor<T, D>& origin)
{
    Tensor<T, D> constant = stop_gradient(x);
    if (!origin.any().value->access.unrecorded) return constant;
    if (!recorder())  // else it is the result of an operation
        constant = Tensor<T, D>(AnyTensor{another_header(constant.any().value), {}});
    constant.any().value->access.unrecorded = true;
    return constant;
}

/// What a solver has found, as a constant.
template <class T, class D>
Tensor<T, D> settled(ImplicitName of, const std::shared_ptr<SolverReport>& report, const Tensor<T, D>& found,
                     const Tensor<bool, D>& good, const Tensor<T, D>& iterations,
                     const Tensor<T, D>& rejected, const Tensor<T, D>& evaluations,
                     const Tensor<T, D>& jacobians, const Tensor<T, D>& residual, const Site& at)
{
    const Tensor<T, D> state =
        stack(std::vector{cast<T>(good), iterations, rejected, evaluations, jacobians, residual}, 0);
    return as_constant(apply<Converged, T>({of, report}, at, found, state), found);
}

}  // namespace detail
}  // namespace wengert
