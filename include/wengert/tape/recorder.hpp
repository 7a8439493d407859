// Recorder: sees every operation that a thread carries out, whether or not anything is differentiated. The trace of a
// frozen function is one (graph/ir/trace.hpp). While one is there, it holds every block, so nothing is written in place.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "primitive.hpp"

namespace wengert {

/// What a recorder keeps of an operation whose rule is the user's: the operations that it consists of.
class Inside {
public:
    virtual ~Inside() = default;
};

/// What plain C++ learned from a tensor.
enum class Read : std::uint8_t { truth, item, elements };

class Recorder {
public:
    virtual ~Recorder() = default;
    /// `out` has been computed from `in` by p. A block met for the first time as an operand is a constant.
    virtual void operation(const Primitive& p, const void* op, const Block* const* in, std::size_t n,
                           Block& out, const Site& at) = 0;
    /// An operand that depends on the tape: what a loop's body captures keeps its derivative.
    virtual void variable(const AnyTensor&) {}
    /// `as` is another handle on a value, told apart from it by the tape: a variable of an inner transform.
    virtual void alias(const AnyTensor& of, const Ref<Block>& as, const Site& at) = 0;
    /// The program has looked at elements.
    virtual void read(const Block& x, Read what, const Site& at) = 0;
    /// Is this block a value of the trace, or of one that encloses it?
    virtual bool knows(const Block& b) const = 0;
    /// The block that stands for a random key of this trace (base/key.hpp), null for a constant one.
    virtual Ref<Block> key(std::uint64_t origin) = 0;
    /// Runs f, which is one operation of the trace, on the inputs; its result in `out`. Returns what it consists of where that is
    /// all there is to know of it, else null. Where `out` stays null f is to be run as any other function, unseen.
    virtual std::shared_ptr<const Inside> inside(
        const std::vector<Ref<Block>>&, const std::function<Ref<Block>(const std::vector<Ref<Block>>&)>&,
        Ref<Block>& /* out */, const Site&)
    {
        return nullptr;
    }
    /// The program does what no trace can hold.
    [[noreturn]] virtual void refuse(std::string_view what, const Site& at) = 0;

    /// Something has been recorded by its value that on other values would be an operation: two traces may differ there.
    virtual void by_value() {}

    /// Does it keep the blocks that it sees? Then nothing may be written in place.
    virtual bool holds() const { return true; }
    /// Has it seen the operations of this graph, and does not need to again? Of none (null): are there such at all?
    virtual bool seen(const void* /* graph */) { return false; }

    std::uint16_t segment = 0;  ///< operations of different segments are not to be merged (checkpoint)
    Ref<Block>
        effect;  ///< result of the last operation with effects: the next one takes it as an operand, which orders them
};

/// The calling thread's recorder or null.
inline Recorder* recorder() noexcept { return this_thread ? this_thread->recorder : nullptr; }

/// An operation on tensors, for the recorder if there is one.
inline void note(Recorder* r, const Primitive& p, const void* op, const AnyTensor* const* in, std::size_t n,
                 Block& out, const Site& at)
{
    std::vector<const Block*> blocks(n);
    for (std::size_t i = 0; i < n; ++i) {
        blocks[i] = in[i]->value.get();
        if (in[i]->node) r->variable(*in[i]);
    }
    r->operation(p, op, blocks.data(), n, out, at);
}

inline void note_read(const Block& x, Read what, const Site& at)
{
    if (Recorder* r = recorder()) [[unlikely]]
        r->read(x, what, at);
}

}  // namespace wengert
