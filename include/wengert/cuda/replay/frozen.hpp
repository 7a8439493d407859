// What runs graphs on a device: as planned, or node by node.
#pragma once

#include "../../graph/ir/interpreted_graph.hpp"
#include "replay.hpp"

namespace wengert::detail::gpu {

/// Node by node on a device, or on the host where code of the user's is given what lies there.
class PlacedNodes final : public InterpretedGraph {
public:
    PlacedNodes(const Graph& g, NodeCallback callback, std::uint8_t device)
        : InterpretedGraph(g, std::move(callback)), device_(device)
    {
        for (const GraphNode& n : g.nodes())
            users_ = users_ || (n.primitive && tiling::detail::is_foreign(n));
    }
    std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) override
    {
        const bool here =
            std::none_of(inputs.begin(), inputs.end(), [](const Ref<Block>& x) { return x->access.device; });
        const std::uint8_t device = users_ && here ? std::uint8_t{0} : device_;
        if (!device) say_on_host();
        const OnDevice there(device);
        std::vector<Ref<Block>> in = inputs;
        for (Ref<Block>& x : in) x = placed(std::move(x), device);
        return InterpretedGraph::run(in, outputs);
    }

private:
    void say_on_host()
    {
        count_host_call(device_);
        if (std::exchange(said_, true)) return;
        note += ", on the host, where its arguments are";
        stats_changed = true;
    }
    std::uint8_t device_;
    bool said_ = false;
    bool users_ =
        false;  ///< it calls code of the user's, which is given tensors that lie where the arguments do
};

/// The graph runs node by node, and says why, if nothing can be compiled or the driver refuses the code.
inline std::unique_ptr<Executable> compile_replay(const Graph& g, const PlanOptions& options,
                                                  std::uint8_t device)
{
    std::string why = Kernels::available() ? "" : Compiler::get().reason;
    try {
        if (why.empty()) return std::make_unique<Replay>(g, options, device);
    } catch (const DeviceError& e) {
        why = e.what();
    }
    auto nodes = std::make_unique<PlacedNodes>(g, options.callback, device);
    nodes->stats.uncompiled = nodes->stats.kernels;
    nodes->note = why + ": it runs node by node";
    return nodes;
}

}  // namespace wengert::detail::gpu
