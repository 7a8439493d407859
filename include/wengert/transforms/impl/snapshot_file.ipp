// The bodies of snapshot_file.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include "../../base/separate.hpp"
#include "../snapshot_file.hpp"

namespace wengert::detail {

WENGERT_INLINE SnapshotStore::SnapshotStore(std::string folder, std::string_view who, const Site& at)
    : folder_(std::move(folder)), who_(who), at_(at)
{}

WENGERT_INLINE SnapshotStore::~SnapshotStore()
{
    if (descriptor_ >= 0) ::close(descriptor_);
}

WENGERT_INLINE SnapshotStore::FileRegion SnapshotStore::put(const Block& block)
{
    const Ref<Block> near = readable(Ref<Block>(const_cast<Block*>(&block)));
    const Block& b = *near;
    const FileRegion region = find_region(b.bytes());
    for (std::size_t done = 0; done < b.bytes();) {
        const ssize_t n =
            ::pwrite(descriptor_, b.data + done, b.bytes() - done, region.offset + static_cast<off_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            const int why = n < 0 ? errno : ENOSPC;
            release(region, b.bytes());
            refuse("cannot write a snapshot of " + std::to_string(b.bytes()) +
                   " bytes: " + std::strerror(why));
        }
        done += static_cast<std::size_t>(n);
    }
    return region;
}

WENGERT_INLINE void SnapshotStore::get(const FileRegion& region, Block& b) const
{
    if (region.process != ::getpid())
        refuse("a snapshot is in the file of the process that this one was forked from, which writes "
               "over it");
    if (b.access.device) [[unlikely]] {
        auto near = make_block(b.dtype, b.shape);
        get(region, *near);
        return copy_elements(*near, b);
    }
    for (std::size_t done = 0; done < b.bytes();) {
        const ssize_t n =
            ::pread(descriptor_, b.data + done, b.bytes() - done, region.offset + static_cast<off_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) refuse(std::string("cannot read a snapshot: ") + std::strerror(errno));
        if (n == 0)
            refuse("cannot read a snapshot: its file ends " + std::to_string(b.bytes() - done) +
                   " bytes too early");
        done += static_cast<std::size_t>(n);
    }
}

WENGERT_INLINE void SnapshotStore::release(const FileRegion& region, std::size_t bytes) noexcept
{
    if (region.process != ::getpid()) return;
    const std::lock_guard lock(mutex_);
    if (--arrays_ == 0) {
        free_.clear();
        end_ = 0;
        static_cast<void>(::ftruncate(descriptor_, 0) == 0);
        return;
    }
    try {
        free_.emplace(bytes, region.offset);
    } catch (const std::bad_alloc&) {
        return;  // the room stays empty until all of it is let go
    }
}

WENGERT_INLINE SnapshotStore::FileRegion SnapshotStore::find_region(std::size_t bytes)
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

WENGERT_INLINE void SnapshotStore::leave_to_parent() noexcept
{
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    free_.clear();
    end_ = 0;
    arrays_ = 0;
}

WENGERT_INLINE void SnapshotStore::open()
{
    std::string name = folder_ + "/wengert-snapshot-XXXXXX";
    descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) refuse("cannot make a file in " + folder_ + ": " + std::strerror(errno));
    ::unlink(name.c_str());
}

WENGERT_INLINE Snapshot::Snapshot(std::shared_ptr<SnapshotStore> store, const std::vector<Ref<Block>>& blocks)
    : store_(std::move(store))
{
    parts_.reserve(blocks.size());
    try {
        for (const auto& b : blocks) parts_.push_back({b->dtype, b->shape, store_->put(*b), b->device()});
    } catch (...) {
        let_go();
        throw;
    }
}

WENGERT_INLINE Ref<Block> Snapshot::read(std::size_t i) const
{
    const Part& part = parts_[i];
    auto b = make_block(part.dtype, part.shape);
    store_->get(part.region, *b);
    return placed(std::move(b), part.device);
}

WENGERT_INLINE void Snapshot::let_go() noexcept
{
    for (const Part& p : parts_) store_->release(p.region, element_count(p.shape) * size_of(p.dtype));
}

WENGERT_INLINE Ref<Block> stand_in(const Block& like)
{
    return broadcast_view(zeros_beside(like, like.dtype, Shape()), like.shape);
}

}  // namespace wengert::detail
