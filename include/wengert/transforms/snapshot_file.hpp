// States on disk, for as long as somebody may still need them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "../array/layout.hpp"

namespace wengert::detail {

/// Some blocks in a file of its own that has no name any more once it is open: nothing is left behind, however the program
/// ends. Throws MemoryError, with the system's reason, when they cannot be written or read.
class SnapshotFile {
public:
    SnapshotFile(const std::string& folder, const std::vector<Ref<Block>>& blocks, const Site& at) : at_(at)
    {
        std::string name = folder + "/wengert-snapshot-XXXXXX";
        descriptor_ = ::mkstemp(name.data());
        if (descriptor_ < 0) refuse("cannot make a file in " + folder);
        ::unlink(name.c_str());
        try {
            for (const auto& b : blocks) append(*contiguous(b));
        } catch (...) {
            ::close(descriptor_);
            throw;
        }
    }
    SnapshotFile(const SnapshotFile&) = delete;
    SnapshotFile& operator=(const SnapshotFile&) = delete;
    ~SnapshotFile() { ::close(descriptor_); }

    Ref<Block> read(std::size_t i) const
    {
        const Part& part = parts_[i];
        auto b = make_block(part.dtype, part.shape);
        for (std::size_t done = 0; done < b->bytes();) {
            const ssize_t n = ::pread(descriptor_, b->data + done, b->bytes() - done,
                                      part.offset + static_cast<off_t>(done));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) refuse("cannot read a snapshot");
            done += static_cast<std::size_t>(n);
        }
        return b;
    }

private:
    struct Part {
        DType dtype;
        Shape shape;
        off_t offset;
    };
    void append(const Block& b)
    {
        parts_.push_back({b.dtype, b.shape, end_});
        for (std::size_t done = 0; done < b.bytes();) {
            const ssize_t n =
                ::pwrite(descriptor_, b.data + done, b.bytes() - done, end_ + static_cast<off_t>(done));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) refuse("cannot write a snapshot of " + std::to_string(b.bytes()) + " bytes");
            done += static_cast<std::size_t>(n);
        }
        end_ += static_cast<off_t>(b.bytes());
    }
    [[noreturn]] void refuse(const std::string& what) const
    {
        fail<MemoryError>("checkpoint_loop", what + ": " + std::strerror(errno), at_);
    }

    int descriptor_ = -1;
    off_t end_ = 0;
    std::vector<Part> parts_;
    Site at_;
};

/// A block of a shape whose elements nobody reads: one element, repeated.
inline Ref<Block> stand_in(DType dtype, const Shape& shape)
{
    return broadcast_view(zeros_block(dtype, Shape()), shape);
}

}  // namespace wengert::detail
