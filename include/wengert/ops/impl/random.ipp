// The body of random.hpp that no type decides. With WENGERT_COMPILED only wengert::compiled compiles it.
#pragma once

#include "../../base/separate.hpp"
#include "../random.hpp"

namespace wengert::detail {

WENGERT_INLINE Ref<Block> draw_key(Recorder& r, const Ref<Block>& parent, std::uint64_t i,
                                   std::uint32_t domain, const Key& child)
{
    Ref<Block> out = tensor_of(child);
    note_drawn<KeyChild, std::int64_t>(r, KeyChild{i, domain}, parent, *out, {});
    return out;
}

}  // namespace wengert::detail
