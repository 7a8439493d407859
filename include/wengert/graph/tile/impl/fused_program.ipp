// What fused_program.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../fused_program.hpp"

namespace wengert::tiling {

WENGERT_INLINE FusedRows::FusedRows(const FusedProgram& p, std::byte* const* base, std::size_t row) : p_(p)
{
    std::size_t rest = row;
    for (std::size_t axis = p.extents.size() - 1; axis-- > 0;) {
        const auto extent = static_cast<std::size_t>(p.extents[axis]);
        index_.push_back(static_cast<std::int64_t>(rest % extent));
        rest /= extent;
    }
    for (std::size_t k = 0; k < p.streams.size(); ++k) {
        at_[k] = base[k];
        const FusedProgram::Source& s = p.streams[k];
        for (std::size_t i = 0; i < index_.size(); ++i)
            at_[k] += index_[i] * s.strides[index_.size() - 1 - i] * s.size;
    }
}

WENGERT_INLINE std::size_t FusedRows::left() const
{
    return index_.empty() ? 1 : static_cast<std::size_t>(p_.extents[index_.size() - 1] - index_[0]);
}

WENGERT_INLINE void FusedRows::advance(std::size_t rows)
{
    auto by = static_cast<std::int64_t>(rows);
    for (std::size_t i = 0; i < index_.size(); ++i, by = 1) {
        const std::size_t axis = index_.size() - 1 - i;
        index_[i] += by;
        const bool wraps = index_[i] == p_.extents[axis];
        for (std::size_t k = 0; k < p_.streams.size(); ++k) {
            const std::int64_t step = p_.streams[k].strides[axis] * p_.streams[k].size;
            at_[k] += step * (wraps ? by - p_.extents[axis] : by);
        }
        if (!wraps) return;
        index_[i] = 0;
    }
}

}  // namespace wengert::tiling

namespace wengert::tiling::detail {

WENGERT_INLINE std::size_t Scratch::reserve(std::size_t bytes)
{
    const std::size_t offset = size_;
    size_ += (bytes + 63) / 64 * 64 + 64;
    return offset;
}

}  // namespace wengert::tiling::detail
