// What placed.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../placed.hpp"

namespace wengert::detail {

WENGERT_INLINE PlacedExecutable::PlacedExecutable(const Graph& g, Placement to, PlanOptions options,
                                                  bool by_nodes, OnHost host)
    : graph_(g), options_(std::move(options)), to_(to), by_nodes_(by_nodes), host_(std::move(host))
{
    static_cast<void>(on(to_.chosen && has_backend(to_.number) ? to_.number : std::uint8_t{0}));
    stats_changed = false;
}

WENGERT_INLINE std::size_t PlacedExecutable::run(std::vector<Ref<Block>>& inputs,
                                                 std::vector<Ref<Block>>& outputs)
{
    const std::uint8_t from = device_of(inputs), device = to_.chosen ? to_.number : from;
    if (device == 0 && from == 0) return run_here(inputs, outputs);
    std::vector<Ref<Block>> there = inputs;
    if (!has_backend(device))  // those see to it themselves
        for (Ref<Block>& x : there) x = placed(std::move(x), device);
    const std::size_t guards = run_there(device, there, outputs);
    if (device != from)
        for (Ref<Block>& y : outputs)
            if (y) y = placed(std::move(y), from);
    return guards;
}

WENGERT_INLINE bool PlacedExecutable::has_backend(std::uint8_t device) const
{
    return device && !by_nodes_ && device_table(device).backend;
}

WENGERT_INLINE bool PlacedExecutable::runs_on(std::uint8_t device) const
{
    return has_backend(device) || (device && device_table(device).replays);
}

WENGERT_INLINE Executable& PlacedExecutable::on(std::uint8_t device)
{
    std::unique_ptr<Executable>& e = by_device_[device];
    if (e) return *e;
    const OnDevice host(0);
    const Backend* const backend = has_backend(device) ? device_table(device).backend : nullptr;
    if (device && !backend) return *(e = std::make_unique<InterpretedGraph>(graph_, options_.callback));
    e = backend ? backend->compile(graph_, options_) : host_(graph_);
    take_stats(*e);
    stats_changed = true;
    return *e;
}

WENGERT_INLINE std::size_t PlacedExecutable::run_there(std::uint8_t device, std::vector<Ref<Block>>& there,
                                                       std::vector<Ref<Block>>& outputs)
{
    if (device == 0) return run_here(there, outputs);
    Executable* const e = runs_on(device) ? &on(device) : nullptr;
    const OnDevice now(device);
    if (e) {
        const std::size_t guards = e->run(there, outputs);
        if (e->stats_changed) take_stats(*e);
        return guards;
    }
    Call call{this, 0};
    auto made = device_table(device).host_call(run_call, &call, there.data(), there.size());
    if (!made.empty() || call.done) outputs = std::move(made);
    return call.guards;
}

WENGERT_INLINE std::vector<Ref<Block>> PlacedExecutable::run_call(void* context, std::vector<Ref<Block>>& in)
{
    auto& call = *static_cast<Call*>(context);
    std::vector<Ref<Block>> out;
    call.guards = call.self->run_here(in, out);
    call.done = true;
    return out;
}

WENGERT_INLINE std::size_t PlacedExecutable::run_here(std::vector<Ref<Block>>& inputs,
                                                      std::vector<Ref<Block>>& outputs)
{
    const OnDevice host(0);
    Executable& e = on(0);
    const std::size_t guards = e.run(inputs, outputs);
    if (e.stats_changed) take_stats(e);
    return guards;
}

WENGERT_INLINE std::uint8_t PlacedExecutable::device_of(const std::vector<Ref<Block>>& inputs) noexcept
{
    bool tensors = false;
    for (const auto& b : inputs) {
        if (b->access.device) return b->device();
        tensors = tensors || b->dtype != DType::int64 || !(b->shape == Shape{2});
    }
    return tensors ? std::uint8_t{0} : current_thread().device;
}

WENGERT_INLINE void PlacedExecutable::take_stats(Executable& e)
{
    stats = e.stats;
    note = e.note;
    stats_changed = std::exchange(e.stats_changed, false);
}

}  // namespace wengert::detail
