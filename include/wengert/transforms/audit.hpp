// audit: every operation that a function records, its derivative tested where it stands.
#pragma once

#include "audit_report.hpp"
#include "check_grads.hpp"

namespace wengert {

namespace detail {

/// x, each of its numbers moved by the step in a direction of its own.
template <class X> X moved_tree(const X& x, double step)
{
    std::uint64_t state = 11;
    return tree::map(
        [&]<class T, class D>(const Tensor<T, D>& t) {
            if constexpr (is_differentiable<T>) {
                const Tensor<T> from = on<cpu>(t).detach();
                return on<D>(from + random_like(Tensors<T>{from}, state)[0] * static_cast<T>(step));
            } else {
                return t;
            }
        },
        x);
}

/// The operations recorded from `start` on that can be tested.
std::vector<const Node*> audited_nodes(const Tape& tape, std::uint64_t start);
/// In numbers of type T. A template: a program that audits nothing compiles none of it.
template <class T> AuditReport audit_by(const AuditRun& run);

/// Runs f with its arguments moved by a step, and hands over what it has recorded.
template <class F, class X>
void audit_run(F& f, const Site& at, const X& args, double step, const AuditLook& look)
{
    Tape& tape = Tape::current();
    LevelScope scope(tape, false);
    const Restore<bool> keep(tape.save_all, true);
    const auto variables = lift_tree(step == 0 ? args : moved_tree(args, step), scope.level(), "audit", at);
    const auto y = call_with(f, variables, at);
    look(audited_nodes(tape, scope.start()));
}

template <class F, class X> AuditReport audit_at(F& f, const Site& at, const X& args)
{
    static_assert(!tree::contains_number<X>,
                  "wengert: audit takes functions of tensors: their operations are what it tests");
    return audit_by<double>([&](double step, const AuditLook& look) { audit_run(f, at, args, step, look); });
}

}  // namespace detail

/// Runs f on its arguments and tests each operation that it records by one dot product, ⟨u, J v⟩ against ⟨Jᵀu, v⟩ with random
/// u and v: a wrong rule is named with the file and line of the user's call. Memory: every input of every operation. An operation
/// on the factors of a matrix or on what a solver has found is tested by four more runs of f, with other arguments. What cannot be
/// tested is named in the report's omissions.
template <class F, detail::NoSite A>
AuditReport audit(F&& f, const A& a, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::audit_at(f, at, detail::argument(a));
}
/// The same for several arguments, which may be given as a tuple too.
template <class F, detail::NoSite A, detail::NoSite B>
AuditReport audit(F&& f, const A& a, const B& b, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::audit_at(f, at, std::tuple(detail::argument(a), detail::argument(b)));
}
template <class F, detail::NoSite A, detail::NoSite B, detail::NoSite C>
AuditReport audit(F&& f, const A& a, const B& b, const C& c, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::audit_at(f, at, std::tuple(detail::argument(a), detail::argument(b), detail::argument(c)));
}
template <class F, detail::NoSite... X>
    requires(sizeof...(X) > 3)
AuditReport audit(F&& f, const X&... x)
{
    return detail::audit_at(f, Site{}, std::tuple(detail::argument(x)...));
}

}  // namespace wengert

#ifdef WENGERT_COMPILED
extern template wengert::AuditReport wengert::detail::audit_by<double>(const AuditRun&);
#else
#include "impl/audit.ipp"
#endif
