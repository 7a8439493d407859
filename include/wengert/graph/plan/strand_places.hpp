// Memory for kernels that run at once: what two strands of a wave use never overlaps.
#pragma once

#include "arena.hpp"
#include "../threads/waves.hpp"

namespace wengert::tiling {

/// place_buffers() for an order with waves, in which kernel t runs at time t + 1. Buffers that live within one strand have a
/// room of their own for the whole wave, in which they follow one another as ever. One that is used beyond a strand lives as
/// long as the waves in which it begins and ends.
ArenaSize place_strands(std::vector<Buffer>& buffers, std::size_t steps, const std::vector<Wave>& waves);

}  // namespace wengert::tiling

#ifndef WENGERT_COMPILED
#include "impl/strand_places.ipp"
#endif
