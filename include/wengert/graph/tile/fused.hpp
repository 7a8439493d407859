// FusedKernel: a group of operations as one pass, tile by tile, over their elements. The same kernels as eager in the same
// order for each element, so the same bits.
#pragma once

#include <memory>

#include "fused_program.hpp"

namespace wengert::tiling {

class FusedKernel {
public:
    /// Null where it cannot be done: the nodes are then run one by one.
    static std::unique_ptr<FusedKernel> compile(const Graph& g, const Layouts& layouts, const Group& group);

    /// operands[k] and results[r] are the first elements of those of the group. `scratch`: scratch_bytes(), aligned to 64.
    void run(const std::byte* const* operands, std::byte* const* results, std::byte* scratch) const noexcept;
    std::size_t scratch_bytes() const noexcept { return p_.scratch; }
    const FusedProgram& program() const noexcept { return p_; }

    /// May result r be written where operand k lies? Every element is then read before it is written.
    bool may_share(std::size_t result, std::size_t operand) const noexcept;

    /// Parts that do not need each other are [begin, end) with begin and end from here: the first element from `at` on before
    /// which the pass may be cut. No sum's block is in two of them (kernels/cpu/fold.hpp), so bits do not depend on the cuts.
    /// Sums over rows of different lengths may leave few slots, or none.
    std::size_t next_cut(std::size_t at) const noexcept;
    std::size_t elements() const noexcept { return p_.count; }
    std::size_t tiles() const noexcept { return p_.tiles; }
    std::size_t sums_bytes() const noexcept { return p_.sums; }
    /// Any thread runs a part, with scratch memory of its own. `sums`: sums_bytes() that all parts share.
    void run_part(std::size_t begin, std::size_t end, const std::byte* const* operands,
                  std::byte* const* results, std::byte* scratch, std::byte* sums) const noexcept;
    /// When all parts have run.
    void finish(std::byte* const* results, const std::byte* sums) const noexcept;

private:
    using Source = FusedProgram::Source;

    FusedKernel() = default;
    static constexpr std::size_t far_bytes =
        1U << 20;  ///< of streams, from which on they come from beyond the second-level cache

    /// Addresses during a run: of every slot in this tile, and of every stream's first element.
    struct Table {
        const void* at[FusedProgram::max_slots];
        std::byte* base[FusedProgram::max_streams];
        std::byte* scratch;
        bool shared;  ///< a result may lie where an operand does
    };

    inline Table start(const std::byte* const* operands, std::byte* const* results, std::byte* scratch,
                       std::size_t first, std::byte* sums) const noexcept;

    inline bool shares(const Table& t) const noexcept;

    inline static void start_total(const Total& total, std::byte* out, std::byte* scratch, std::size_t first,
                                   std::byte* sums) noexcept;

    /// One tile of n elements in so many rows, whose operands are in their slots. The next `ahead` elements are asked for
    /// meanwhile.
    inline void run_program(const Table& t, std::size_t n, std::size_t ahead = 0,
                            std::size_t rows = 0) const noexcept;

    /// Kernels work on one tile for a while and touch no other: what comes next from far away is on its way then.
    inline static void ask_for(const Source& s, const std::byte* p, std::size_t n) noexcept;

    /// Rows of n elements, in each of which what is in slot k lies apart[k] bytes further; null for one row.
    inline static void run_micro_program(const Table& t, const FusedProgram::MicroProgram& s, std::size_t n,
                                         std::size_t rows = 1, const std::int64_t* apart = nullptr) noexcept;
    /// Block by block. The rest of a row is run as a whole block that ends with the last element of the row. If that could read
    /// what has been written, or if there is no whole block, the rest is run on copies.
    template <class T>
    static void run_blocks(const Table& t, const FusedProgram::MicroProgram& s, std::size_t n,
                           std::size_t rows, const std::int64_t* apart) noexcept;
    template <class T>
    static void run_padded(const Table& t, const FusedProgram::MicroProgram& s, std::byte** at,
                           std::size_t n) noexcept;

    /// Brings n elements of a stream that starts at `from` to its slot.
    inline static void bring(const Source& s, const std::byte* from, std::size_t n, std::byte* to) noexcept;

    /// One instruction, all in place: only addresses move from row to row, and from tile to tile of a long one.
    inline bool repeats() const noexcept;
    /// That instruction on rows of n elements; what is in slot k lies apart[k] bytes further in each.
    inline void repeat(const Table& t, std::size_t n, std::size_t rows,
                       const std::int64_t* apart) const noexcept;
    /// So many tiles of n elements, the first where `from` says; what is in slot k lies apart[k] bytes further in each.
    /// `behind`: elements from the first one on, where what comes next is asked for meanwhile.
    inline void run_equal(Table& t, std::size_t n, std::size_t times, std::byte** from,
                          const std::int64_t* apart, std::size_t behind) const noexcept;
    /// Whole rows where a tile holds one, otherwise parts of a row.
    inline void run_rows(Table& t, std::size_t begin, std::size_t end) const noexcept;

    /// Brings m rows, or one element of each, to their slots; rows read in place come one at a time.
    inline void gather_rows(Table& t, FusedRows& rows, std::size_t m) const noexcept;

    inline void run_packed(Table& t, std::size_t begin, std::size_t end) const noexcept;

    FusedProgram p_;
};

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/fused.ipp"
#endif
