// Where the stream's entries lie: one piece of memory, or of a file, for all chunks. With WENGERT_COMPILED only wengert::compiled
// compiles it.
#pragma once

#include <cstring>

#include "../../../base/separate.hpp"
#include "../spill.hpp"
#include "../stream.hpp"

namespace wengert {

WENGERT_INLINE void ScalarStream::hold(std::size_t wanted)
{
    const std::size_t held = held_entries_, in_memory = budget_.bytes / sizeof(ScalarEntry);
    std::size_t roomy = 2 * held + 1024;
    if (roomy > in_memory)
        roomy = held < in_memory ? in_memory : held + std::max<std::size_t>(in_memory, 1 << 16);
    roomy = std::max(wanted, roomy);
    const bool some = wanted <= in_memory || !budget_.folder.empty();
    void* p = some ? moved(roomy * sizeof(ScalarEntry)) : nullptr;
    if (!p && guards) detail::refuse_unrolled(in_memory);
    if (!p)
        fail<MemoryError>(
            "scalar code",
            "no memory for more operations: " + std::to_string(offset(end())) + " are recorded, " +
                std::to_string(offset(end()) * sizeof(ScalarEntry) >> 20) + " MiB" +
                (wanted > in_memory ? ", and the limit is " + std::to_string(budget_.bytes) + " bytes" : "") +
                "; checkpoint() drops those inside of a function until its derivative needs them",
            detail::line_of_user());
    memory_ = static_cast<ScalarEntry*>(p);
    held_entries_ = roomy;
    look_at_newest();
}

/// Begins a chunk with room for so many entries. The open span ends with its chunk.
WENGERT_INLINE void ScalarStream::begin_chunk(std::size_t more)
{
    if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 8);
    reserve(more + 3);  // index 0, and two links
    close();
    const ScalarPosition before = chunk();
    chunks_.push_back(end());
    ScalarCursor::size = 1;
    look_at_newest();
    ScalarCursor::entries[0] = {};
    rest(before);
}

/// The entries in a larger piece of memory, or in a file; null where there is none.
WENGERT_INLINE void* ScalarStream::moved(std::size_t bytes)
{
    if (!file_ && bytes <= budget_.bytes) return std::realloc(memory_, bytes);
    if (file_) return file_->grow(bytes);
    auto file = std::make_unique<detail::SpillFile>(budget_.folder);
    void* const p = file->grow(bytes);
    if (memory_) std::memcpy(p, memory_, offset(end()) * sizeof(ScalarEntry));
    std::free(memory_);
    file->rest(0, offset(end()) * sizeof(ScalarEntry));
    file_ = std::move(file);
    return p;
}

WENGERT_INLINE ScalarBudget ScalarStream::set_budget(ScalarBudget budget)
{
    const std::size_t most = budget.bytes / sizeof(ScalarEntry);
    const ScalarBudget before = std::exchange(budget_, std::move(budget));
    if (held_entries_ > most) {  // a file keeps its room: hold() asks the new budget before it grows
        if (spans_.empty())
            give_up_entries();
        else
            held_entries_ = std::max(most, offset(end()));
    }
    if (spans_.empty()) chunks_.assign(1, budget_.first);
    look_at_newest();
    return before;
}

}  // namespace wengert
