#pragma once

// The frozen rows: wengert-tile and wengert-native, of whatever a workload gives to freeze().

#include <wengert/graph/freeze/freeze.hpp>

#include "../plan.hpp"
#include "wengert_common.hpp"

namespace bench {

/// A frozen function ready to run, and what it says of itself.
struct FrozenCase {
    Case both;
    std::function<wengert::FreezeStats()> stats;
};
using MakeFrozen = std::function<FrozenCase(const wengert::FreezeOptions&)>;

/// In frozen.cpp, so that each backend is compiled once.
const wengert::Backend& tile_backend();
const wengert::Backend& native_backend();

/// No replay is run beside f here: the results are compared with the floor's.
inline wengert::FreezeOptions frozen_options(const wengert::Backend& backend)
{
    wengert::FreezeOptions o;
    o.backend = backend;
    o.check = false;
    return o;
}

/// A row for each backend, with the tolerance and the unit of `like`, and a line of --plan.
inline bool add_frozen(Entry like, const MakeFrozen& make)
{
    for (const wengert::Backend* b : {&tile_backend(), &native_backend()}) {
        like.system = std::string("wengert-") + b->name;
        like.make = [=] { return make(frozen_options(*b)).both; };
        add(like);
        plan_probes().push_back({like, [=] {
                                     Planned p;
                                     const double start = now();
                                     const FrozenCase one = make(frozen_options(*b));
                                     p.made = now() - start;
                                     p.first = seconds_of(one.both.run, 1);
                                     one.both.run();
                                     const wengert::FreezeStats s = one.stats();
                                     p.recorded = s.recorded_ops, p.kernels = s.kernels;
                                     p.arena = s.arena_bytes, p.bound = s.arena_lower_bound;
                                     p.replayed = s.traces == 1 && s.eager_calls == 0;
                                     return p;
                                 }});
    }
    return true;
}

/// Runs `frozen` on arguments that stay the same; results(what it returns).
template <class Frozen, class Arguments, class ToResults>
FrozenCase frozen_case(Frozen frozen, Arguments arguments, ToResults to_results)
{
    auto f = std::make_shared<Frozen>(std::move(frozen));
    auto x = std::make_shared<Arguments>(std::move(arguments));
    return {{[=] { std::apply(*f, *x); }, [=] { return to_results(std::apply(*f, *x)); }},
            [=] { return f->stats(); }};
}

/// All of wengert's rows for the value and gradients of a loss; problem() gives the leaves and the loss.
template <class T, class MakeProblem> bool add_wengert(Entry like, const MakeProblem& problem)
{
    like.system = "wengert";
    like.make = [=] {
        auto [leaves, loss] = problem();
        for (auto& leaf : leaves) leaf.requires_grad(true);
        return differentiate<T>(std::move(leaves), loss);
    };
    add(like);
    return add_frozen(std::move(like), [=](const wengert::FreezeOptions& options) {
        auto [leaves, loss] = problem();
        return frozen_case(wengert::freeze(wengert::value_and_grad(loss), options),
                           std::make_tuple(std::move(leaves)), [](const auto& y) {
                               Results r = {doubles(std::get<0>(y))};
                               for (const auto& g : std::get<1>(y)) r.push_back(doubles(g));
                               return r;
                           });
    });
}

}  // namespace bench
