// How much memory a stream of scalar operations may take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "entry.hpp"

namespace wengert {

/// The memory that entries may take, and the folder for a file of those beyond it. Without a folder there may be none beyond it.
struct ScalarBudget {
    static constexpr std::size_t most_in_chunk = 1UL << 31;  ///< so that an index has a bit to spare
    std::size_t bytes = ~std::size_t{0};
    std::string folder = {};
    std::size_t chunk =
        0;  ///< entries of a chunk; 0: as many as it can have, with a folder an eighth of bytes
    ScalarPosition first = 0;  ///< where the first chunk begins, for a stream that is empty

    std::size_t in_chunk() const noexcept
    {
        const std::size_t eighth = std::max<std::size_t>(bytes / (8 * sizeof(ScalarEntry)), 1024);
        return std::min(most_in_chunk, chunk ? chunk : folder.empty() ? most_in_chunk : eighth);
    }
};

}  // namespace wengert
