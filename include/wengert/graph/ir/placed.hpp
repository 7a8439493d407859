// A graph's executable for inputs on any device. On a device it runs by the device's backend, node by node, or by calls of host code.
// Only programs that have other devices contain it. Constants and the expected values of guards are on the host.
#pragma once

#include "../../base/separate.hpp"
#include "../../array/elsewhere.hpp"
#include "interpreted_graph.hpp"

namespace wengert::detail {

class PlacedExecutable : public Executable {
public:
    /// What makes the graph ready to run on the host.
    using OnHost = std::function<std::unique_ptr<Executable>(const Graph&)>;

    /// `by_nodes`: node by node on devices, too, even where they have a backend.
    PlacedExecutable(const Graph& g, Placement to, PlanOptions options, bool by_nodes, OnHost host);

    WENGERT_INLINE std::size_t run(std::vector<Ref<Block>>& inputs,
                                   std::vector<Ref<Block>>& outputs) override;
    bool run_on_pointers(const Block* const*, Ref<Block>*) override { return false; }

private:
    bool has_backend(std::uint8_t device) const;
    bool runs_on(std::uint8_t device) const;
    /// The executable of a device, made when it is first used. A device without a backend runs node by node, and has no note.
    Executable& on(std::uint8_t device);
    std::size_t run_there(std::uint8_t device, std::vector<Ref<Block>>& there,
                          std::vector<Ref<Block>>& outputs);

    struct Call {
        PlacedExecutable* self;
        std::size_t guards;
        bool done = false;
    };
    static std::vector<Ref<Block>> run_call(void* context, std::vector<Ref<Block>>& in);
    std::size_t run_here(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs);
    /// The device of the tensors among the inputs; keys are on the host. Without tensors: the device of the thread's new ones.
    static std::uint8_t device_of(const std::vector<Ref<Block>>& inputs) noexcept;
    void take_stats(Executable& e);

    Graph graph_;
    PlanOptions options_;
    Placement to_;
    bool by_nodes_;
    OnHost host_;
    std::array<std::unique_ptr<Executable>, DeviceList::most> by_device_;
};

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/placed.ipp"
#endif
