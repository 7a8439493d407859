// The bodies of audit.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../audit.hpp"
#include "../audit_motion.hpp"

namespace wengert::detail {

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
template <class T>
AuditReport audit_nodes(const std::vector<const Node*>& nodes, const AuditMotion<T>& motion)
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
        else if (has_no_finite_element<T>(*n))
            why = "as no element of its result is finite";
        else if (motion.hears(*n))
            why = audit_silent(*n, motion, state, finding, ok);
        else
            ok = audit_node<T>(*n, state, finding);
        if (!ok && !std::isfinite(finding.numeric)) why = "as results beside this one are not finite";
        if (!why.empty()) {
            add_to(report, AuditOmission{finding.primitive, finding.at, why});
            continue;
        }
        ++report.nodes;
        if (!ok) add_to(report, std::move(finding));
    }
    return report;
}

template <class T> AuditReport audit_by(const AuditRun& run)
{
    AuditReport report;
    run(0, [&](const std::vector<const Node*>& nodes) {
        const AuditMotion<T> motion(run, nodes);
        report = audit_nodes(nodes, motion);
    });
    return report;
}

/// The operations recorded from `start` on that can be tested.
WENGERT_INLINE std::vector<const Node*> audited_nodes(const Tape& tape, std::uint64_t start)
{
    std::vector<const Node*> nodes;
    for (const Node* n = tape.first(); n; n = n->next)
        if (n->sequence >= start && n->input_count > 0 && !n->leaf() && n->saved()[0] && applies_again(*n))
            nodes.push_back(n);
    return nodes;
}

}  // namespace wengert::detail
