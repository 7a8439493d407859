// Runs of graphs on a device, and their work written down as one thing. Nobody waits for the device but where a guard is looked at.
#pragma once

#include <bit>

#include "../../graph/run/inspect.hpp"
#include "../../ops/random.hpp"
#include "replay_steps.hpp"

namespace wengert::detail::gpu {

class Replay final : public ReplaySteps {
public:
    Replay(const Graph& g, const PlanOptions& options, std::uint8_t device)
        : ReplaySteps(g, device), watch_(options.watch), guards_(graph_, plan_, device_)
    {
        if (watch_) tiling::tell(plan_, *watch_), watch_->crossings = crossings_.notes();
    }

    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;
    ~Replay() override
    {
        for (const auto* list : {&constants_, &fixed_, &handed_out_, &kept_})
            for (const Ref<Block>& b : *list) end_of(b);
    }

    std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) override
    {
        Gpu& gpu = gpu_with(device_);
        Ordered order(gpu);
        for (const Ref<Block>& x : inputs)
            if (x->device() == device_) order.reads(*x);
        runs_in_order_.begin(gpu);
        const std::size_t failed = run_there(gpu, inputs, outputs);
        runs_in_order_.put();
        for (const Ref<Block>& y : outputs)
            if (y->device() == device_) order.made(*y);
        return failed;
    }

private:
    std::size_t run_there(Gpu& gpu, std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs)
    {
        const Emptied emptied{*this};
        const OnDevice there(device_);
        if (write_down(gpu)) return run_written(gpu, inputs, outputs);
        begin(inputs);
        for (std::size_t t = 0; t <= steps_.size(); ++t) {
            guards_.keep(t, [&](ValueId v) { return block(v); });
            if (const std::size_t failed = guards_.failing(t); failed < graph_.guards().size()) return failed;
            if (t < steps_.size()) timed(gpu, t, [&] { step(gpu, t); });
        }
        outputs.clear();
        for (std::size_t k = 0; k < graph_.outputs().size(); ++k)
            outputs.push_back(output(k, inputs, outputs));
        return graph_.guards().size();
    }

    /// Nothing of a run is left behind, however it ends.
    struct Emptied {
        Replay& self;
        ~Emptied()
        {
            self.empty();
            self.guards_.end();
        }
    };

    /// Memory that runs have worked with, in whichever stream.
    void end_of(const Ref<Block>& b) const noexcept
    {
        if (b && b->capacity) runs_in_order_.end(b->data, b->capacity);
    }

