// Runs of graphs on a device, and their work captured as one CUDA graph. The host waits for the device only where it checks guards.
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
        if (watch_) tiling::tell(plan_, *watch_), watch_->transfers = transfers_.notes();
    }

    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;
    ~Replay() override
    {
        for (const auto* list : {&constants_, &fixed_})
            for (const Ref<Block>& b : *list) end_of(b);
        for (const std::unique_ptr<CapturedRun>& w : captured_) end_of(*w);
        end_of(arena_written_);
        if (workspace_.at) runs_in_order_.end(workspace_.at, workspace_.capacity);
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
        if (may_write()) {
            if (capturable_->asks()) ask_arguments(gpu, steps_, inputs);
            if (CapturedRun* const w = captured_here(gpu, inputs))
                return run_captured(gpu, *w, inputs, outputs);
            empty();
        }
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

    /// Drops the values of a run when it ends, also by an exception.
    struct Emptied {
        Replay& self;
        ~Emptied()
        {
            self.empty();
            self.guards_.end();
        }
    };

    /// Memory that runs have used ends: whoever gets it next comes after the last run.
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

    /// Captured work, the addresses of arguments and results for which it is right, and its memory.
    struct CapturedRun {
        std::vector<const std::byte*> places;
        CapturedTable table;
        Ref<Block> guards;
        std::vector<Ref<Block>> handed_out, kept;
        std::unique_ptr<CapturedWork> work;
    };
    void end_of(const CapturedRun& w) const noexcept
    {
        for (const auto* list : {&w.handed_out, &w.kept})
            for (const Ref<Block>& b : *list) end_of(b);
    }

    /// May work be captured? Only after some runs, which have prepared all kernels.
    bool may_write()
    {
        constexpr std::size_t before = 2;
        if (!*capturable_ || watch_ || given_up_ || runs_++ < before) return false;
        const auto zero = std::bit_cast<std::uint64_t>(double{kernels::zero_cotangent});
        if (!tried_) zero_ = zero;
        return zero == zero_;
    }
    /// Finds the addresses of arguments that captured work reads in place, and memory for such results.
    void find_places(const std::vector<Ref<Block>>& inputs)
    {
        places_.clear();
        fixed_.resize(graph_.inputs().size());
        for (ValueId v : graph_.inputs()) {
            if (!transfers_.needs(v) || transfers_.stays(v) || capturable_->by_table(v)) continue;
            const std::size_t k = graph_.node(v).index;
            const Ref<Block>& x = inputs[k];
            Ref<Block>& place = fixed_[k];
            if (capturable_->in_place(v) && x->device() == device_) {
                hold(v, contiguous(x));
            } else {
                if (!place) place = made_there(graph_.node(v));
                hold(v, place);
            }
            if (capturable_->in_place(v)) places_.push_back(at_[v]);
        }
        for (std::size_t k = 0; k < graph_.outputs().size(); ++k)
            if (capturable_->result_in_place(k)) {
                owned_[k] = made_there(graph_.node(graph_.outputs()[k]));
                places_.push_back(owned_[k]->data);
            }
    }
    /// The captured work for the addresses of this run. If there is none, it is captured now, unless addresses differ each time.
    CapturedRun* captured_here(Gpu& gpu, const std::vector<Ref<Block>>& inputs)
    {
        try {
            find_places(inputs);
            const auto found = std::find_if(captured_.begin(), captured_.end(),
                                            [&](const auto& w) { return w->places == places_; });
            if (found != captured_.end()) {
                ++found_;
                std::rotate(captured_.begin(), found, found + 1);
            } else if (tried_ > most_captured + found_) {
                return say_elsewhere(), nullptr;
            } else {
                write(gpu);
            }
        } catch (const Error& e) {  // the host has a part in it, or the driver cannot
            if (capturable_->has_conditions()) say_conditions(e.what()), stats_changed = true;
            given_up_ = captured_.empty();
            end_of_writing();
            return nullptr;
        }
        return captured_.front().get();
    }
    void end_of_writing()
    {
        writing_ = false;
        table_ = nullptr;
        guards_.end();
    }
    void say_elsewhere()
    {
        if (!std::exchange(said_, true))
            tell("its arguments lie elsewhere each time: it is launched step by step"), stats_changed = true;
    }
    void write(Gpu& gpu)
    {
        ++tried_;
        std::unique_ptr<CapturedWork> before;
        if (captured_.size() == most_captured) {
            end_of(*captured_.back());
            before = std::move(captured_.back()->work);
            captured_.pop_back();
        }
        auto made = std::make_unique<CapturedRun>();
        made->places = places_;
        std::size_t places = 0;
        for (const ReplayStep& s : steps_) places += s.addresses.size();
        made->table = CapturedTable(places, bytes_there(8 * (places + 2 * steps_.size() + 1)));
        table_ = &made->table;
        const std::vector<Ref<Block>> results = owned_;
        for (ValueId v : graph_.inputs())
            if (transfers_.stays(v)) hold(v, tensor_of(Key(0)));  // no launch reads it
        bring_constants();
        launches_ = 0;
        arena_ = arena_written_;
        Capture capture(gpu, workspace_);
        writing_ = capturing_now->asked = true;
        begin();
        for (std::size_t t = 0; t <= steps_.size(); ++t) {
            guards_.keep(t, [&](ValueId v) { return block(v); });
            if (t < steps_.size()) write_key(t), step(gpu, t);
        }
        made->guards = guards_.write();
        made->handed_out.assign(graph_.outputs().size(), {});
        for (std::size_t k = 0; k < made->handed_out.size(); ++k)
            if (!capturable_->passes_on(k) && !results[k] &&
                !capturable_->by_table(plan_.root(graph_.outputs()[k])))
                made->handed_out[k] = output(k, fixed_, made->handed_out);
        arena_written_ = arena_;
        keep(*made, results);
        made->work = capture.finish(std::move(before));
        owned_ = results;
        captured_.insert(captured_.begin(), std::move(made));
        end_of_writing();
    }
    /// Keeps all memory of the work but arguments and results, which differ in the next run.
    void keep(CapturedRun& w, const std::vector<Ref<Block>>& results)
    {
        for (ValueId v = 0; v < graph_.size(); ++v)
            if (graph_.node(v).kind != Graph::Kind::input) w.kept.push_back(blocks_[v]);
        for (const Ref<Block>& b : {w.table.there(), w.guards}) w.kept.push_back(b);
        for (std::size_t k = 0; k < owned_.size(); ++k)
            if (!results[k]) w.kept.push_back(owned_[k]);
    }
    /// Lets step t read the key of its random numbers from the table.
    void write_key(std::size_t t)
    {
        const tiling::Group& group = plan_.tasks[t].group;
        const bool draws = !group.fused && graph_.node(group.nodes[0]).primitive->random;
        capturing_now->key = draws ? table_->key(graph_.node(group.nodes[0]).inputs[0]) : nullptr;
    }
    /// Keys that the host makes of the arguments.
    void make_keys(const CapturedTable& table)
    {
        for (std::size_t t = 0; t < steps_.size() && table.has_keys(); ++t)
            if (const tiling::Group& group = plan_.tasks[t].group;
                !group.fused && transfers_.stays(group.nodes[0]))
                call(steps_[t], group);
    }
    /// Copies what differs from run to run to its address. Then the whole graph is one call.
    std::size_t run_captured(Gpu& gpu, const CapturedRun& w, const std::vector<Ref<Block>>& inputs,
                             std::vector<Ref<Block>>& outputs)
    {
        const Computing now("freeze", {});
        for (ValueId v : graph_.inputs())
            if (transfers_.needs(v)) bring(gpu, v, inputs[graph_.node(v).index]);
        make_keys(w.table);
        w.table.bring(
            gpu, [&](ValueId v) { return address_now(v); }, [&](ValueId v) { return block(v); });
        w.work->launch();
        device_table(device_).counts->kernels.fetch_add(launches_, std::memory_order_relaxed);
        if (w.guards)
            if (const std::size_t failed = guards_.failing(*w.guards); failed < graph_.guards().size())
                return failed;
        outputs.clear();
        for (std::size_t k = 0; k < graph_.outputs().size(); ++k)
            outputs.push_back(w.handed_out[k] ? copy_of(*w.handed_out[k]) : output(k, inputs, outputs));
        return graph_.guards().size();
    }
    /// Brings an argument of this run to the address that the captured work reads.
    void bring(Gpu& gpu, ValueId v, const Ref<Block>& x)
    {
        if (transfers_.stays(v)) return hold(v, contiguous(on_host(x)));
        if (capturable_->by_table(v)) return hold(v, contiguous(placed(x, device_)));
        const Ref<Block>& place = fixed_[graph_.node(v).index];
        if (capturable_->in_place(v) && x->device() == device_) return;  // it is where it is expected
        if (x->device() == device_)
            device_table(device_).copy(*x, *place);
        else
            gpu.from_host(place->data, contiguous(on_host(x))->data, place->bytes());
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
    // of the work that was captured
    static constexpr std::size_t most_captured = 4;
    std::size_t runs_ = 0, tried_ = 0, found_ = 0;  ///< how often it was captured, and found
    bool given_up_ = false, said_ = false;
    std::uint64_t zero_ = 0;                ///< kernels::zero_cotangent when it was captured
    std::vector<const std::byte*> places_;  ///< of this run
    std::vector<Ref<Block>> fixed_;         ///< places of arguments that are copied there
    Ref<Block> arena_written_;
    Workspace workspace_;
    std::vector<std::unique_ptr<CapturedRun>> captured_;  ///< the last that was done comes first
    OrderedRuns runs_in_order_;
};

}  // namespace wengert::detail::gpu
