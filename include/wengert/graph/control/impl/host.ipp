// What host.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../../../tape/speculation.hpp"
#include "../host.hpp"

namespace wengert::detail {

WENGERT_INLINE Ref<Block> run_host_call(const void* op, const Ref<Block>* in, std::size_t, const Site&)
{
    const HostCall& h = *static_cast<const HostCall*>(op);
    if (runs_example()) return zeros_block(h.dtype, h.shape);
    const detail::Unrecorded unrecorded;
    const Untraced untraced;
    return (*h.call)(in);
}

WENGERT_INLINE AnyTensor call_host(const Primitive& p, const HostCall& op, std::vector<AnyTensor> leaves,
                                   const Site& at)
{
    for (AnyTensor& t : leaves) t.node = {};
    Recorder* r = recorder();
    if (r && r->effect) leaves.push_back({r->effect, {}});
    const AnyTensor out = apply_any(p, &op, leaves.data(), leaves.size(), at);
    if (r) r->effect = out.value;
    return out;
}

}  // namespace wengert::detail
