// ScalarMemory: a limit of what scalar code may hold.
#pragma once

#include "stream.hpp"

namespace wengert {

/// While it lives, the operations recorded on this thread's tape take at most so many bytes of memory. With a folder, the rest goes
/// to a file there, which has no name and vanishes when it is no longer needed. Without one, a MemoryError says how much is held.
/// Adjoints come in addition. If the tape lies in a file, these are the adjoints of few chunks, each an eighth of the memory or
/// less.
class ScalarMemory {
public:
    explicit ScalarMemory(std::size_t bytes, std::string folder = {})
        : stream_(&ScalarStream::of(Tape::current())),
          before_(stream_->set_budget({bytes, std::move(folder)}))
    {}
    ScalarMemory(const ScalarMemory&) = delete;
    ScalarMemory& operator=(const ScalarMemory&) = delete;
    ~ScalarMemory()
    {
        if (Tape::current().extension == stream_) stream_->set_budget(std::move(before_));
    }

private:
    ScalarStream* stream_;
    ScalarBudget before_;
};

}  // namespace wengert
