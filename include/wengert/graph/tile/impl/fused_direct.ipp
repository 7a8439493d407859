// What fused_direct.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../fused_direct.hpp"

namespace wengert::tiling::detail {

WENGERT_INLINE TileKernel spread_kernel(std::size_t size)
{
    return size == 8   ? spread_tile<std::uint64_t>
           : size == 4 ? spread_tile<std::uint32_t>
                       : spread_tile<std::uint8_t>;
}

WENGERT_INLINE void spread(const std::byte* from, std::size_t size, std::size_t n, std::byte* to)
{
    const void* in[] = {from};
    spread_kernel(size)(n, in, to);
}

}  // namespace wengert::tiling::detail