    template <class F> void timed(const Gpu& gpu, std::size_t t, const F& work)
    {
        if (!watch_ || !watch_->timed) return work();
        using std::chrono::steady_clock;
        const auto now = [] { return steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
        watch_->ticks[2 * t] = now();
        work();
        gpu.wait();
        watch_->ticks[2 * t + 1] = now();
    }

    /// After some runs, which have made all kernels ready, the work is written down: true where that is done instead.
    bool write_down(Gpu& gpu)
    {
        constexpr std::size_t before = 2;
        const auto zero = std::bit_cast<std::uint64_t>(double{kernels::zero_cotangent});
        if (!written_ && *capturable_ && !tried_ && !watch_ && runs_++ >= before) {
            tried_ = true;
            zero_ = zero;
            try {
                write(gpu);
            } catch (const Error& e) {  // the host has a part in it, or the driver cannot
                if (capturable_->has_conditions()) say_conditions(e.what()), news = true;
            }
            writing_ = false;
            guards_.end();
            std::fill(blocks_.begin(), blocks_.end(), Ref<Block>());
            std::fill(owned_.begin(), owned_.end(), Ref<Block>());
        }
        return written_ && zero == zero_;
    }
    void write(Gpu& gpu)
    {
        std::size_t places = 0;
        for (const ReplayStep& s : steps_) places += s.addresses.size();
        table_ = WrittenTable(places, bytes_there(8 * (places + 2 * steps_.size() + 1)));
        fixed_.assign(graph_.inputs().size(), {});
        for (ValueId v : graph_.inputs())
            if (crossings_.stays(v))
                hold(v, tensor_of(Key(0)));  // no launch is given it
            else if (!capturable_->by_table(v))
                hold(v, fixed_[graph_.node(v).index] = made_there(graph_.node(v)));
        bring_constants();
        Capture capture(gpu);
        writing_ = capturing_now->asked = true;
        begin();
        for (std::size_t t = 0; t <= steps_.size(); ++t) {
            guards_.keep(t, [&](ValueId v) { return block(v); });
            if (t < steps_.size()) write_key(t), step(gpu, t);
        }
        guards_there_ = guards_.write();
        handed_out_.assign(graph_.outputs().size(), {});
        for (std::size_t k = 0; k < handed_out_.size(); ++k)
            if (!capturable_->passes_on(k) && !capturable_->by_table(plan_.root(graph_.outputs()[k])))
                handed_out_[k] = output(k, fixed_, handed_out_);
        kept_ = blocks_;
        for (const Ref<Block>& b : {arena_, table_.there(), guards_there_}) kept_.push_back(b);
        kept_.insert(kept_.end(), owned_.begin(), owned_.end());
        written_ = capture.finish();
    }
    /// Random numbers that are drawn in step t find their key in the table.
    void write_key(std::size_t t)
    {
        const tiling::Group& group = plan_.tasks[t].group;
        const bool draws = !group.fused && graph_.node(group.nodes[0]).primitive->random;
        capturing_now->key = draws ? table_.key(graph_.node(group.nodes[0]).inputs[0]) : nullptr;
    }
    /// Keys that the host makes of the arguments.
    void make_keys()
    {
        for (std::size_t t = 0; t < steps_.size() && table_.has_keys(); ++t)
            if (const tiling::Group& group = plan_.tasks[t].group;
                !group.fused && crossings_.stays(group.nodes[0]))
                call(steps_[t], group.nodes[0]);
    }
    /// What differs from run to run is brought to its place, then all of it is one call.
    std::size_t run_written(Gpu& gpu, const std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs)
    {
        const Computing now("freeze", {});
        if (capturable_->asks()) ask_arguments(gpu, steps_, inputs);
        for (ValueId v : graph_.inputs()) {
            const Ref<Block>& x = inputs[graph_.node(v).index];
            const Ref<Block>& place = fixed_[graph_.node(v).index];
            if (!crossings_.needs(v)) continue;
            if (crossings_.stays(v))
                hold(v, contiguous(on_host(x)));
            else if (capturable_->by_table(v))
                hold(v, contiguous(placed(x, device_)));
            else if (x->access.device == device_)
                device_table(device_).copy(*x, *place);
            else
                gpu.from_host(place->data, contiguous(on_host(x))->data, place->bytes());
        }
        make_keys();
        table_.bring(
            gpu, [&](ValueId v) { return address_now(v); }, [&](ValueId v) { return block(v); });
        written_->launch();
        device_table(device_).counts->kernels.fetch_add(launches_, std::memory_order_relaxed);
        if (guards_there_)
            if (const std::size_t failed = guards_.failing(*guards_there_); failed < graph_.guards().size())
                return failed;
        outputs.clear();
        for (std::size_t k = 0; k < graph_.outputs().size(); ++k)
            outputs.push_back(handed_out_[k] ? copy_of(*handed_out_[k]) : output(k, inputs, outputs));
        return graph_.guards().size();
    }
    std::byte* address_now(ValueId v)
    {
        const ValueId from = plan_.root(v);
        if (graph_.node(from).kind == Graph::Kind::operation) {
            const std::uint32_t k = plan_.stores[plan_.values[from].store].output;
            if (!owned_[k]) owned_[k] = made_there(graph_.node(graph_.outputs()[k]));
            at_[from] = owned_[k]->data;
        }
        return address(v);
    }

    PlanWatch* watch_;
    ReplayGuards guards_;
    // of the work that was written down
    bool tried_ = false;
    std::size_t runs_ = 0;
    std::uint64_t zero_ = 0;  ///< what cotangents are compared with in it
    Ref<Block> guards_there_;
    std::vector<Ref<Block>> fixed_, handed_out_, kept_;  ///< arguments and results in one place; all else
    std::unique_ptr<CapturedWork> written_;
    OrderedRuns runs_in_order_;
};

}  // namespace wengert::detail::gpu
