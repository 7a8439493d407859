// What a kernel's recording of one cell notes beside the operations: which way comparisons went, and numbers that went through
// tensors, as they do where a derivative is taken inside of the cell's function.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "../array/block.hpp"

namespace wengert {

/// A comparison that a kernel's recording has met: which way it went.
struct ScalarGuard {
    static constexpr std::size_t most = std::size_t{1} << 20;  ///< of one recording
    enum class Kind : std::uint8_t {
        less,
        less_equal,
        equal,
        loop
    } kind;  ///< loop: number a of the recording's
    bool outcome;
    std::uint32_t at;    ///< entries before it
    std::uint32_t a, b;  ///< 0: the constants below
    double left, right;
};

/// Numbers of a recording as a tensor, and entries that are such numbers again; places of 0 are constants.
struct ScalarMoves {
    struct Gathered {
        Ref<Block> block;
        std::vector<std::uint64_t> places;
    };
    struct Entered {
        std::uint32_t first;
        std::vector<std::uint64_t> from;
    };
    std::string_view who = "kernel";  ///< for errors
    std::vector<Gathered> gathered;
    std::vector<Entered> entered;
};

}  // namespace wengert
