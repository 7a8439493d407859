// States on disk, for as long as somebody may still need them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../array/layout.hpp"

namespace wengert::detail {

/// A file for many arrays, which has no name any more once it is open: nothing is left behind, however the program ends.
/// Made when the first array comes. Room of arrays that are let go is used again. Any thread may call. Throws MemoryError,
/// with the system's reason, when something cannot be written or read. After fork() the file is the parent's, as both would write
/// over each other's arrays: a child has a file of its own for what it keeps, and cannot read what was kept before.
class SnapshotStore {
public:
    /// Where an array is, and in whose file.
    struct Place {
        off_t offset;
        pid_t process;
    };

    SnapshotStore(std::string folder, std::string_view who, const Site& at)
        : folder_(std::move(folder)), who_(who), at_(at)
    {}
    SnapshotStore(const SnapshotStore&) = delete;
    SnapshotStore& operator=(const SnapshotStore&) = delete;
    ~SnapshotStore()
    {
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    /// Writes a contiguous array. Gives its place.
    Place put(const Block& b)
    {
        const Place place = room(b.bytes());
        for (std::size_t done = 0; done < b.bytes();) {
            const ssize_t n = ::pwrite(descriptor_, b.data + done, b.bytes() - done,
                                       place.offset + static_cast<off_t>(done));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) {
                const int why = n < 0 ? errno : ENOSPC;
                release(place, b.bytes());
                refuse("cannot write a snapshot of " + std::to_string(b.bytes()) +
                       " bytes: " + std::strerror(why));
            }
            done += static_cast<std::size_t>(n);
        }
        return place;
    }
    void get(const Place& place, Block& b) const
    {
        if (place.process != ::getpid())
            refuse("a snapshot is in the file of the process that this one was forked from, which writes "
                   "over it");
        for (std::size_t done = 0; done < b.bytes();) {
            const ssize_t n = ::pread(descriptor_, b.data + done, b.bytes() - done,
                                      place.offset + static_cast<off_t>(done));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) refuse(std::string("cannot read a snapshot: ") + std::strerror(errno));
            if (n == 0)
                refuse("cannot read a snapshot: its file ends " + std::to_string(b.bytes() - done) +
                       " bytes too early");
            done += static_cast<std::size_t>(n);
        }
    }
    void release(const Place& place, std::size_t bytes) noexcept
    {
        if (place.process != ::getpid()) return;
        const std::lock_guard lock(mutex_);
        if (--arrays_ == 0) {
            free_.clear();
            end_ = 0;
            static_cast<void>(::ftruncate(descriptor_, 0) == 0);
            return;
        }
        try {
            free_.emplace(bytes, place.offset);
        } catch (const std::bad_alloc&) {
            return;  // the room stays empty until all of it is let go
        }
    }

private:
    /// A place for so many bytes: that of an array of the same size, or the end of the file.
    Place room(std::size_t bytes)
    {
        const std::lock_guard lock(mutex_);
        const pid_t now = ::getpid();
        if (process_ != now) leave_to_parent();
        if (descriptor_ < 0) open();
        process_ = now;
        ++arrays_;
        const auto same = free_.find(bytes);
        if (same == free_.end()) return {std::exchange(end_, end_ + static_cast<off_t>(bytes)), now};
        const off_t offset = same->second;
        free_.erase(same);
        return {offset, now};
    }
    void leave_to_parent() noexcept
    {
        if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
        free_.clear();
        end_ = 0;
        arrays_ = 0;
    }
    void open()
    {
        std::string name = folder_ + "/wengert-snapshot-XXXXXX";
        descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
        if (descriptor_ < 0) refuse("cannot make a file in " + folder_ + ": " + std::strerror(errno));
        ::unlink(name.c_str());
    }
    [[noreturn]] void refuse(const std::string& what) const { fail<MemoryError>(who_, what, at_); }

    std::string folder_;
    std::string_view who_;
    Site at_;
    std::mutex mutex_;
    int descriptor_ = -1;
    pid_t process_ = 0;  ///< whose file it is
    off_t end_ = 0;
    std::size_t arrays_ = 0;
    std::multimap<std::size_t, off_t> free_;  ///< by size
};

/// Some arrays in a store, for as long as this lives.
class Snapshot {
public:
    Snapshot(std::shared_ptr<SnapshotStore> store, const std::vector<Ref<Block>>& blocks)
        : store_(std::move(store))
    {
        parts_.reserve(blocks.size());
        try {
            for (const auto& b : blocks) parts_.push_back({b->dtype, b->shape, store_->put(*contiguous(b))});
        } catch (...) {
            let_go();
            throw;
        }
    }
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;
    ~Snapshot() { let_go(); }

    Ref<Block> read(std::size_t i) const
    {
        auto b = make_block(parts_[i].dtype, parts_[i].shape);
        store_->get(parts_[i].place, *b);
        return b;
    }

private:
    struct Part {
        DType dtype;
        Shape shape;
        SnapshotStore::Place place;
    };
    void let_go() noexcept
    {
        for (const Part& p : parts_) store_->release(p.place, element_count(p.shape) * size_of(p.dtype));
    }

    std::shared_ptr<SnapshotStore> store_;
    std::vector<Part> parts_;
};

/// A block of a shape whose elements nobody reads: one element, repeated.
inline Ref<Block> stand_in(DType dtype, const Shape& shape)
{
    return broadcast_view(zeros_block(dtype, Shape()), shape);
}

}  // namespace wengert::detail
