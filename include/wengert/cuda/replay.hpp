// Graphs on a device: the groups of the one fuser as kernels (group_text.hpp), all else by itself as eagerly, in an order and in memory
// that are planned once (graph/tile/plan.hpp). Nobody waits for the device but where a guard is looked at.
#pragma once

#include <bit>

#include "../graph/ir/interpret.hpp"
#include "../graph/tile/call_steps.hpp"
#include "../graph/tile/inspect.hpp"
#include "../ops/random.hpp"
#include "../devices/cuda/capture.hpp"
#include "capturable.hpp"
#include "replay_values.hpp"

namespace wengert::detail::gpu {

/// The way from the number that blocks have to the device (table.hpp).
Gpu& gpu_with(std::uint8_t device);

class Replay final : public Executable, private ReplayValues {
public:
    Replay(const Graph& g, const PlanOptions& options, std::uint8_t device)
        : ReplayValues(g, options, device), watch_(options.watch), crossings_(graph_, plan_),
          capturable_(graph_, plan_, wants_), steps_(plan_.tasks.size()), guards_(graph_, plan_, device_),
          constants_(g.size()), owned_(g.outputs().size())
    {
        compile();
        for (std::size_t t = 0; t < steps_.size(); ++t) find_ends(t);
        find_constants();
        if (watch_) tiling::tell(plan_, *watch_), watch_->crossings = crossings_.notes();
        stats.transfers = crossings_.count, stats.transfer_bytes = crossings_.bytes;
        stats.kernels = steps_.size();
        stats.arena_bytes = plan_.arena.bytes, stats.lower_bound = plan_.arena.lower_bound;
        for (const ReplayStep& s : steps_) stats.uncompiled += !s.kernel && !s.loop;
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

    using Home = tiling::Home;

    /// Nothing of a run is left behind, however it ends.
    struct Emptied {
        Replay& self;
        ~Emptied()
        {
            current_thread().place = {};
            std::fill(self.blocks_.begin(), self.blocks_.end(), Ref<Block>());
            std::fill(self.owned_.begin(), self.owned_.end(), Ref<Block>());
            self.arena_ = {};
            self.guards_.end();
        }
    };

    void compile()
    {
        GroupKernels kernels(graph_, layouts_, wants_);
        for (std::size_t t = 0; t < steps_.size(); ++t)
            if (const tiling::Group& group = plan_.tasks[t].group; group.fused)
                kernels.add(group, steps_[t]);
            else
                by_itself(steps_[t], group.nodes[0]);
        kernels.compile(gpu_with(device_));
        tell(wants_.long_rows());
    }
    /// What explain() says.
    void tell(const std::string& what)
    {
        if (!what.empty()) note += (note.empty() ? "" : "; ") + what;
    }
    void by_itself(ReplayStep& s, ValueId v)
    {
        const GraphNode& n = graph_.node(v);
        if (is_described(*n.primitive) && uses_positions(graph_, n)) s.positions.push_back(v);
        const LoopParameters* const loop = loop_parameters(n);
        if (loop && DeviceLoop::can(*loop)) {
            s.loop = std::make_unique<DeviceLoop>(*loop, device_);
            return;
        }
        s.keeps = tiling::detail::is_foreign(n);
        if (!loop) return;
        ++stats.uncompiled_loops;
        tell(std::string(n.primitive->name) + (n.at.line ? " at " + to_string(n.at) : "") +
             " runs on the host");
    }
    void find_ends(std::size_t t)
    {
        const tiling::Group& group = plan_.tasks[t].group;
        for (const auto* list : {&group.operands, &group.results})
            for (ValueId v : *list)
                if (plan_.values[plan_.root(v)].last == t + 1 &&
                    graph_.node(plan_.root(v)).kind == Graph::Kind::operation)
                    steps_[t].ends.push_back(plan_.root(v));
    }
    /// Those that somebody reads in memory; numbers that are written into the text are none of them.
    void find_constants()
    {
        std::vector<bool> read(graph_.size(), false);
        for (std::size_t t = 0; t < steps_.size(); ++t) {
            for (ValueId v : steps_[t].addresses) read[plan_.root(v)] = true;
            if (!steps_[t].kernel)
                for (ValueId v : plan_.tasks[t].group.operands) read[plan_.root(v)] = true;
        }
        for (ValueId v : graph_.outputs()) read[plan_.root(v)] = true;
        for (const Guard& guard : graph_.guards()) read[plan_.root(guard.value)] = true;
        for (ValueId v = 0; v < graph_.size(); ++v)
            if (read[v] && graph_.node(v).kind == Graph::Kind::constant) known_.push_back(v);
    }

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

    void begin(const std::vector<Ref<Block>>& inputs)
    {
        users_ = 0;
        for (const Ref<Block>& x : inputs)
            if (x->access.device) users_ = device_;
        for (ValueId v : graph_.inputs()) {
            const Ref<Block>& x = inputs[graph_.node(v).index];
            if (crossings_.needs(v))
                hold(v, contiguous(crossings_.stays(v) ? on_host(x) : placed(x, device_)));
        }
        begin();
    }
    void begin()
    {
        if (plan_.arena.bytes > 0) arena_ = bytes_there(plan_.arena.bytes);
        for (ValueId v : known_) {
            if (!constants_[v]) constants_[v] = placed(contiguous(graph_.node(v).constant), device_);
            hold(v, constants_[v]);
        }
    }
    /// What a launch is given: an address, or where it will stand.
    std::uintptr_t given(ValueId v)
    {
        if (!writing_ || !capturable_.by_table(plan_.root(v)))
            return reinterpret_cast<std::uintptr_t>(address(v));
        return table_.address(v);
    }
    /// Where a task's result lies: over another value, in an output, or in the arena.
    void find_place(const tiling::Task& task, std::size_t r)
    {
        const ValueId v = task.group.results[r];
        const tiling::Placed& p = plan_.values[v];
        const tiling::Store& s = plan_.stores[p.store];
        if (task.over[r] != no_value) {
            at_[v] = at_[task.over[r]];
        } else if (p.home == Home::output) {
            if (!task.group.fused) return void(at_[v] = nullptr);  // whoever makes it takes memory for it
            if (writing_ && capturable_.by_table(v)) return;
            owned_[s.output] = made_there(graph_.node(graph_.outputs()[s.output]));
            at_[v] = owned_[s.output]->data;
        } else {
            at_[v] = arena_ ? arena_->data + s.offset : nullptr;
        }
    }

    void step(Gpu& gpu, std::size_t t)
    {
        const tiling::Task& task = plan_.tasks[t];
        ReplayStep& s = steps_[t];
        for (std::size_t r = 0; r < task.group.results.size(); ++r) find_place(task, r);
        const GraphNode& n = graph_.node(task.group.nodes.back());
        const Computing now(n.primitive->name, n.at);
        if (s.kernel)
            launch_group(gpu, s);
        else
            call(s, task.group.nodes[0]);
        for (ValueId v : s.ends) blocks_[v] = {};
    }
    void launch_group(Gpu& gpu, ReplayStep& s)
    {
        if (!writing_) ask(gpu, s);
        parameters_.resize(s.addresses.size() + 1);
        std::memcpy(&parameters_[0], &kernels::zero_cotangent, sizeof(double));
        for (std::size_t k = 0; k < s.addresses.size(); ++k) parameters_[k + 1] = given(s.addresses[k]);
        if (s.fold != no_value)
            fold_chain(gpu, graph_, s, parameters_, *block(s.fold));
        else {
            void* all[] = {parameters_.data()};
            launch_with(gpu, s.kernel, s.count, all);
        }
        if (writing_) return void(++launches_);
        device_table(device_).counts->kernels.fetch_add(1, std::memory_order_relaxed);
    }
    /// An operation by itself, with the device's kernel or the host's help: it is told where to put its result.
    void call(const ReplayStep& s, ValueId v)
    {
        const GraphNode& n = graph_.node(v);
        std::vector<Ref<Block>> in;
        const OnDevice where(s.keeps ? users_ : device_);
        for (ValueId i : n.inputs)
            in.push_back(!s.keeps ? block(i) : users_ ? copy_of(*block(i)) : on_host(block(i)));
        Thread& t = current_thread();
        const std::size_t bytes = plan_.bytes_of(v);
        if (!s.keeps && at_[v]) t.place = {at_[v], bytes, device_};
        Ref<Block> y = s.loop ? s.loop->run(in) : compute_node(n, in.data());
        t.place = {};
        if (y->count != element_count(n.shape) || y->dtype != n.dtype)
            fail<TapeError>(n.primitive->name, "gave a result of another shape than when it was traced",
                            n.at);
        if (s.keeps && !users_)
            device_table(device_).counts->host_calls.fetch_add(1, std::memory_order_relaxed);
        if (crossings_.stays(v)) return hold(v, std::move(y));
        y = placed(std::move(y), device_);
        const bool seen =
            std::any_of(in.begin(), in.end(), [&](const Ref<Block>& x) { return x.get() == y.get(); });
        if (y->strided || seen || (y->base && y->data != at_[v])) y = copy_of(*y);
        hold(v, std::move(y));
    }

    /// After some runs, which have made all kernels ready, the work is written down: true where that is done instead.
    bool write_down(Gpu& gpu)
    {
        constexpr std::size_t before = 2;
        const auto zero = std::bit_cast<std::uint64_t>(double{kernels::zero_cotangent});
        if (!written_ && capturable_ && !tried_ && !watch_ && runs_++ >= before) {
            tried_ = true;
            zero_ = zero;
            try {
                write(gpu);
            } catch (const Error&) {  // the host has a part in it, or the driver cannot
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
            else if (!capturable_.by_table(v))
                hold(v, fixed_[graph_.node(v).index] = made_there(graph_.node(v)));
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
            if (!capturable_.passes_on(k) && !capturable_.by_table(plan_.root(graph_.outputs()[k])))
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
        if (capturable_.asks()) ask_arguments(gpu, steps_, inputs);
        for (ValueId v : graph_.inputs()) {
            const Ref<Block>& x = inputs[graph_.node(v).index];
            const Ref<Block>& place = fixed_[graph_.node(v).index];
            if (!crossings_.needs(v)) continue;
            if (crossings_.stays(v))
                hold(v, contiguous(on_host(x)));
            else if (capturable_.by_table(v))
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

    Ref<Block> output(std::size_t k, const std::vector<Ref<Block>>& inputs,
                      const std::vector<Ref<Block>>& before)
    {
        const ValueId v = graph_.outputs()[k], from = plan_.root(v);
        const auto same = std::find(graph_.outputs().begin(), graph_.outputs().end(), v);
        if (const auto j = static_cast<std::size_t>(same - graph_.outputs().begin()); j < k) return before[j];
        const GraphNode& n = graph_.node(v);
        if (v == from && n.kind == Graph::Kind::input) return inputs[n.index];
        if (v == from && n.kind == Graph::Kind::constant) return constants_[v];
        if (owned_[k]) return std::move(owned_[k]);
        const tiling::Placed& p = plan_.values[from];
        const bool made = p.home == Home::output && plan_.stores[p.store].output == k;
        return made ? block(v) : copy_of(*block(v));
    }

    PlanWatch* watch_;
    Crossings crossings_;
    Capturable capturable_;
    std::vector<ReplayStep> steps_;
    ReplayGuards guards_;
    std::vector<ValueId> known_;
    std::vector<Ref<Block>> constants_;  ///< brought there by the first run
    // of a run
    std::uint8_t users_ = 0;  ///< where the arguments are, and so what code of the user's is given
    Ref<Block> arena_;
    std::vector<Ref<Block>> owned_;  ///< outputs that launches write
    std::vector<std::uintptr_t> parameters_;
    // of the work that was written down
    bool writing_ = false, tried_ = false;
    std::size_t runs_ = 0;
    std::int64_t launches_ = 0;
    std::uint64_t zero_ = 0;  ///< what cotangents are compared with in it
    WrittenTable table_;
    Ref<Block> guards_there_;
    std::vector<Ref<Block>> fixed_, handed_out_, kept_;  ///< arguments and results in one place; all else
    std::unique_ptr<CapturedWork> written_;
    OrderedRuns runs_in_order_;
};

}  // namespace wengert::detail::gpu
