// audit: every operation that a function records, its derivative tested where it stands.
#pragma once

#include "audit_motion.hpp"

namespace wengert {

/// One operation that was not tested, and why.
struct AuditOmission {
    std::string primitive;
    Site at;
    std::string why;
};

/// What audit has found, operation by operation.
struct AuditReport {
    bool ok = true;
    std::size_t nodes = 0;  ///< operations tested
    std::vector<AuditFinding> findings;
    std::vector<AuditOmission> omissions;
    std::string message;  ///< a line for each wrong rule (primitive, file:line, both numbers) and omission
    explicit operator bool() const noexcept { return ok; }
};

namespace detail {

inline void add_to(AuditReport& report, AuditFinding finding)
{
    report.ok = false;
    report.message += "[" + finding.primitive + "] " + to_string(finding.at) + ": rule " +
                      std::to_string(finding.analytic) + ", difference " + std::to_string(finding.numeric) +
                      "\n";
    report.findings.push_back(std::move(finding));
}
inline void add_to(AuditReport& report, AuditOmission omission)
{
    report.message +=
        "[" + omission.primitive + "] " + to_string(omission.at) + ": not tested, " + omission.why + "\n";
    report.omissions.push_back(std::move(omission));
}

/// All nodes of a run.
inline AuditReport audit_nodes(const std::vector<const Node*>& nodes, const AuditMotion& motion)
{
    AuditReport report;
    std::uint64_t state = 7;
    const Restore<ActiveLevels> active(Tape::current().active, 0);
    for (const Node* n : nodes) {
        AuditFinding finding{std::string(n->primitive->name), n->at};
        bool ok = true;
        std::string why;
        if (n->primitive->unaudited)
            why = "as its rule is that of another result, which serves as well";
        else if (motion.hears(*n))
            why = audit_silent(*n, motion, state, finding, ok);
        else
            ok = audit_node<double>(*n, state, finding);
        if (!why.empty()) {
            add_to(report, AuditOmission{finding.primitive, finding.at, why});
            continue;
        }
        ++report.nodes;
        if (!ok) add_to(report, std::move(finding));
    }
    return report;
}

inline AuditReport audit_by(const AuditRun& run)
{
    AuditReport report;
    run(0, [&](const std::vector<const Node*>& nodes) {
        const AuditMotion motion(run, nodes);
        report = audit_nodes(nodes, motion);
    });
    return report;
}

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
    return audit_by([&](double step, const AuditLook& look) { audit_run(f, at, args, step, look); });
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
