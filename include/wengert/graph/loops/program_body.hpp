// The body of a loop as steps of a program: its states keep their places, and what is the same in all steps is worked out once.
#pragma once

#include <functional>
#include <utility>

#include "../../base/separate.hpp"
#include "../run/compile.hpp"
#include "body_plan.hpp"

namespace wengert::detail {

class ProgramBody : public BodyPlan {
public:
    /// Bytes of states from which on they trade places: to write addresses anew takes about as long as to copy so many.
    static constexpr std::size_t least_swapped = 4096;

    ProgramBody(const std::shared_ptr<const Graph>& g, std::size_t states, std::size_t fixed);
    /// The same with steps that somebody else emits: `plan` is that of body.step.
    ProgramBody(HoistedBody body, const tiling::Plan& plan, const tiling::Rotation& rotation,
                const std::function<void(tiling::Emitter&)>& emit);
    WENGERT_INLINE void bind(std::size_t i, std::byte* data) override;
    std::byte* own(std::size_t i) override { return inputs_[i].header->data; }
    const Block& input(std::size_t i) const override { return *inputs_[i].header; }
    const Block& output(std::size_t k) const override { return *outputs_[k].header; }
    bool known_before(std::size_t k) const override { return outputs_[k].before; }
    void begin() override { waits_ = before_ != nullptr; }
    WENGERT_INLINE void run() override;
    WENGERT_INLINE void advance() override;

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

    /// A state whose next value is made in another place, which is the state's in the next step.
    struct Swap {
        std::size_t state;
        std::byte *now, *next;
    };

    /// What all steps share, before the first one: a loop of no steps throws nothing.
    inline void work_out();
    /// Steps by `emit`, and where inputs and outputs are.
    void prepare(const tiling::Plan& plan, std::size_t states,
                 const std::function<void(tiling::Emitter&)>& emit);
    inline void plan_swap(const tiling::Plan& plan, const tiling::Emitter& e, std::size_t i);
    inline void put(const Swap& s);
    /// The next value of state i lies elsewhere when a step ends. Where another state is that value it is kept first, as that one may
    /// be written by then.
    inline void plan_move(const tiling::Plan& plan, std::size_t i);
    /// A store of whole registers can be had by the load of one that follows; that of a few elements would be waited for.
    inline static void copy_register(const std::byte* from, std::byte* to);
    /// The same for a value that comes from elsewhere. A single element is copied into the whole register, so operations beside it
    /// need no special case.
    inline static void copy_small(Block& to, const std::byte* from);

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
    std::vector<Swap> swaps_;
};

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/program_body.ipp"
#endif
