// The body of a loop as steps of a program: its states keep their places, and what is the same in all steps is worked out once.
#pragma once

#include <utility>

#include "../run/compile.hpp"
#include "body_plan.hpp"

namespace wengert::detail {

class LoopStep : public BodyPlan {
public:
    LoopStep(const std::shared_ptr<const Graph>& g, std::size_t states, std::size_t fixed)
        : body_(hoisted(g, fixed)), fixed_(fixed)
    {
        if (body_.before) before_ = compile_tile(*body_.before, {});
        const Graph& step = *body_.step;
        const tiling::Plan plan(step, tiling::Rotation{states, fixed});
        tiling::Emitter e(plan, program_);
        for (const tiling::Task& t : plan.tasks) tiling::detail::emit_task(e, t);
        e.end_segment();
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
            if (!plan.in_place(i)) plan_move(plan, i);
    }
    void bind(std::size_t i, std::byte* data) override
    {
        if (inputs_[i].own)
            copy_small(*inputs_[i].header, data);
        else
            program_.set_input(i, data);
    }
    std::byte* own(std::size_t i) override { return inputs_[i].header->data; }
    const Block& input(std::size_t i) const override { return *inputs_[i].header; }
    const Block& output(std::size_t k) const override { return *outputs_[k].header; }
    bool known_before(std::size_t k) const override { return outputs_[k].before; }
    void begin() override { waits_ = before_ != nullptr; }
    void run() override
    {
        if (std::exchange(waits_, false)) work_out();
        program_.run_steps();
    }
    void advance() override
    {
        for (const auto& [from, to] : kept_) copy_elements(*from, *to);
        for (const Move& m : moves_) {
            if (m.registers)
                for (std::size_t j = 0; j < m.to->bytes(); j += sizeof(Lane<double>))
                    copy_register(m.from->data + j, m.to->data + j);
            else
                copy_elements(*m.from, *m.to);
        }
    }

private:
    struct Input {
        Ref<Block> header;
        bool own;  ///< it lies in memory of the plan
    };
    struct Output {
        Ref<Block> header;
        bool before;
    };
    struct Move {
        Ref<Block> from, to;
        bool registers;  ///< small and in memory of the plan
    };

    /// What all steps share, before the first one: a loop of no steps throws nothing.
    void work_out()
    {
        std::vector<Ref<Block>> constants;
        const std::size_t n = inputs_.size() - body_.before->outputs().size();
        for (std::size_t i = fixed_; i < n; ++i) constants.push_back(inputs_[i].header);
        before_->run(constants, made_);
        for (std::size_t k = 0; k < made_.size(); ++k) bind(n + k, made_[k]->data);
    }
    /// The next value of state i lies elsewhere when a step ends. Where another state is that value it is kept first, as that one may
    /// be written by then.
    void plan_move(const tiling::Plan& plan, std::size_t i)
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
    /// A store of whole registers can be had by the load of one that follows; that of a few elements would be waited for.
    static void copy_register(const std::byte* from, std::byte* to)
    {
        Lane<double>::load(reinterpret_cast<const double*>(from)).store(reinterpret_cast<double*>(to));
    }
    /// The same for what comes from elsewhere. Of one element there are copies in the whole register, so that what is computed beside
    /// it is nothing special.
    static void copy_small(Block& to, const std::byte* from)
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

    HoistedBody body_;
    std::size_t fixed_;
    bool waits_ = false;
    std::unique_ptr<Executable> before_;  ///< makes what all steps share
    tiling::Program program_;
    std::vector<Input> inputs_;  ///< those of the body, then what is made before
    std::vector<Output> outputs_;
    std::vector<Ref<Block>> results_, made_;  ///< memory of large results; what before_ has made
    std::vector<std::pair<Ref<Block>, Ref<Block>>> kept_;
    std::vector<Move> moves_;
};

}  // namespace wengert::detail
