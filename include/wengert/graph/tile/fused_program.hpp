// The program of a fused group: instructions over tiles. Values are numbered slots: what lies outside (operands, results),
// tiles of constants, and registers, which are tiles of scratch memory shared by values that do not live at the same time.
#pragma once

#include <memory>
#include <new>

#include "fused_micro.hpp"
#include "../fuse/fusion.hpp"

namespace wengert::tiling {

/// Where a value is while a tile is worked on: an index into the table of addresses.
using Slot = std::uint16_t;
inline constexpr Slot no_slot = 0xffff;

/// A kernel of elements or of rows, or without one a micro-program of arithmetic.
struct Instruction {
    TileKernel kernel = nullptr;
    const Primitive* primitive = nullptr;  ///< whose kernel it is
    RowKernel rows = nullptr;
    double parameter = 0;  ///< of a kernel of rows
    bool narrow = false;   ///< a kernel of elements, of which there is one a row
    std::uint16_t micro = 0;
    std::uint8_t arity = 0;
    Slot in[kernels::max_operands] = {};
    Slot out = no_slot;
};

/// A sum at the end of a group.
struct Total {
    ValueId of = no_value;
    DType dtype{};
    detail::RowSum rows;
    Slot from = no_slot;
    TileKernel whole = nullptr;  ///< of one row
    std::uint32_t result = 0;    ///< its number among the group's results
    std::size_t scratch = 0;     ///< where its state is kept
    std::size_t sums = 0;        ///< where sums of blocks are kept, in the memory for these
};

struct FusedProgram {
    static constexpr std::size_t max_streams = 64, max_slots = 256;
    static constexpr std::size_t short_rows = 48;  ///< of elements: shorter ones are put one behind the other
    static constexpr std::uint32_t unshared = ~0U;

    /// A value outside: an operand, or a result.
    struct Source {
        /// linear: in place, element after element; row: in place within a row; gathered: copied for every tile;
        /// fixed: one element, periodic: one row, copied once a run.
        enum Kind : std::uint8_t { linear, row, gathered, fixed, periodic } kind = linear;
        bool result = false;
        bool narrow = false;       ///< one element a row
        std::uint8_t size = 0;     ///< bytes of an element
        std::uint32_t number = 0;  ///< among the group's operands, or results
        std::size_t scratch = 0;   ///< where copies go
        Strides strides;           ///< one for each of `extents`, in elements

        bool in_place() const noexcept { return kind <= row; }
        /// Bytes from a row to the next one.
        std::int64_t apart() const noexcept
        {
            return strides.size() > 1 ? strides[strides.size() - 2] * size : 0;
        }
    };

    struct Free {
        void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
    };
    using Literal = std::unique_ptr<std::byte[], Free>;

    /// A program of the arithmetic machine.
    struct MicroProgram {
        DType dtype{};
        std::vector<MicroOp> ops;
        struct Operand {
            Slot slot;
            bool moves, stored;  ///< advances from block to block; is written
        };
        std::vector<Operand> at;
        std::size_t spills = 0,
                    spill = 0;  ///< blocks for values that find no accumulator: operands after the others
        std::size_t pad = 0;    ///< blocks for a rest that is too short
    };

    bool packed = false;   ///< the loop takes as many short rows as a tile holds, not parts of one row
    bool sharing = false;  ///< some result may lie where an operand does
    bool gathers = false;
    bool moves = false;  ///< some stream is read in place, row by row
    bool straight =
        false;  ///< few tiles and nothing to gather: calls of the kernels one after the other do as well
    bool resident = false;  ///< packed, and operations on rows among the instructions: a tile has whole rows
    Extents extents;
    std::size_t count = 0, inner = 0, tile = 0, tiles = 0, rows_per_tile = 1, scratch = 0;
    std::size_t sums = 0;                ///< bytes for sums of blocks, where several threads form them
    std::size_t streamed = 0;            ///< bytes of all that is read and written element after element
    std::size_t fill = 0;                ///< elements of a tile that holds one element everywhere
    std::vector<Source> streams;         ///< slots 0, 1, …
    std::vector<Literal> literals;       ///< the slots after them
    std::vector<std::size_t> registers;  ///< and then those in scratch memory
    std::vector<Instruction> program;
    std::vector<MicroProgram> micro_programs;
    std::vector<Total> totals;
    /// When an operand is read for the last time, or a result written, as instructions; `unshared` where memory cannot be shared.
    struct Access {
        std::uint32_t time = unshared;
        std::uint8_t size = 0;  ///< of elements
        bool narrow = false;
    };
    std::vector<Access> last_read, written;
};

/// The position of a row: each stream's first element in it.
class FusedRows {
public:
    FusedRows(const FusedProgram& p, std::byte* const* base, std::size_t row);
    std::byte* at(std::size_t k) const { return at_[k]; }
    /// Rows from this one on that lie at equal distances.
    std::size_t left() const;
    /// So many rows on, left() at most.
    void advance(std::size_t rows);

private:
    const FusedProgram& p_;
    Extents index_;  ///< the innermost axis first
    std::byte* at_[FusedProgram::max_streams];
};

namespace detail {

/// Scratch memory as it is given out. A line more than needed each time: tiles a page apart would fight for the same sets of
/// the cache.
class Scratch {
public:
    std::size_t reserve(std::size_t bytes);
    std::size_t size() const { return size_; }

private:
    std::size_t size_ = 0;
};

}  // namespace detail

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/fused_program.ipp"
#endif
