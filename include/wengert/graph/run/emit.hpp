// Emitter: from a plan to the steps of a program. Knows where each value lies and writes its address wherever it is used.
#pragma once

#include "../../tape/apply.hpp"
#include "../tile/fused_recipe.hpp"
#include "../plan/plan.hpp"
#include "program.hpp"
#include "register_steps.hpp"
#include "../threads/schedule.hpp"

namespace wengert::tiling {

/// Steps of several strands, which the team runs at once. No guard is among them.
struct ParallelSteps {
    const Step* steps = nullptr;
    Division strands;

    void operator()(Run&) const;
};

class Emitter {
public:
    Emitter(const Plan& p, Program& to);

    ~Emitter();
    Emitter(const Emitter&) = delete;
    Emitter& operator=(const Emitter&) = delete;

    const Plan& plan;
    Program& program;
    std::shared_ptr<Team> team;  ///< null where all runs on the caller's thread

    /// Steps may be divided from here on.
    void divide(unsigned threads);
    /// How a step over `count` elements is divided; not at all where it is not worth it.
    template <class F> Division division(std::size_t count, const F& next_cut)
    {
        const auto cuts = cuts_for(team ? team->size() : 1, count, next_cut);
        if (cuts.empty()) return {};
        auto* kept = program.memory.array<std::size_t>(cuts.size());
        std::copy(cuts.begin(), cuts.end(), kept);
        divided_ = true;
        return {team.get(), kept, cuts.size() - 1};
    }
    /// How many threads the steps are spread over.
    std::size_t threads() const noexcept { return divided_ ? team->size() : 1; }

    /// Steps from here on are those of strand k of a wave; they share no scratch memory with the other strands'.
    void begin_strand(std::size_t k);
    /// Puts the strands since the first into one step, by which they run at once.
    void end_wave();

    /// Where the value's first element lies. A state that trades places with its next value lies where the input of its
    /// number does, and that one where the output does.
    OperandAddress operand_address(ValueId v);
    /// A store of the arena.
    std::byte* place(std::uint32_t store) const { return arena_ + plan.stores[store].offset; }
    /// The same for a view of v's header.
    OperandAddress operand_address(ValueId v, const Block& view);
    template <class P> void bind(P** slot, const OperandAddress& s) { program.bind(slot, s); }
    template <class P> void bind(P** slot, ValueId v) { program.bind(slot, operand_address(v)); }
    /// The addresses of the values, in their order. Each run fills them in.
    template <class P = std::byte> P** addresses(const ValueList& values)
    {
        P** const at = program.memory.array<P*>(values.size());
        for (std::size_t k = 0; k < values.size(); ++k) bind(at + k, values[k]);
        return at;
    }

    /// The value as an array: a block that owns nothing and is there for all runs.
    const Ref<Block>& header(ValueId v);
    /// The same for a view of v's header that somebody made: it lies `offset` bytes on from v, whatever v's address.
    const Ref<Block>& keep(ValueId v, Ref<Block> view);

    /// A step that calls f, which is kept.
    template <class F> F* step(const F& f)
    {
        end_direct_calls();
        F* kept = program.memory.make(f);
        program.steps().push_back(Step::of(kept));
        return kept;
    }
    /// The step before, where it is of type S, works on the same memory and may take up more of it.
    template <class S> S* continued(std::uint32_t store) const
    {
        const bool there = open_.self && open_.run == Step::of<S>(nullptr).run && open_.store == store &&
                           !direct_calls_ && registers_.empty() && program.steps().size() == open_.at;
        return there ? static_cast<S*>(open_.self) : nullptr;
    }
    template <class S> void may_continue(S* s, std::uint32_t store)
    {
        open_ = {s, Step::of<S>(nullptr).run, store, program.steps().size()};
    }
    /// Adds the call kernel(n, in, out). If all elements are of `size` bytes (0: they are not), it runs on whole registers in
    /// places where that is allowed. It then needs no call if the rule of the primitive is arithmetic. Constants are read from
    /// copies where a whole register would read beyond their end.
    void call(TileKernel kernel, std::size_t n, std::size_t size, const OperandAddress* in, std::size_t arity,
              const OperandAddress& out, const Primitive* primitive = nullptr);
    /// The element at `from`, n times: in whole registers where `whole`, as in call().
    void spread(std::size_t n, DType d, bool whole, const OperandAddress& from, const OperandAddress& to);
    void end_direct_calls();

    /// Room that every step of a strand may use while it runs.
    std::byte* scratch(std::size_t bytes);
    /// Short operands are read and written by whole registers, since what a masked store wrote is not at once to be had by
    /// a load. This is the number of elements for a kernel that works on n of `size` bytes, all in places of the arena's
    /// alignment or padded().
    static std::size_t whole_registers(std::size_t n, std::size_t size) noexcept;
    /// A copy of a short constant that may be read beyond its end.
    OperandAddress padded(const std::byte* data, std::size_t bytes);

private:
    /// Bytes of arrays that are worked on in registers: more take longer than a call.
    static constexpr std::size_t most_in_registers = 2 * Buffer::alignment;

    /// n elements of `size` bytes, where the primitive's rule is one operation of arithmetic.
    bool in_registers(const Primitive& p, std::size_t n, std::size_t size, const OperandAddress* in,
                      const OperandAddress& out);
    void registers(DType d, Arith op, std::size_t n, const std::byte* a, const std::byte* b, std::byte* out);
    /// The number in as many elements as are worked on in registers.
    const std::byte* number(ValueId v, DType d);

    const Ref<Block>& constant(ValueId v);

    std::vector<Ref<Block>> headers_;
    struct Open {
        void* self = nullptr;
        bool (*run)(const void*, Run&) = nullptr;
        std::uint32_t store = 0;
        std::size_t at = 0;  ///< steps by then
    };
    Open open_;
    std::map<std::pair<const std::byte*, std::size_t>, std::byte*> padded_;
    std::byte* arena_ = nullptr;
    std::vector<Ref<Block>> scratch_;  ///< by strand; what is in no wave has that of the first
    std::size_t scratch_at_ = 0;
    std::vector<std::size_t> strands_;  ///< their first steps
    bool divided_ = false;              ///< a step is spread over the team
    DirectCalls* direct_calls_ = nullptr;
    std::vector<RegisterStep> registers_;  ///< since the last step of another kind
    DType registers_of_{};
    std::map<const Primitive*, detail::MicroNode> rules_;  ///< as one operation, where they are that
    detail::RecipeNumbers numbers_;
    std::map<std::pair<ValueId, DType>, std::byte*> filled_;
    std::byte* records_ = nullptr;
    std::size_t room_ = 0;
};

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/emit.ipp"
#endif
