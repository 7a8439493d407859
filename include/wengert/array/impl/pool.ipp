// The bodies of pool.hpp: how memory comes from the system. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "../../base/separate.hpp"
#include "../pool.hpp"

namespace wengert::memory {

[[noreturn]] WENGERT_INLINE void Pool::refuse(std::size_t capacity) const
{
    throw MemoryError("[memory] cannot allocate " + std::to_string(capacity) + " bytes; " +
                      std::to_string(stats_.current_bytes) + " bytes of this thread's tensors are live" +
                      (holders.load() ? holders.load()() : std::string()));
}

WENGERT_INLINE void* Pool::from_system(std::size_t capacity)
{
    const bool big = capacity >= 2 * huge_page;
    const std::size_t align = big ? huge_page : alignment;
    void* p = std::aligned_alloc(align, (capacity + align - 1) / align * align);
#ifdef __linux__
    if (big && p) ::madvise(p, capacity, MADV_HUGEPAGE);
#endif
    return p;
}

WENGERT_INLINE __attribute__((noinline)) void* Cells::take_fresh(std::size_t bytes)
{
    bytes = (bytes + Pool::alignment - 1) / Pool::alignment * Pool::alignment;
    void* p = std::aligned_alloc(Pool::alignment, bytes);
    if (!p) throw MemoryError("[memory] cannot allocate " + std::to_string(bytes) + " bytes");
    size_ = static_cast<std::int64_t>(bytes);
    ++made_;
    ++live_;
    return p;
}

}  // namespace wengert::memory
