// What a plan consists of: tasks, the homes of values, the memory that values share.
#pragma once

#include "fused.hpp"

namespace wengert::tiling {

/// A group in its place among the steps.
struct Task {
    Group group;
    std::shared_ptr<const FusedKernel> kernel;  ///< null: one operation by itself
    bool throws = false;  ///< it may fail: nothing of the caller's has been written before it
    ValueList over;       ///< for each result the value whose memory it takes over, or no_value
};

/// Whose memory a value has.
enum class Home : std::uint8_t { nowhere, input, constant, arena, output };

/// What is planned for a value that is no view.
struct Placed {
    Home home = Home::nowhere;
    std::uint32_t first = 0, last = 0;  ///< times of its making and of its last reading
    std::uint32_t reads = 0;
    std::uint32_t store = 0;  ///< values that lie in one another's place share a store
};

/// The memory of a chain of values, each of which is written over the one before.
struct Store {
    std::size_t bytes = 0;
    std::uint32_t first = 0, last = 0;
    std::uint32_t values = 0;
    ValueId begin = no_value;    ///< the first value in it
    std::uint32_t output = ~0U;  ///< the output that it becomes
    bool landed = false;         ///< that output is copied out of the arena at the end
    std::size_t offset = 0;      ///< in the arena
};

}  // namespace wengert::tiling
