// Conditions of loops and branches on a device: a truth value there becomes the condition of a conditional node.
#pragma once

#include "../driver/conditional.hpp"
#include "../../graph/ir/executable.hpp"
#include "kernels.hpp"

namespace wengert::detail::gpu {

/// The driver knows the function that sets a condition, also in machine code.
inline constexpr std::string_view conditions_text = R"wg(
extern "C" __device__ void cudaGraphSetConditional(unsigned long long condition, unsigned value);
extern "C" __global__ void set_conditions(unsigned long long one, unsigned long long other,
                                          const bool* truth, const bool* and_also)
{
    if (wg_thread() != 0) return;
    const bool holds = *truth && (!and_also || *and_also);
    cudaGraphSetConditional(one, holds);
    if (other) cudaGraphSetConditional(other, !holds);
}
)wg";

/// The body of `one` runs where the value is true, that of `other` where it is false.
inline void set_conditions(Gpu& gpu, const Conditional& one, const Conditional* other, const Block& truth,
                           const Block* and_also = nullptr)
{
    Function* const f = Kernels::of(gpu).find(gpu, "conditions", "set_conditions",
                                              [] { return std::string(conditions_text); });
    if (!f) refuse("CUDA: no kernel sets conditions");
    constexpr unsigned long long none = 0;
    launch(gpu, f, 1, one.number(), other ? other->number() : none, static_cast<const void*>(truth.data),
           static_cast<const void*>(and_also ? and_also->data : nullptr));
}

/// A graph on a device that may be a part of what is captured.
class DeviceGraph : public Executable {
public:
    /// Why it may not be; "" where it may.
    virtual std::string stays_outside() const = 0;
    /// Brings the constants to the device, before a capture.
    virtual void bring_constants() = 0;
    /// Adds its work to this thread's capture. Inputs are read where they lie.
    virtual void write_inside(Gpu& gpu, const std::vector<Ref<Block>>& inputs,
                              std::vector<Ref<Block>>& outputs) = 0;
};

}  // namespace wengert::detail::gpu
