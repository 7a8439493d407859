// A step of a loop, ready to be repeated: what runs of loops ask of whoever makes bodies ready.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>

#include "hoisted_body.hpp"

namespace wengert::detail {

/// Headers of inputs and outputs stay where they are. The first outputs, one for each state, are the next values of the first
/// inputs.
class BodyPlan {
public:
    virtual ~BodyPlan() = default;
    /// Input i has those elements from now on. They stay where they are, but small ones are copied.
    virtual void bind(std::size_t i, std::byte* data) = 0;
    /// State i, in memory of the plan.
    virtual std::byte* own(std::size_t i) = 0;
    virtual const Block& input(std::size_t i) const = 0;
    virtual const Block& output(std::size_t k) const = 0;
    /// Does an output that is no state show one, so that it is to be read before the step?
    virtual bool known_before(std::size_t k) const = 0;
    /// Steps follow with other constants than before.
    virtual void begin() {}
    virtual void run() = 0;
    /// The next values become the present ones.
    virtual void advance() = 0;
    /// Why it is not what the backend makes of graphs, or "".
    std::string note;

    void load(std::size_t i, const std::byte* data)
    {
        if (input(i).count > 0) std::memcpy(own(i), data, input(i).bytes());
    }
};

/// Makes the step of a loop with so many states ready; inputs from number `fixed` on are the same in all steps.
using MakeStep = std::unique_ptr<BodyPlan> (*)(const std::shared_ptr<const Graph>& g, std::size_t states,
                                               std::size_t fixed);

/// How bodies are made ready; set by whoever has passes and compilers (graph/freeze/impl/compiler.ipp).
struct BodyCompiler {
    Graph (*optimize)(const Graph&);
    MakeStep step;  ///< where a loop's own backend has no other (LoopCode)
};
inline std::atomic<const BodyCompiler*>& body_compiler() noexcept
{
    static std::atomic<const BodyCompiler*> compiler{nullptr};
    return compiler;
}

}  // namespace wengert::detail
