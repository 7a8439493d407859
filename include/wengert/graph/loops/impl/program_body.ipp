// What program_body.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../program_body.hpp"

namespace wengert::detail {

WENGERT_INLINE ProgramBody::ProgramBody(const std::shared_ptr<const Graph>& g, std::size_t states,
                                        std::size_t fixed)
    : body_(hoisted(g, fixed)), fixed_(fixed)
{
    const tiling::Plan plan(*body_.step, tiling::Rotation{states, fixed, least_swapped});
    prepare(plan, states, [&](tiling::Emitter& e) {
        for (const tiling::Task& t : plan.tasks) tiling::detail::emit_task(e, t);
    });
}

WENGERT_INLINE ProgramBody::ProgramBody(HoistedBody body, const tiling::Plan& plan,
                                        const tiling::Rotation& rotation,
                                        const std::function<void(tiling::Emitter&)>& emit)
    : body_(std::move(body)), fixed_(rotation.fixed)
{
    prepare(plan, rotation.states, emit);
}

WENGERT_INLINE void ProgramBody::prepare(const tiling::Plan& plan, std::size_t states,
                                         const std::function<void(tiling::Emitter&)>& emit)
{
    if (body_.before) before_ = compile_tile(*body_.before, {});
    const Graph& step = *body_.step;
    tiling::Emitter e(plan, program_);
    emit(e);
    e.end_direct_calls();
    for (ValueId v : step.inputs())
        inputs_.push_back({e.header(v), plan.values[v].home == tiling::Home::arena});
    for (std::size_t k = 0; k < step.outputs().size(); ++k)
        outputs_.push_back({e.header(step.outputs()[k]), plan.read_before(k)});
    for (const tiling::Store& s : plan.stores) {
        if (s.output == ~0U || s.landed) continue;
        results_.push_back(make_block(DType::boolean, Shape{s.bytes}));
        program_.set_output(s.output, results_.back()->data);
    }
    for (std::size_t i = 0; i < states; ++i)
        if (plan.swaps(i))
            plan_swap(plan, e, i);
        else if (!plan.in_place(i))
            plan_move(plan, i);
}

inline void ProgramBody::plan_swap(const tiling::Plan& plan, const tiling::Emitter& e, std::size_t i)
{
    const auto place = [&](ValueId v) { return e.place(plan.values[plan.root(v)].store); };
    swaps_.push_back({i, place(plan.graph.inputs()[i]), place(plan.graph.outputs()[i])});
    put(swaps_.back());
}

inline void ProgramBody::put(const Swap& s)
{
    program_.set_input(s.state, s.now);
    program_.set_output(s.state, s.next);
}

WENGERT_INLINE void ProgramBody::bind(std::size_t i, std::byte* data)
{
    if (inputs_[i].own)
        copy_small(*inputs_[i].header, data);
    else
        program_.set_input(i, data);
}

WENGERT_INLINE void ProgramBody::run()
{
    if (std::exchange(waits_, false)) work_out();
    program_.run_steps();
}

WENGERT_INLINE void ProgramBody::advance()
{
    for (const auto& [from, to] : kept_) copy_elements(*from, *to);
    for (const Move& m : moves_) {
        if (m.registers)
            for (std::size_t j = 0; j < m.to->bytes(); j += sizeof(Lane<double>))
                copy_register(m.from->data + j, m.to->data + j);
        else
            copy_elements(*m.from, *m.to);
    }
    for (Swap& s : swaps_) {
        std::swap(s.now, s.next);
        put(s);
    }
}

inline void ProgramBody::work_out()
{
    std::vector<Ref<Block>> constants;
    const std::size_t n = inputs_.size() - body_.before->outputs().size();
    for (std::size_t i = fixed_; i < n; ++i) constants.push_back(inputs_[i].header);
    before_->run(constants, made_);
    for (std::size_t k = 0; k < made_.size(); ++k) bind(n + k, made_[k]->data);
}

inline void ProgramBody::plan_move(const tiling::Plan& plan, std::size_t i)
{
    const ValueId v = plan.graph.outputs()[i], from = plan.root(v);
    Move m{outputs_[i].header, inputs_[i].header, false};
    if (plan.is_state(from)) {
        kept_.emplace_back(m.from, make_block(m.to->dtype, m.to->shape));
        m.from = kept_.back().second;
    } else {
        m.registers = plan.values[from].home == tiling::Home::arena && plan.whole(v) &&
                      m.to->bytes() <= Block::inline_bytes;
    }
    moves_.push_back(std::move(m));
}

inline void ProgramBody::copy_register(const std::byte* from, std::byte* to)
{
    Lane<double>::load(reinterpret_cast<const double*>(from)).store(reinterpret_cast<double*>(to));
}

inline void ProgramBody::copy_small(Block& to, const std::byte* from)
{
    const auto fill = [&]<class T>() {
        using V = Lane<T>;
        const T* const x = reinterpret_cast<const T*>(from);
        (to.count == 1 ? V(*x) : V::load_part(x, to.count)).store(to.as<T>());
    };
    if (to.count == 0) return;  // it may have no address
    if (to.bytes() > sizeof(Lane<double>) || !differentiable(to.dtype))
        std::memcpy(to.data, from, to.bytes());
    else
        with_real(to.dtype, fill);
}

}  // namespace wengert::detail
