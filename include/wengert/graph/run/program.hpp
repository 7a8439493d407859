// Program: a graph as a list of steps with every address computed. A run is a loop over plain function pointers.
//
// Steps and their operands lie in memory that never moves. The addresses of inputs and outputs change from run to run. They are
// written into the steps where they occur (Patch).
#pragma once

#include <memory>
#include <type_traits>

#include "../../base/separate.hpp"
#include "../../array/layout.hpp"
#include "../ir/executable.hpp"
#include "../ir/fields.hpp"
#include "../fuse/layout.hpp"

namespace wengert::tiling {

/// What a step receives from its run, and where it reports a guard that failed.
struct Run {
    Thread& thread;
    std::size_t failed = 0;  ///< the guard that failed
};

/// A step: false where a guard has failed.
struct Step {
    bool (*run)(const void* self, Run& run);
    const void* self;

    /// A step that calls f, which does not move. A function without a result is no guard.
    template <class F> static Step of(const F* f)
    {
        return {[](const void* p, Run& now) {
                    if constexpr (std::is_void_v<std::invoke_result_t<const F&, Run&>>)
                        return (*static_cast<const F*>(p))(now), true;
                    else
                        return (*static_cast<const F*>(p))(now);
                },
                f};
    }
};

/// kernel(n, in, out) on addresses that are known, the whole of a small elementwise operation. Records of this kind follow
/// one another in memory, each with its operands' addresses behind it.
struct DirectCall {
    TileKernel kernel;
    std::size_t n, arity;
    void* out;
    const void** in() noexcept { return reinterpret_cast<const void**>(this + 1); }
    const void* const* in() const noexcept { return reinterpret_cast<const void* const*>(this + 1); }
    static std::size_t bytes(std::size_t arity) noexcept
    {
        return sizeof(DirectCall) + arity * sizeof(void*);
    }
    const DirectCall* next() const noexcept
    {
        return reinterpret_cast<const DirectCall*>(reinterpret_cast<const std::byte*>(this) + bytes(arity));
    }
};

/// DirectCall records one after another.
struct DirectCalls {
    const DirectCall* first;
    std::size_t count;
    void operator()(Run&) const
    {
        const DirectCall* d = first;
        for (std::size_t left = count; left; --left, d = d->next()) d->kernel(d->n, d->in(), d->out);
    }
};

/// Where a step's operand lies: at a fixed address, or so many bytes into an input or an output of the run.
struct OperandAddress {
    enum Kind : std::uint8_t { fixed, input, output };
    Kind kind = fixed;
    std::uint32_t index = 0;
    std::byte* address = nullptr;  ///< fixed ones; of the others a stand-in
    std::int64_t offset = 0;       ///< otherwise
    bool constant = false;         ///< nothing may be read beyond its end
};

/// Addresses within one input or output, wherever they are used.
class Patches {
public:
    void add(std::byte** slot, std::int64_t offset) { slots_.push_back({slot, offset}); }
    void set(std::byte* data) noexcept
    {
        if (data == now_) return;
        now_ = data;
        for (const Slot& s : slots_) *s.slot = data + s.offset;
    }

private:
    struct Slot {
        std::byte** slot;
        std::int64_t offset;
    };
    std::vector<Slot> slots_;
    std::byte* now_ = nullptr;
};

/// Memory for steps: pieces that never move, given back together. What lies in it needs no destructor.
class StepMemory {
public:
    std::byte* take(std::size_t bytes);
    template <class S> S* make(const S& s = S{})
    {
        static_assert(std::is_trivially_destructible_v<S> && alignof(S) <= 16);
        return new (take(sizeof(S))) S(s);
    }
    template <class S> S* array(std::size_t n)
    {
        static_assert(std::is_trivially_destructible_v<S> && alignof(S) <= 16);
        auto* p = reinterpret_cast<S*>(take(n * sizeof(S)));
        for (std::size_t i = 0; i < n; ++i) new (p + i) S{};
        return p;
    }

private:
    std::vector<std::unique_ptr<std::byte[]>> pieces_;
    std::byte* at_ = nullptr;
    std::size_t left_ = 0;
};

/// What becomes of an output when all steps have run.
struct OutputRule {
    enum Kind : std::uint8_t { input, constant, own, landed, same };
    Kind kind = own;
    std::uint32_t index = 0;  ///< of the input, or of the output that is the same value
    DType dtype{};
    Shape shape;
    Ref<Block> block;          ///< the constant; the header of what is copied at the end (landed)
    ValueId donor = no_value;  ///< the input whose memory it may take
    std::size_t count = 0;     ///< of its elements
    bool small = false;        ///< they lie in the block's header

