// A graph's executable for inputs on any device: where they are not on the host, node by node, or by the device's way to call host code.
// In programs that have other devices only; graphs hold their constants, and what guards expect, on the host.
#pragma once

#include "interpret.hpp"

namespace wengert::detail {

class PlacedExecutable : public Executable {
public:
    PlacedExecutable(std::unique_ptr<Executable> whole, const Graph& g, Placement to, NodeCallback callback)
        : whole_(std::move(whole)), nodes_(g, std::move(callback)), to_(to)
    {
        take_news();
    }

    std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) override
    {
        const std::uint8_t from = device_of(inputs), device = to_.chosen ? to_.number : from;
        if (device == 0 && from == 0) return run_here(inputs, outputs);
        std::vector<Ref<Block>> there(inputs.size());
        for (std::size_t k = 0; k < inputs.size(); ++k) there[k] = placed(inputs[k], device);
        const std::size_t guards = run_there(device, there, outputs);
        if (device != from)
            for (Ref<Block>& y : outputs)
                if (y) y = placed(std::move(y), from);
        return guards;
    }
    bool run_on_pointers(const Block* const*, Ref<Block>*) override { return false; }

private:
    std::size_t run_there(std::uint8_t device, std::vector<Ref<Block>>& there,
                          std::vector<Ref<Block>>& outputs)
    {
        if (device == 0) return run_here(there, outputs);
        const OnDevice on(device);
        if (device_table(device).replays) return nodes_.run(there, outputs);
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
        const std::size_t guards = whole_->run(inputs, outputs);
        if (whole_->news) take_news();
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
    void take_news()
    {
        stats = whole_->stats;
        note = whole_->note;
        news = std::exchange(whole_->news, false);
    }

    std::unique_ptr<Executable> whole_;
    InterpretedGraph nodes_;
    Placement to_;
};

}  // namespace wengert::detail
