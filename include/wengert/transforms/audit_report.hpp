// What audit() has found.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../tape/node.hpp"

namespace wengert {

/// One operation whose derivative disagrees with differences.
struct AuditFinding {
    std::string primitive;
    Site at;
    double analytic = 0,
           numeric = 0;  ///< ⟨Jᵀu, v⟩ of the rule, ⟨u, J v⟩ by differences of the operation itself
};

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
/// What is done with the operations that a run has recorded, as long as they are there.
using AuditLook = std::function<void(const std::vector<const Node*>&)>;
/// Runs the function with its arguments moved by a step.
using AuditRun = std::function<void(double step, const AuditLook&)>;
}  // namespace detail

}  // namespace wengert
