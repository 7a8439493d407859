// Loops and branches of graphs on a device: the body's graph is made ready like any other and runs step after step, its states stay where
// they are. Conditions come back to the host, one element a step.
#pragma once

#include "../graph/loops/compiled_step.hpp"
#include "../graph/loops/loop.hpp"
#include "../graph/tile/call_steps.hpp"
#include "folds.hpp"

namespace wengert::detail::gpu {

/// A graph made ready for a device (replay.hpp).
std::unique_ptr<Executable> compile_replay(const Graph& g, const PlanOptions& options, std::uint8_t device);

class DeviceLoop {
public:
    using Kind = LoopParameters::Kind;

    DeviceLoop(const LoopParameters& p, std::uint8_t device) : p_(p), device_(device)
    {
        body_ = ready(*p.body);
        if (p.kind != Kind::scan) other_ = ready(*p.other);
    }
    /// Derivatives of loops that make their states again, results of two widths, and calls of the host are the host's.
    static bool can(const LoopParameters& p)
    {
        if (p.effects || p.snapshots || foreign(*p.body) || (p.other && foreign(*p.other)) ||
            (p.kind != Kind::scan && p.kind != Kind::while_loop && p.kind != Kind::cond))
            return false;
        return std::none_of(p.results.begin(), p.results.end(), [&](const LoopParameters::Result& r) {
            return r.wanted() && differentiable(r.dtype) && r.dtype != p.dtype;
        });
    }

    /// The packed results.
    Ref<Block> run(std::vector<Ref<Block>> in)
    {
        in.resize(in.size() - p_.ignored);
        for (Ref<Block>& x : in) x = contiguous(x);
        packed_ = make_elsewhere(current_thread(), device_, p_.dtype, Shape{p_.size},
                                 static_cast<std::size_t>(p_.size));
        constexpr double nothing = 0;
        device_table(device_).fill(*packed_, &nothing);
        if (p_.kind == Kind::scan)
            scan(in);
        else if (p_.kind == Kind::while_loop)
            repeat(in);
        else
            branch(in);
        return std::move(packed_);
    }

private:
    using Blocks = std::vector<Ref<Block>>;

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
    bool truth(const Block& b) const { return host_element<bool>(b); }
    bool stopped(const Blocks& states) const
    {
        return p_.guard != LoopParameters::npos && !truth(*states[p_.guard]);
    }
    /// Writes a result, or row k of one.
    void put(const Ref<Block>& from, std::size_t result, std::size_t k = 0) const
    {
        const LoopParameters::Result& r = p_.results[result];
        if (!r.wanted() || from->count == 0) return;
        std::byte* const to = packed_->data + static_cast<std::size_t>(r.offset) * size_of(p_.dtype);
        device_table(device_).copy(
            *from, *make_borrowed_elsewhere(device_, r.dtype, from->shape, to + k * from->bytes()));
    }
    void scan(Blocks& in)
    {
        const auto steps = static_cast<std::size_t>(p_.steps);
        Blocks states(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(p_.states)), out;
        for (std::size_t step = 0; step < steps; ++step) {
            const std::size_t k = p_.backwards ? steps - 1 - step : step;
            Blocks x = in;
            std::move(states.begin(), states.end(), x.begin());
            for (std::size_t i = p_.states; i < p_.states + p_.xs; ++i) {
                const Shape& one = p_.body->node(p_.body->inputs()[i]).shape;
                x[i] = make_view(in[i], one, nullptr, static_cast<std::int64_t>(k * element_count(one)));
            }
            body_->run(x, out);
            for (std::size_t j = p_.states; j < out.size(); ++j) put(out[j], j, k);
            states.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(p_.states));
            if (stopped(states)) break;
        }
        for (std::size_t i = 0; i < p_.states; ++i) put(states[i], i);
    }
    void repeat(Blocks& in)
    {
        Blocks out;
        for (;;) {
            Blocks x = in;
            other_->run(x, out);
            if (!truth(*out[0])) break;
            x = in;
            body_->run(x, out);
            std::copy_n(out.begin(), p_.states, in.begin());
            if (stopped(in)) break;
        }
        for (std::size_t i = 0; i < p_.states; ++i) put(in[i], i);
    }
    void branch(Blocks& in)
    {
        const bool taken = truth(*in[0]);
        in.erase(in.begin());
        Blocks out;
        (taken ? body_ : other_)->run(in, out);
        for (std::size_t k = 0; k < p_.results.size(); ++k) put(out[k], k);
    }

    const LoopParameters& p_;
    std::uint8_t device_;
    std::unique_ptr<Executable> body_, other_;
    Ref<Block> packed_;
};

/// What a task of a plan is on the device: a launch, or an operation by itself.
struct ReplayStep {
    Function* kernel = nullptr;             ///< null: by itself
    std::vector<ValueId> addresses;         ///< that a launch is given
    std::vector<ValueId> positions;         ///< operations of it for which elements are positions
    ValueId fold = no_value;                ///< what is folded of the elements as they are made
    FoldChain chain;                        ///< its kernels
    std::int64_t count = 0;                 ///< elements
    std::unique_ptr<DeviceLoop> loop = {};  ///< or a loop or branch, whose bodies run there
    bool keeps = false;                     ///< code of the user's: it gets memory of its own
    std::vector<ValueId> ends;              ///< roots that nobody reads any more
};

}  // namespace wengert::detail::gpu
