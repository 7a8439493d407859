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

/// A file for many arrays. It has no name any more once it is open, so nothing is left behind, however the program ends. It is made
/// when the first array comes. The room of released arrays is used again. Any thread may call. Throws MemoryError, with the
/// system's reason, when something cannot be written or read. After fork() the file is the parent's, as both would write over each
/// other's arrays. A child has a file of its own for what it keeps, and cannot read what was kept before.
class SnapshotStore {
public:
    /// Where an array is, and in whose file.
    struct FileRegion {
        off_t offset;
        pid_t process;
    };

    SnapshotStore(std::string folder, std::string_view who, const Site& at);
    SnapshotStore(const SnapshotStore&) = delete;
    SnapshotStore& operator=(const SnapshotStore&) = delete;
    ~SnapshotStore();

    /// Writes a contiguous array. Gives its region.
    FileRegion put(const Block& block);
    void get(const FileRegion& region, Block& b) const;
    void release(const FileRegion& region, std::size_t bytes) noexcept;

private:
    /// A region for so many bytes: that of an array of the same size, or the end of the file.
    FileRegion find_region(std::size_t bytes);
    void leave_to_parent() noexcept;
    void open();
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
    Snapshot(std::shared_ptr<SnapshotStore> store, const std::vector<Ref<Block>>& blocks);
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;
    ~Snapshot() { let_go(); }

    Ref<Block> read(std::size_t i) const;

private:
    struct Part {
        DType dtype;
        Shape shape;
        SnapshotStore::FileRegion region;
        std::uint8_t device;
    };
    void let_go() noexcept;

    std::shared_ptr<SnapshotStore> store_;
    std::vector<Part> parts_;
};

/// A block like another one whose elements nobody reads: one element, repeated.
Ref<Block> stand_in(const Block& like);

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/snapshot_file.ipp"
#endif
