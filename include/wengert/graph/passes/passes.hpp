// The passes by name, and optimize(): all of them until nothing changes. docs/passes.md says what each does.
#pragma once

#include "common_subexpressions.hpp"
#include "constant_folding.hpp"
#include "dead_code.hpp"
#include "gradients.hpp"
#include "inlining.hpp"
#include "products.hpp"
#include "simplify.hpp"

namespace wengert::passes {

/// In the order in which optimize() tries them on a node.
inline constexpr Pass all[] = {dead_code, inlining, constant_folding,     gradients,
                               simplify,  products, common_subexpressions};

namespace detail {

inline bool is_on(const PassOptions& o, std::string_view name)
{
    return std::find(o.off.begin(), o.off.end(), name) == o.off.end();
}

inline void check_names(const PassOptions& o)
{
    for (const std::string& off : o.off) {
        const auto is_it = [&](const Pass& p) { return p.name == off; };
        if (std::none_of(std::begin(all), std::end(all), is_it))
            fail<Error>("optimize", "there is no pass named \"" + off + "\"", {});
    }
}

/// The passes that are on, as one set of rules.
inline RuleSet rules_of(const PassOptions& o)
{
    RuleSet set;
    for (const Pass& p : all) {
        if (!is_on(o, p.name)) continue;
        if (p.rule)
            set.rules.push_back(p.rule);
        else
            set.drop_dead = true;
        if (p.remember) set.remember = p.remember;
    }
    return set;
}

/// Pass after pass, so that each can be watched.
inline Graph optimize_watched(Graph g, const PassOptions& o)
{
    bool changed = true;
    for (int round = 0; changed && round < 8; ++round) {
        changed = false;
        for (const Pass& p : all) {
            if (!is_on(o, p.name)) continue;
            std::size_t changes = 0;
            Graph after = p(g, o, &changes);
            if (changes == 0 && after.size() == g.size()) continue;
            o.observer(p.name, g, after);
            g = std::move(after);
            changed = true;
        }
    }
    return g;
}

}  // namespace detail
}  // namespace wengert::passes

namespace wengert {

/// The graph with all passes applied until nothing changes, but those in PassOptions::off. All rules are tried on each node
/// in one sweep; with an observer the passes run one after another. Throws Error for an unknown name in `off`.
inline Graph optimize(const Graph& g, const PassOptions& options = {})
{
    passes::detail::check_names(options);
    if (options.lower) {
        PassOptions rest = options;
        rest.lower = nullptr;
        return optimize(options.lower(g, options), rest);
    }
    if (options.observer) return passes::detail::optimize_watched(g, options);
    return passes::settled(g, options, passes::detail::rules_of(options));
}

}  // namespace wengert
