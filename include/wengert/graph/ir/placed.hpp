// A graph's executable for inputs on any device: where they are not on the host, by the backend that the device has, node by node, or by
// the device's way to call host code. In programs that have other devices only; graphs hold their constants, and what guards expect, on
// the host.
#pragma once

#include "../../array/elsewhere.hpp"
#include "interpreted_graph.hpp"

namespace wengert::detail {

class PlacedExecutable : public Executable {
public:
    /// What makes the graph ready to run on the host.
    using OnHost = std::function<std::unique_ptr<Executable>(const Graph&)>;

    /// `by_nodes`: so it runs on devices, too, whatever they have.
    PlacedExecutable(const Graph& g, Placement to, PlanOptions options, bool by_nodes, OnHost host)
        : graph_(g), options_(std::move(options)), to_(to), by_nodes_(by_nodes), host_(std::move(host))
    {
        static_cast<void>(on(to_.chosen && has_backend(to_.number) ? to_.number : std::uint8_t{0}));
        news = false;
    }

    std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) override
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
    bool run_on_pointers(const Block* const*, Ref<Block>*) override { return false; }

private:
    bool has_backend(std::uint8_t device) const
    {
        return device && !by_nodes_ && device_table(device).backend;
    }
    bool runs_on(std::uint8_t device) const
    {
        return has_backend(device) || (device && device_table(device).replays);
    }
    /// The executable of a device, made when it is first wanted. A device without a backend runs node by node, of which there is
    /// nothing to say.
    Executable& on(std::uint8_t device)
    {
        std::unique_ptr<Executable>& e = by_device_[device];
        if (e) return *e;
        const OnDevice host(0);
        const Backend* const backend = has_backend(device) ? device_table(device).backend : nullptr;
        if (device && !backend) return *(e = std::make_unique<InterpretedGraph>(graph_, options_.callback));
        e = backend ? backend->compile(graph_, options_) : host_(graph_);
        take_news(*e);
        news = true;
        return *e;
    }
    std::size_t run_there(std::uint8_t device, std::vector<Ref<Block>>& there,
                          std::vector<Ref<Block>>& outputs)
    {
        if (device == 0) return run_here(there, outputs);
        Executable* const e = runs_on(device) ? &on(device) : nullptr;
        const OnDevice now(device);
        if (e) {
            const std::size_t guards = e->run(there, outputs);
            if (e->news) take_news(*e);
            return guards;
        }
        Call call{this, 0};
        auto made = device_table(device).host_call(run_call, &call, there.data(), there.size());
        if (!made.empty() || call.done) outputs = std::move(made);
        return call.guards;
    }

    struct Call {
        PlacedExecutable* self;
        std::size_t guards;
        bool done = false;
    };
    static std::vector<Ref<Block>> run_call(void* context, std::vector<Ref<Block>>& in)
    {
        auto& call = *static_cast<Call*>(context);
        std::vector<Ref<Block>> out;
        call.guards = call.self->run_here(in, out);
        call.done = true;
        return out;
    }
    std::size_t run_here(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs)
    {
        const OnDevice host(0);
        Executable& e = on(0);
        const std::size_t guards = e.run(inputs, outputs);
        if (e.news) take_news(e);
        return guards;
    }
    /// That of the tensors among them; keys are on the host. Without tensors: where the thread's new ones go.
    static std::uint8_t device_of(const std::vector<Ref<Block>>& inputs) noexcept
    {
        bool tensors = false;
        for (const auto& b : inputs) {
            if (b->access.device) return b->device();
            tensors = tensors || b->dtype != DType::int64 || !(b->shape == Shape{2});
        }
        return tensors ? std::uint8_t{0} : current_thread().device;
    }
    void take_news(Executable& e)
    {
        stats = e.stats;
        note = e.note;
        news = std::exchange(e.news, false);
    }

    Graph graph_;
    PlanOptions options_;
    Placement to_;
    bool by_nodes_;
    OnHost host_;
    std::array<std::unique_ptr<Executable>, DeviceList::most> by_device_;
};

}  // namespace wengert::detail
