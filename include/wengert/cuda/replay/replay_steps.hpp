// The steps of a graph on a device: the groups of the one fuser as kernels (group_text.hpp), all else by itself as eagerly, in an order
// and in memory that are planned once (graph/plan/plan.hpp).
#pragma once

#include <optional>

#include "../../graph/ir/interpret.hpp"
#include "../../graph/run/call_steps.hpp"
#include "../driver/host_side.hpp"
#include "../eager/products.hpp"
#include "capturable.hpp"
#include "loop_runs.hpp"
#include "replay_values.hpp"

namespace wengert::detail::gpu {

class ReplaySteps : public DeviceGraph, protected ReplayValues {
public:
    std::string stays_outside() const override
    {
        if (plan_.arena.bytes > Capturable::most_kept) return "a step works in more than 64 MiB";
        for (std::size_t t = 0; t < steps_.size(); ++t) {
            if (!steps_[t].positions.empty()) return "the host looks at the positions of each step";
            for (ValueId v : plan_.tasks[t].group.nodes) {
                const GraphNode& n = graph_.node(v);
                const Primitive& p = *n.primitive;
                if (steps_[t].loop) {
                    if (std::string why = steps_[t].loop->stays_outside(); !why.empty()) return why;
                } else if (!steps_[t].part && (p.effects || transfers_.stays(v) ||
                                               !((p.value && steps_[t].kernel) || p.fold || p.product ||
                                                 p.zero_rule || Capturable::moves(graph_, n))))
                    return std::string(p.name) + " is not captured in a loop or branch";
            }
        }
        return {};
    }
    void bring_constants() override
    {
        bring_known();
        for (const tiling::Task& t : plan_.tasks)
            if (graph_.node(t.group.nodes[0]).primitive->product) DeviceProduct::prepare(gpu_with(device_));
        for (const ReplayStep& s : steps_)
            if (s.loop && s.loop->has_condition()) s.loop->bring_constants();
    }
    void write_inside(Gpu& gpu, const std::vector<Ref<Block>>& inputs,
                      std::vector<Ref<Block>>& outputs) override
    {
        const struct Emptied {
            ReplaySteps& self;
            ~Emptied() { self.empty(); }
        } emptied{*this};
        begin(inputs);
        for (std::size_t t = 0; t < steps_.size(); ++t) step(gpu, t);
        for (std::size_t k = 0; k < graph_.outputs().size(); ++k)
            outputs.push_back(output(k, inputs, outputs));
    }

protected:
    ReplaySteps(const Graph& g, std::uint8_t device)
        : ReplayValues(g, device), transfers_(graph_, plan_), steps_(plan_.tasks.size()), constants_(g.size())
    {
        compile();
        capturable_.emplace(graph_, plan_, wants_, steps_);
        for (std::size_t t = 0; t < steps_.size(); ++t) find_ends(t);
        find_constants();
        stats.transfers = transfers_.count, stats.transfer_bytes = transfers_.bytes;
        stats.kernels = steps_.size();
        stats.arena_bytes = plan_.arena.bytes, stats.arena_lower_bound = plan_.arena.lower_bound;
        for (const ReplayStep& s : steps_) stats.uncompiled += !s.kernel && !s.loop;
        if (!*capturable_) say_conditions(capturable_->why());
    }

