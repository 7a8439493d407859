// Frozen functions on a device beside those on the host, and how often the driver is called.
#pragma once

#include <wengert/graph/look/plan.hpp>

#include "cuda/everywhere.hpp"
#include "cuda/fake_control.hpp"

inline wg::FreezeOptions on_device(bool check = true)
{
    wg::FreezeOptions o;
    o.device = wg::cuda{}, o.check = check;
    return o;
}

/// f in a graph on the device and on the host has the same bits. The graph's statistics.
template <class F, class... X> wg::FreezeStats same_bits(const F& f, const X&... x)
{
    auto there = wg::freeze(f, on_device()), here = wg::freeze(f);
    for (int k = 0; k < 3; ++k) {
        const auto y = there(x...);
        CHECK(!is_there(y));
        CHECK(bits(y) == bits(here(x...)));
    }
    CHECK(there.stats().replays == 2);
    return there.stats();
}

/// How often functions of the driver are called by f, and how many bytes they move.
struct Calls {
    long launches = 0, waits = 0, to_device = 0, to_host = 0, graphs = 0;
    long bytes_to_device = 0, bytes_to_host = 0, bytes_on_device = 0;
};
template <class F> Calls calls_of(const F& f)
{
    if (!fake::calls) return f(), Calls{};
    const auto now = [] {
        return Calls{fake::calls("cuLaunchKernel"),
                     fake::calls("cuStreamSynchronize") + fake::calls("cuEventSynchronize"),
                     fake::calls("cuMemcpyHtoDAsync_v2"),
                     fake::calls("cuMemcpyDtoHAsync_v2"),
                     fake::calls("cuGraphLaunch"),
                     fake::bytes("cuMemcpyHtoDAsync_v2"),
                     fake::bytes("cuMemcpyDtoHAsync_v2"),
                     fake::bytes("cuMemcpyDtoDAsync_v2")};
    };
    const Calls before = now();
    f();
    Calls all = now();
    for (long Calls::*one :
         {&Calls::launches, &Calls::waits, &Calls::to_device, &Calls::to_host, &Calls::graphs,
          &Calls::bytes_to_device, &Calls::bytes_to_host, &Calls::bytes_on_device})
        all.*one -= before.*one;
    return all;
}
