// What passes.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../passes.hpp"

namespace wengert::passes::detail {

WENGERT_INLINE bool is_on(const PassOptions& o, std::string_view name)
{
    return std::find(o.off.begin(), o.off.end(), name) == o.off.end();
}

WENGERT_INLINE void check_names(const PassOptions& o)
{
    for (const std::string& off : o.off) {
        const auto is_it = [&](const Pass& p) { return p.name == off; };
        if (std::none_of(std::begin(all), std::end(all), is_it))
            fail<Error>("optimize", "there is no pass named \"" + off + "\"", {});
    }
}

WENGERT_INLINE RuleSet rules_of(const PassOptions& o)
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

WENGERT_INLINE Graph optimize_watched(Graph g, const PassOptions& o)
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

}  // namespace wengert::passes::detail

namespace wengert {

WENGERT_INLINE Graph optimize(const Graph& g, const PassOptions& options)
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