    /// Adds a sentence to what explain() returns.
    void tell(const std::string& what)
    {
        if (!what.empty()) note += (note.empty() ? "" : "; ") + what;
    }
    void tell(const GraphNode& n, const std::string& what)
    {
        tell(std::string(n.primitive->name) + (n.at.line ? " at " + to_string(n.at) : "") + what);
    }
    /// Nobody knew before it ran.
    void say_host_helps(const GraphNode& n)
    {
        stats.transfers = transfers_.count, stats.transfer_bytes = transfers_.bytes;
        tell(n, " is computed on the host");
        stats_changed = true;
    }
    /// Conditions come back to the host unless all of it is captured.
    void say_conditions(const std::string& why)
    {
        for (std::size_t t = 0; t < steps_.size(); ++t) {
            if (!steps_[t].loop) continue;
            stats.host_conditions += steps_[t].loop->has_condition() + steps_[t].loop->conditions_inside();
            if (!steps_[t].loop->has_condition()) continue;
            const GraphNode& n = graph_.node(plan_.tasks[t].group.nodes[0]);
            tell(n, ": its condition comes back to the host (" + why + ")");
        }
    }
    /// Nothing of a run is left behind.
    void empty()
    {
        current_thread().planned = {};
        std::fill(blocks_.begin(), blocks_.end(), Ref<Block>());
        std::fill(owned_.begin(), owned_.end(), Ref<Block>());
        arena_ = {};
    }
    void begin(const std::vector<Ref<Block>>& inputs)
    {
        users_ = 0;
        for (const Ref<Block>& x : inputs)
            if (x->access.device) users_ = device_;
        for (ValueId v : graph_.inputs()) {
            const Ref<Block>& x = inputs[graph_.node(v).index];
            if (transfers_.needs(v))
                hold(v, contiguous(transfers_.stays(v) ? on_host(x) : placed(x, device_)));
        }
        begin();
    }
    void begin()
    {
        if (plan_.arena.bytes > 0 && !arena_) arena_ = bytes_there(plan_.arena.bytes);
        bring_known();
        for (ValueId v : known_) hold(v, constants_[v]);
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
            call(s, task.group);
        for (ValueId v : s.ends) blocks_[v] = {};
    }
    /// An operation by itself, with the device's kernel or the host's help: it is told where to put its result.
    void call(const ReplayStep& s, const tiling::Group& group)
    {
        const ValueId v = group.nodes[0];
        const GraphNode& n = graph_.node(v);
        std::vector<Ref<Block>> in;
        const OnDevice where(s.keeps ? users_ : device_);
        const std::int64_t helped = host_has_helped;
        for (std::size_t k = 0; k < n.inputs.size(); ++k)
            if (const ValueId i = n.inputs[k]; is_factor_here(n, k))
                in.push_back(graph_.node(i).constant);
            else
                in.push_back(!s.keeps ? block(i) : users_ ? copy_of(*block(i)) : on_host(block(i)));
        Thread& t = current_thread();
        const std::size_t bytes = plan_.bytes_of(v);
        if (!s.keeps && at_[v]) t.planned = {at_[v], bytes, device_};
        Ref<Block> y = s.loop                 ? s.loop->run(in)
                       : s.part               ? taken(n, *in[0])
                       : n.primitive->product ? multiplied(n, in)
                                              : compute_node(n, in.data());
        t.planned = {};
        if (host_has_helped != helped && transfers_.made_on_host(group)) say_host_helps(n);
        if (y->count != element_count(n.shape) || y->dtype != n.dtype)
            fail<TapeError>(n.primitive->name, "gave a result of another shape than when it was traced",
                            n.at);
        if (s.keeps && !users_) count_host_call(device_);
        if (transfers_.stays(v)) return hold(v, std::move(y));
        if (owned_at(v) && y->data != at_[v]) {
            device_table(device_).copy(*y, *owned_at(v));
            y = owned_at(v);
        }
        y = placed(std::move(y), device_);
        const bool seen =
            std::any_of(in.begin(), in.end(), [&](const Ref<Block>& x) { return x.get() == y.get(); });
        if (y->strided || seen || (y->base && y->data != at_[v])) y = copy_of(*y);
        hold(v, std::move(y));
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

    HostTransfers transfers_;
    std::optional<Capturable> capturable_;  ///< when it is known what becomes of its steps
    std::vector<ReplayStep> steps_;
    std::vector<Ref<Block>> constants_;  ///< brought there by the first run
    // of a run
    Ref<Block> arena_;
    // of work that is captured as a whole
    bool writing_ = false;
    std::int64_t launches_ = 0;
    CapturedTable* table_ = nullptr;

private:
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
    void by_itself(ReplayStep& s, ValueId v)
    {
        const GraphNode& n = graph_.node(v);
        if (is_described(*n.primitive) && uses_positions(graph_, n)) s.positions.push_back(v);
        const LoopParameters* const loop = loop_parameters(n);
        if (loop && DeviceLoop::can(*loop)) {
            s.loop = std::make_unique<DeviceLoop>(*loop, device_);
            return;
        }
        s.part = !is_described(*n.primitive) && packed_part(n) &&
                 loop_parameters(graph_.node(plan_.root(n.inputs[0])));
        s.keeps = tiling::detail::is_foreign(n);
        if (n.primitive->value) tell(n, " is computed on the host: its rule has no text");
        if (!loop) return;
        ++stats.uncompiled_loops;
        tell(n, " runs on the host");
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
            if (steps_[t].kernel) continue;
            const GraphNode& n = graph_.node(plan_.tasks[t].group.nodes[0]);
            for (std::size_t k = 0; k < n.inputs.size(); ++k)
                if (!is_factor_here(n, k)) read[plan_.root(n.inputs[k])] = true;
        }
        for (ValueId v : graph_.outputs()) read[plan_.root(v)] = true;
        for (const Guard& guard : graph_.guards()) read[plan_.root(guard.value)] = true;
        for (ValueId v = 0; v < graph_.size(); ++v)
            if (read[v] && graph_.node(v).kind == Graph::Kind::constant) known_.push_back(v);
    }

    void bring_known()
    {
        for (ValueId v : known_)
            if (!constants_[v]) constants_[v] = placed(contiguous(graph_.node(v).constant), device_);
    }
    /// The address that a launch is given, or the place in the table where the address will stand.
    std::uintptr_t given(ValueId v)
    {
        if (!writing_ || !capturable_->by_table(plan_.root(v)))
            return reinterpret_cast<std::uintptr_t>(address(v));
        return table_->address(v);
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
            if (writing_ && capturable_->by_table(v)) return;
            Ref<Block>& out = owned_[s.output];
            if (!out && !task.group.fused)
                return void(at_[v] = nullptr);  // whoever makes it takes memory for it
            if (!out) out = made_there(graph_.node(graph_.outputs()[s.output]));
            at_[v] = out->data;
        } else {
            at_[v] = arena_ ? arena_->data + s.offset : nullptr;
        }
    }

    void launch_group(Gpu& gpu, ReplayStep& s)
    {
        if (!gpu.writes_down()) ask(gpu, s);
        parameters_.resize(s.addresses.size() + 1);
        std::memcpy(&parameters_[0], &kernels::zero_cotangent, sizeof(double));
        for (std::size_t k = 0; k < s.addresses.size(); ++k) parameters_[k + 1] = given(s.addresses[k]);
        if (s.fold != no_value)
            fold_chain(gpu, graph_, s, parameters_, *block(s.fold));
        else {
            void* all[] = {parameters_.data()};
            launch_with(gpu, s.kernel, s.count, all);
        }
        launches_ += writing_;
        if (gpu.writes_down()) return;
        device_table(device_).counts->kernels.fetch_add(1, std::memory_order_relaxed);
    }
    Ref<Block> multiplied(const GraphNode& n, const std::vector<Ref<Block>>& in) const
    {
        return device_table(device_).structural(*n.primitive, n.op.get(), in.data(), in.size(), n.at);
    }

    std::vector<ValueId> known_;
    std::uint8_t users_ = 0;  ///< where the arguments are, and so what code of the user's is given
    std::vector<std::uintptr_t> parameters_;
};

}  // namespace wengert::detail::gpu
