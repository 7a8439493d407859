// ScalarMemory: a limit of what scalar code may hold.
#pragma once

#include "stream.hpp"

namespace wengert {

/// While it lives the operations recorded on this thread's tape take at most so many bytes of memory. With a folder what is more goes
/// to a file there, which nobody sees and which goes when it is no longer needed; without one a MemoryError says how much is held.
class ScalarMemory {
public:
    explicit ScalarMemory(std::size_t bytes, std::string folder = {})
        : stream_(&ScalarStream::of(Tape::current())), before_(stream_->set_room({bytes, std::move(folder)}))
    {}
    ScalarMemory(const ScalarMemory&) = delete;
    ScalarMemory& operator=(const ScalarMemory&) = delete;
    ~ScalarMemory()
    {
        if (Tape::current().extension == stream_) stream_->set_room(std::move(before_));
    }

private:
    ScalarStream* stream_;
    ScalarRoom before_;
};

}  // namespace wengert
