// How loops and branches run on a device: steps that the host asks for one after the other, or nodes of what is captured.
#pragma once

#include "../../graph/loops/loop_skeleton.hpp"
#include "../groups/loops.hpp"

namespace wengert::detail::gpu {

/// One run of its steps (graph/loops/loop_skeleton.hpp), which are asked for one after the other.
class DeviceLoop::Run {
public:
    Run(DeviceLoop& loop, const Blocks& in) : p_(loop.p_), loop_(loop), in_(in), at_(p_, in.size()) {}

protected:
    /// A graph that runs again and again: what it hands on, what it is shown next, the operands of which it gets a row.
    struct Body {
        Executable& run;
        const Graph& graph;
        Blocks states, before = {};
        std::vector<std::size_t> rows = {};
    };

    Body body()
    {
        if (p_.kind == Kind::scan && p_.snapshots) parts_ = parts_of(p_);
        return {*loop_.body_, *p_.body, some(in_, 0, p_.states), {}, all_of(p_.states, p_.states + p_.xs)};
    }
    /// The reverse step, with the cotangents of states and empty sums. A sum that begins with -0 has the bits of one that begins
    /// with its first term.
    Body pull()
    {
        const std::size_t states = p_.active_states.size(), given = at_.cotangents + states;
        Body b{*loop_.pull_,
               *p_.pull,
               some(in_, at_.cotangents, states),
               {},
               all_of(p_.states, p_.states + p_.xs)};
        for (std::size_t k = given; k < in_.size(); ++k) b.rows.push_back(k);
        for (std::size_t i = states; i < LoopPlans::carried(p_); ++i) {
            const GraphNode& like = b.graph.node(b.graph.inputs()[i]);
            b.states.push_back(make_elsewhere(current_thread(), loop_.device_, like.dtype, like.shape,
                                              element_count(like.shape)));
            with_real(like.dtype, [&]<class T>() {
                const T nothing = p_.kind == Kind::while_pull && history_.empty() ? T(0) : T(-0.0);
                device_table(loop_.device_).fill(*b.states[i], &nothing);
            });
        }
        return b;
    }
    Body test() { return {*loop_.other_, *p_.other, {}}; }
    void step(Body& b, std::uint64_t step = 0)
    {
        const auto k =
            static_cast<std::size_t>(p_.backwards ? static_cast<std::uint64_t>(p_.steps) - 1 - step : step);
        const std::size_t carried = b.states.size();
        make(b, k);
        const bool keeps = row_ + 1 < parts_.size() && parts_[row_ + 1].begin == step;
        for (std::size_t j = carried; j < out_.size(); ++j) {
            if (p_.results[j].shape[0] == p_.steps)
                loop_.put(out_[j], j, k);
            else if (keeps)
                loop_.put(out_[j], j, row_);
        }
        row_ += keeps;
        b.states = some(out_, 0, carried);
    }
    void branch()
    {
        Body b{loop_.truth(*in_[0]) ? *loop_.body_ : *loop_.other_, *p_.body, {}};
        make(b);
        for (std::size_t k = 0; k < p_.results.size(); ++k) loop_.put(out_[k], k);
    }
    void put_carried(const Body& b) const
    {
        for (std::size_t i = 0; i < b.states.size(); ++i) loop_.put(b.states[i], i);
    }

    template <class F> static void each_step(std::int64_t first, std::int64_t last, const F& f)
    {
        for (std::int64_t step = first; step < last && f(static_cast<std::uint64_t>(step)); ++step) {}
    }
    template <class F> static void forever(const F& f)
    {
        while (f()) {}
    }
    bool goes_on(const Body& b) const
    {
        return p_.guard == LoopParameters::npos || loop_.truth(*b.states[p_.guard]);
    }
    bool holds(Body& test, const Body& body)
    {
        test.before = body.states;
        make(test);
        return loop_.truth(*out_[0]);
    }

    void remember(const Body& body) { history_.push_back(body.states); }
    /// The last states first.
    template <class F> void each_remembered(Body& pull, const F& f)
    {
        for (; !history_.empty(); history_.pop_back()) {
            pull.before = history_.back();
            f();
        }
    }
    /// What waits are steps that are still to be reversed, and the state before them.
    template <class Again, class Back>
    void each_part(Body& body, Body& pull, const Again& again, const Back& back)
    {
        std::vector<std::pair<LoopSpan, Blocks>> waiting;
        for (const LoopSpan& part : parts_of(p_)) {
            waiting.emplace_back(part, some(in_, 0, p_.states));
            for (std::size_t i = 0; i < p_.states && waiting.size() > 1; ++i)
                waiting.back().second[i] = row(in_[at_.kept + i], in_[i]->shape, waiting.size() - 2);
        }
        while (!waiting.empty()) {
            const std::vector<LoopSpan> cut = schedule(waiting.back().first);
            body.states = std::move(waiting.back().second);
            waiting.pop_back();
            for (std::size_t k = 0; k + 1 < cut.size(); ++k) {
                waiting.emplace_back(cut[k], body.states);
                again(static_cast<std::int64_t>(cut[k].begin), static_cast<std::int64_t>(cut[k].end));
            }
            pull.before = std::move(body.states);
            back(cut.back().begin);
        }
    }
    static void end() {}

