// What program.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../program.hpp"

namespace wengert::tiling {

WENGERT_INLINE std::byte* StepMemory::take(std::size_t bytes)
{
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > left_) {
        left_ = std::max<std::size_t>(bytes, std::size_t{1} << 16);
        pieces_.push_back(std::make_unique<std::byte[]>(left_));
        at_ = pieces_.back().get();
    }
    left_ -= bytes;
    return std::exchange(at_, at_ + bytes);
}

WENGERT_INLINE std::size_t Program::run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs)
{
    const Empties empties{fresh_};
    fresh_.resize(rules_.size());
    for (std::size_t k = 0; k < rules_.size(); ++k)
        if (lends(rules_[k], inputs)) fresh_[k] = inputs[rules_[k].donor];
    const std::size_t failed = execute(inputs, fresh_.data());
    if (failed != guards_) [[unlikely]]
        return failed;
    for (std::size_t k = 0; k < rules_.size(); ++k)
        if (const ValueId in = rules_[k].donor; in != no_value && inputs[in].get() == fresh_[k].get())
            inputs[in] = {};
    outputs.swap(fresh_);
    return guards_;
}

WENGERT_INLINE bool Program::run_on_pointers(const Block* const* inputs, Ref<Block>* outputs)
{
    return execute(inputs, outputs) == guards_;
}

WENGERT_INLINE void Program::run_steps()
{
    Run state{current_thread()};
    for (const Step& s : steps_) s.run(s.self, state);
}

WENGERT_INLINE void Program::shape(std::size_t inputs, std::size_t outputs, std::size_t guards)
{
    inputs_.resize(inputs);
    outputs_.resize(outputs);
    rules_.resize(outputs);
    guards_ = guards;
}

inline bool Program::lends(const OutputRule& r, const std::vector<Ref<Block>>& inputs) noexcept
{
    if (r.donor == no_value) return false;
    const Ref<Block>& b = inputs[r.donor];
    return b && !b->strided && may_write(*b);
}

}  // namespace wengert::tiling