    /// Has it memory of its own?
    bool written() const noexcept { return kind == own || kind == landed; }
};

/// An input that is copied to a fixed place before the steps run, because it is small and read often.
struct Staged {
    std::uint32_t input;
    std::byte* to;
    std::size_t bytes;
};

class Program : public Executable {
public:
    WENGERT_INLINE std::size_t run(std::vector<Ref<Block>>& inputs,
                                   std::vector<Ref<Block>>& outputs) override;

    WENGERT_INLINE bool run_on_pointers(const Block* const* inputs, Ref<Block>* outputs) override;

    /// The steps alone, for whoever knows that no output is to be made (program_body.hpp) and no guard is there.
    void run_steps();
    void set_input(std::size_t i, std::byte* data) noexcept { inputs_[i].set(data); }
    void set_output(std::size_t k, std::byte* data) noexcept { outputs_[k].set(data); }

    /// For whoever fills it.
    StepMemory memory;
    std::vector<Step>& steps() noexcept { return steps_; }
    std::vector<Staged>& staged() noexcept { return staged_; }
    std::vector<OutputRule>& rules() noexcept { return rules_; }
    std::vector<Ref<Block>>& blocks() noexcept { return blocks_; }
    std::vector<Parameters>& parameters() noexcept { return parameters_; }
    std::vector<std::shared_ptr<const void>>& owned() noexcept { return owned_; }
    void shape(std::size_t inputs, std::size_t outputs, std::size_t guards);
    /// The slot holds the spot's address at every run.
    template <class P> void bind(P** slot, const OperandAddress& spot)
    {
        auto** raw = reinterpret_cast<std::byte**>(const_cast<std::remove_const_t<P>**>(slot));
        *raw = spot.address;
        if (spot.kind == OperandAddress::input) inputs_[spot.index].add(raw, spot.offset);
        if (spot.kind == OperandAddress::output) outputs_[spot.index].add(raw, spot.offset);
    }

private:
    struct Empties {
        std::vector<Ref<Block>>& list;
        ~Empties() { list.clear(); }
    };
    /// All steps, on blocks that are there or made now for the outputs. The number of the guard that failed, or of all guards.
    template <class Inputs> std::size_t execute(const Inputs& inputs, Ref<Block>* outputs)
    {
        Thread& thread = current_thread();
        for (std::size_t k = 0; k < inputs_.size(); ++k) inputs_[k].set(inputs[k]->data);
        bool finished = true;
        Ref<Block>* out = outputs;
        for (const OutputRule& r : rules_) {
            Ref<Block>& b = *out++;
            finished = finished && r.kind == OutputRule::own;
            if (!r.written()) continue;
            if (!b)
                b = r.small ? make_small_block(thread, r.dtype, r.shape, r.count)
                            : make_block(thread, r.dtype, r.shape, r.count);
            outputs_[static_cast<std::size_t>(&r - rules_.data())].set(b->data);
        }
        for (const Staged& s : staged_) std::memcpy(s.to, inputs[s.input]->data, s.bytes);
        Run state{thread};
        for (const Step& s : steps_)
            if (!s.run(s.self, state)) [[unlikely]]
                return state.failed;
        for (std::size_t k = 0; !finished && k < rules_.size(); ++k)
            if (rules_[k].kind != OutputRule::own) finish(rules_[k], inputs, outputs, outputs[k]);
        return guards_;
    }
    /// Outputs that no step writes: the same as another value, or copied to the memory of the caller.
    template <class Inputs>
    static void finish(const OutputRule& r, const Inputs& inputs, const Ref<Block>* outputs, Ref<Block>& out)
    {
        const Block& from = r.kind == OutputRule::input  ? *inputs[r.index]
                            : r.kind == OutputRule::same ? *outputs[r.index]
                                                         : *r.block;
        if (out && from.count == 0) return;
        if (out && r.kind == OutputRule::landed && !out->strided)
            std::memcpy(out->data, from.data, from.bytes());
        else if (out)
            copy_elements(from, *out);
        else
            out = Ref<Block>(const_cast<Block*>(&from));
    }
    inline static bool lends(const OutputRule& r, const std::vector<Ref<Block>>& inputs) noexcept;

    std::vector<Step> steps_;
    std::vector<Patches> inputs_, outputs_;
    std::vector<Staged> staged_;
    std::vector<OutputRule> rules_;
    std::vector<Ref<Block>> fresh_;
    std::vector<Ref<Block>> blocks_;      ///< headers, constants, the arena
    std::vector<Parameters> parameters_;  ///< of the operations that steps carry out
    std::vector<std::shared_ptr<const void>> owned_;
    std::size_t guards_ = 0;
};

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/program.ipp"
#endif
