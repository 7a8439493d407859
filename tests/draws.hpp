// Numbers that no pattern is in, the same in each run.
#pragma once

#include <cstddef>
#include <cstdint>

/// Numbers between 0 and n (Knuth's MMIX).
struct Draws {
    std::uint64_t state = 1;
    std::size_t operator()(std::size_t n)
    {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::size_t>(state >> 33) % n;
    }
};
