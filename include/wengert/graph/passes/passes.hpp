// The passes by name, and optimize(): all of them until nothing changes. docs/passes.md says what each does.
#pragma once

#include "common_subexpressions.hpp"
#include "constant_folding.hpp"
#include "dead_code.hpp"
#include "gradients.hpp"
#include "inlining.hpp"
#include "products.hpp"
#include "rows.hpp"
#include "simplify.hpp"

namespace wengert::passes {

/// In the order in which optimize() tries them on a node.
inline constexpr Pass all[] = {dead_code, inlining, rows,     constant_folding,
                               gradients, simplify, products, common_subexpressions};

namespace detail {

bool is_on(const PassOptions& o, std::string_view name);

void check_names(const PassOptions& o);

/// The passes that are on, as one set of rules.
RuleSet rules_of(const PassOptions& o);

/// Pass after pass, so that each can be watched.
Graph optimize_watched(Graph g, const PassOptions& o);

}  // namespace detail
}  // namespace wengert::passes

namespace wengert {

/// The graph with all passes applied until nothing changes, but those in PassOptions::off. All rules are tried on each node
/// in one sweep; with an observer the passes run one after another. Throws Error for an unknown name in `off`.
Graph optimize(const Graph& g, const PassOptions& options = {});

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/passes.ipp"
#endif
