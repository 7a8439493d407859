// Loops and branches of graphs on a device. The graph of the body is compiled like any other and runs step after step; its states
// stay where they are. Conditions come back to the host, one element a step. If the loop is captured with all that is around it,
// its body is that of a node of the driver, and the device decides.
#pragma once

#include "../../graph/loops/loop_code.hpp"
#include "../../graph/run/call_steps.hpp"
#include "../eager/conditions.hpp"
#include "../eager/folds.hpp"

namespace wengert::detail::gpu {

/// The way from the number that blocks have to the device (table.hpp).
Gpu& gpu_with(std::uint8_t device);

/// A graph made ready for a device (replay.hpp).
std::unique_ptr<Executable> compile_replay(const Graph& g, const PlanOptions& options, std::uint8_t device);

class DeviceLoop {
public:
    using Kind = LoopParameters::Kind;

    DeviceLoop(const LoopParameters& p, std::uint8_t device) : p_(p), device_(device)
    {
        body_ = ready(*LoopPlans::body_of(p));
        if (p.other) other_ = ready(*p.other);
        if (p.pull) pull_ = ready(*p.pull);
    }
    /// Results of two widths, and calls of the host are the host's.
    static bool can(const LoopParameters& p)
    {
        for (const auto& g : {p.body, p.other, p.pull})
            if (g && foreign(*g)) return false;
        if (p.effects) return false;
        return std::none_of(p.results.begin(), p.results.end(), [&](const LoopParameters::Result& r) {
            return r.wanted() && differentiable(r.dtype) && r.dtype != p.dtype;
        });
    }

    /// The packed results.
    Ref<Block> run(std::vector<Ref<Block>> in);

    /// Is it decided by a truth value on the device when it ends, or which branch is taken?
    bool has_condition() const noexcept { return p_.kind != Kind::scan && p_.kind != Kind::scan_pull; }
    /// Conditions inside of it that come back to the host although its own does not, or with it.
    std::size_t conditions_inside() const
    {
        std::size_t n = 0;
        for (const auto* g : {&body_, &other_, &pull_})
            if (*g) n += (*g)->stats.host_conditions;
        return n;
    }
    /// Why it cannot be captured as a part of something else; "" where it can.
    std::string stays_outside() const
    {
        const Driver& d = Driver::get();
        if (!has_condition()) return "a scan runs step by step";
        if (p_.kind == Kind::while_pull) return "its derivative keeps the states of all steps";
        if (!d.has_conditions())
            return "driver " + Driver::version_text(d.made) + " has no conditional nodes";
        if (p_.guard != LoopParameters::npos && has_loops(*p_.other))
            return "its test has a loop and its steps a guard";
        for (const auto* g : {&body_, &other_}) {
            const auto* const inside = dynamic_cast<const DeviceGraph*>(g->get());
            const std::string why = inside ? inside->stays_outside() : (*g)->note;
            if (!why.empty()) return why;
        }
        return {};
    }
    void bring_constants()
    {
        for (const auto* g : {&body_, &other_}) part(*g).bring_constants();
    }

private:
    using Blocks = std::vector<Ref<Block>>;
    class Run;

    /// Does it call code of the user's, which is given tensors that lie where the arguments do?
    static bool foreign(const Graph& g)
    {
        return std::any_of(g.nodes().begin(), g.nodes().end(), [](const GraphNode& n) {
            return n.primitive && !n.primitive->loop && tiling::detail::is_foreign(n);
        });
    }

    std::unique_ptr<Executable> ready(const Graph& g) const
    {
        const OnDevice host(0);  // where constants of graphs are
        const BodyCompiler* const passes = body_compiler().load();
        return compile_replay(passes ? passes->optimize(g) : g, {}, device_);
    }
    static bool has_loops(const Graph& g)
    {
        return std::any_of(g.nodes().begin(), g.nodes().end(), loop_parameters);
    }
    static DeviceGraph& part(const std::unique_ptr<Executable>& g) { return dynamic_cast<DeviceGraph&>(*g); }
    bool truth(const Block& b) const { return host_element<bool>(b); }
    /// Writes a result, or row k of one.
    void put(const Ref<Block>& from, std::size_t result, std::size_t k = 0) const
    {
        const LoopParameters::Result& r = p_.results[result];
        if (!r.wanted() || from->count == 0) return;
        std::byte* const to = packed_->data + static_cast<std::size_t>(r.offset) * size_of(p_.dtype);
        device_table(device_).copy(
            *from, *make_borrowed_elsewhere(device_, r.dtype, from->shape, to + k * from->bytes()));
    }
    static Blocks some(const Blocks& of, std::size_t first, std::size_t n)
    {
        const auto begin = of.begin() + static_cast<std::ptrdiff_t>(first);
        return {begin, begin + static_cast<std::ptrdiff_t>(n)};
    }

    // in what is captured (loop_runs.hpp)
    void write_test(Gpu& gpu, const Conditional& node, const Blocks& in, const Block* guard);
    void take_states(Blocks& made, const Blocks& in) const;
    void write_repeat(Gpu& gpu, Blocks& in);
    void write_branch(Gpu& gpu, Blocks& in);

    const LoopParameters& p_;
    std::uint8_t device_;
    std::unique_ptr<Executable> body_, other_, pull_;
    Ref<Block> packed_;
};

/// What a task of a plan is on the device: a launch, or an operation by itself.
struct ReplayStep {
    Function* kernel = nullptr;             ///< null: by itself
    std::vector<ValueId> addresses;         ///< that a launch is given
    std::vector<ValueId> positions;         ///< operations of it for which elements are positions
    ValueId fold = no_value;                ///< what is folded of the elements as they are made
    FoldChain chain;                        ///< its kernels
    std::int64_t count = 0;                 ///< threads
    std::unique_ptr<DeviceLoop> loop = {};  ///< or a loop or branch, whose bodies run there
    bool part = false;          ///< or a result of one, of another type than the block that it is in
    bool keeps = false;         ///< code of the user's: it gets memory of its own
    std::vector<ValueId> ends;  ///< roots that nobody reads any more
};

}  // namespace wengert::detail::gpu
