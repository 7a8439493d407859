// What a loop or a branch on the device is decided by: a truth value there becomes the condition of a node of the driver's.
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

/// `one` has its body run where it holds, `other` where it does not.
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
    /// What has to be on the device before.
    virtual void bring_constants() = 0;
    /// Its work in what this thread captures, from the inputs where they lie.
    virtual void write_inside(Gpu& gpu, const std::vector<Ref<Block>>& inputs,
                              std::vector<Ref<Block>>& outputs) = 0;
};

}  // namespace wengert::detail::gpu
