// How loops and branches run on a device: steps that the host asks for one after the other, or nodes of what is written down.
#pragma once

#include "loops.hpp"

namespace wengert::detail::gpu {

/// The derivative of a scan with memory for few of its states (graph/loops/loop_course.hpp): others are made again.
class DeviceLoop::DevicePull {
public:
    DevicePull(DeviceLoop& loop, const Blocks& in)
        : loop_(loop), p_(loop.p_), in_(in), at_(p_, in.size()), carried_(LoopPlans::carried(p_))
    {}
    void run()
    {
        g_ = loop_.cotangents(in_, -0.0);
        std::size_t kept = 0;
        for (const LoopSpan& part :
             schedule({0, static_cast<std::uint64_t>(p_.steps), static_cast<std::uint64_t>(p_.snapshots)}))
            waiting_.push_back({part, state(kept++)});
        while (!waiting_.empty()) {
            Waiting last = std::move(waiting_.back());
            waiting_.pop_back();
            const std::vector<LoopSpan> parts = schedule(last.steps);
            for (std::size_t k = 0; k + 1 < parts.size(); ++k) {
                waiting_.push_back({parts[k], last.state});
                for (std::uint64_t step = parts[k].begin; step < parts[k].end; ++step)
                    advance(last.state, loop_.slice(step));
            }
            pull(last.state, loop_.slice(parts.back().begin));
        }
        for (std::size_t i = 0; i < carried_; ++i) loop_.put(g_[i], i);
    }

private:
    /// Steps that are still to be reversed, and the state before them.
    struct Waiting {
        LoopSpan steps;
        Blocks state;
    };
    /// 0 the initial one, then those of the pass forward.
    Blocks state(std::size_t k) const
    {
        Blocks s = some(in_, 0, p_.states);
        for (std::size_t i = 0; i < p_.states && k > 0; ++i)
            s[i] = row(in_[at_.kept + i], in_[i]->shape, k - 1);
        return s;
    }
    void advance(Blocks& state, std::size_t k)
    {
        add_rows(state, *p_.body, in_, p_.states, p_.states + p_.xs, k);
        append(state, in_, at_.constant, at_.constants);
        loop_.body_->run(state, out_);
        state = some(out_, 0, p_.states);
    }
    /// One step back.
    void pull(const Blocks& state, std::size_t k)
    {
        append(g_, state, 0, p_.states);
        add_rows(g_, *p_.pull, in_, p_.states, p_.states + p_.xs, k);
        add_rows(g_, *p_.pull, in_, at_.cotangents + p_.active_states.size(), in_.size(), k);
        append(g_, in_, at_.constant, at_.constants);
        loop_.pull_->run(g_, out_);
        for (std::size_t j = carried_; j < out_.size(); ++j) loop_.put(out_[j], j, k);
        g_ = some(out_, 0, carried_);
    }

    DeviceLoop& loop_;
    const LoopParameters& p_;
    const Blocks& in_;
    LoopOperands at_;
    std::size_t carried_;
    Blocks g_, out_;
    std::vector<Waiting> waiting_;
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
    switch (p_.kind) {
    case Kind::scan: scan(in); break;
    case Kind::while_loop: repeat(in); break;
    case Kind::cond: branch(in); break;
    case Kind::while_pull: pull_back(in); break;
    case Kind::scan_pull: DevicePull(*this, in).run(); break;
    }
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