    const LoopParameters& p_;

private:
    /// Row k, of that shape.
    static Ref<Block> row(const Ref<Block>& of, const Shape& one, std::size_t k)
    {
        return make_view(of, one, nullptr, static_cast<std::int64_t>(k * element_count(one)));
    }
    /// out_: what the graph makes of its states, of what it is shown, of rows `k` and of the constants.
    void make(Body& b, std::size_t k = 0)
    {
        Blocks x = std::move(b.states);
        x.insert(x.end(), b.before.begin(), b.before.end());
        for (const std::size_t operand : b.rows)
            x.push_back(row(in_[operand], b.graph.node(b.graph.inputs()[x.size()]).shape, k));
        const Blocks constants = some(in_, at_.constant, at_.constants);
        x.insert(x.end(), constants.begin(), constants.end());
        b.run.run(x, out_);
    }

    DeviceLoop& loop_;
    const Blocks& in_;
    LoopOperands at_;
    Blocks out_;
    std::vector<LoopSpan> parts_;  ///< of a scan that keeps the states before them
    std::size_t row_ = 0;          ///< how many of these are kept
    std::vector<Blocks> history_;
};

inline Ref<Block> DeviceLoop::run(std::vector<Ref<Block>> in)
{
    in.resize(in.size() - p_.ignored);
    for (Ref<Block>& x : in) x = contiguous(x);
    packed_ = make_elsewhere(current_thread(), device_, p_.dtype, Shape{p_.size},
                             static_cast<std::size_t>(p_.size));
    constexpr double nothing = 0;
    device_table(device_).fill(*packed_, &nothing);
    if (Gpu& gpu = gpu_with(device_); gpu.writes_down()) {
        p_.kind == Kind::cond ? write_branch(gpu, in) : write_repeat(gpu, in);
        return std::move(packed_);
    }
    LoopSkeleton<Run>(*this, in).go();
    return std::move(packed_);
}

/// The test, on states where they lie; with the guard it decides about the next step.
inline void DeviceLoop::write_test(Gpu& gpu, const Conditional& node, const Blocks& in, const Block* guard)
{
    Blocks truth;
    part(other_).write_inside(gpu, in, truth);
    set_conditions(gpu, node, nullptr, *truth[0], guard);
}
/// States stay where they are: what a step has made of them is copied there when all of it is made. It may have handed on some.
inline void DeviceLoop::take_states(Blocks& made, const Blocks& in) const
{
    const auto first = in.begin(), last = first + static_cast<std::ptrdiff_t>(p_.states);
    const auto stays = [&](std::size_t i) { return made[i].get() == in[i].get(); };
    for (std::size_t i = 0; i < p_.states; ++i)
        if (!stays(i) &&
            std::any_of(first, last, [&](const Ref<Block>& x) { return x.get() == made[i].get(); }))
            made[i] = copy_of(*made[i]);
    for (std::size_t i = 0; i < p_.states; ++i)
        if (!stays(i)) device_table(device_).copy(*made[i], *in[i]);
}
inline void DeviceLoop::write_repeat(Gpu& gpu, Blocks& in)
{
    for (std::size_t i = 0; i < p_.states; ++i) in[i] = copy_of(*in[i]);
    Conditional node(gpu, Conditional::Kind::repeatedly);
    write_test(gpu, node, in, nullptr);
    node.body([&] {
        Blocks out;
        part(body_).write_inside(gpu, in, out);
        take_states(out, in);
        write_test(gpu, node, in, p_.guard == LoopParameters::npos ? nullptr : in[p_.guard].get());
    });
    for (std::size_t i = 0; i < p_.states; ++i) put(in[i], i);
}
/// Two nodes, of which one has its body run.
inline void DeviceLoop::write_branch(Gpu& gpu, Blocks& in)
{
    Conditional then(gpu, Conditional::Kind::once), otherwise(gpu, Conditional::Kind::once);
    set_conditions(gpu, then, &otherwise, *in[0]);
    const Blocks arguments(in.begin() + 1, in.end());
    const auto write = [&](Conditional& node, const std::unique_ptr<Executable>& g) {
        node.body([&] {
            Blocks out;
            part(g).write_inside(gpu, arguments, out);
            for (std::size_t k = 0; k < p_.results.size(); ++k) put(out[k], k);
        });
    };
    write(then, body_);
    write(otherwise, other_);
}

}  // namespace wengert::detail::gpu
