// Orders work by the memory that it uses, where a device has several streams. Before work is put in this thread's stream, the stream
// waits for earlier work of others on that memory. Afterwards the use is noted.
#pragma once

#include "../../array/block.hpp"
#include "gpu.hpp"

namespace wengert::detail::gpu {

/// The memory that an operation reads and writes, told before this thread puts the operation in its stream, and noted when this ends.
/// Does nothing where there is one stream.
class Ordered {
public:
    explicit Ordered(Gpu& gpu) : gpu_(gpu.orders() ? &gpu : nullptr) { gpu.refuse_capture(); }
    Ordered(const Ordered&) = delete;
    Ordered& operator=(const Ordered&) = delete;
    ~Ordered()
    {
        if (gpu_ && !all_.empty()) [[unlikely]]
            note();
    }

    Ordered& reads(const void* p, std::size_t bytes) { return gpu_ ? wait(p, bytes, false) : *this; }
    Ordered& writes(const void* p, std::size_t bytes) { return gpu_ ? wait(p, bytes, true) : *this; }
    Ordered& reads(const Block& b)
    {
        return gpu_ ? wait(owner_of(b).data, bytes_of(owner_of(b)), false) : *this;
    }
    Ordered& writes(const Block& b)
    {
        return gpu_ ? wait(owner_of(b).data, bytes_of(owner_of(b)), true) : *this;
    }
    /// Memory that was taken for the operation and is its result.
    void made(const Block& b)
    {
        if (!gpu_) return;
        const Block& owner = owner_of(b);
        for (const Memory& m : all_)
            if (m.at == reinterpret_cast<Address>(owner.data)) return;
        if (owner.count) all_.push_back({reinterpret_cast<Address>(owner.data), bytes_of(owner), true});
    }

    /// Notes that work that the program has put in q by now may read b.
    static void note_reading(Gpu& gpu, Queue& q, const Block& b)
    {
        const Block& owner = owner_of(b);
        gpu.pool().uses().note(q, reinterpret_cast<Address>(owner.data), bytes_of(owner), false, q.ticket());
        gpu.queues().mark(q);
    }

private:
    struct Memory {
        Address at;
        std::size_t bytes;
        bool written;
    };
    static const Block& owner_of(const Block& b) noexcept { return b.base ? *b.base : b; }
    static std::size_t bytes_of(const Block& owner) noexcept
    {
        return std::max(owner.capacity, owner.bytes());
    }
    Ordered& wait(const void* p, std::size_t bytes, bool writes)
    {
        const auto at = reinterpret_cast<Address>(p);
        if (!p || !bytes) return *this;
        all_.push_back({at, bytes, writes});
        gpu_->pool().uses().wait(gpu_->queue(), at, bytes, writes);
        return *this;
    }
    void note() noexcept
    {
        Queue& q = gpu_->queue();
        try {
            const std::uint64_t ticket = q.ticket();
            for (const Memory& m : all_) gpu_->pool().uses().note(q, m.at, m.bytes, m.written, ticket);
        } catch (...) {  // no memory on the host for notes: nobody has to wait for what is done
            static_cast<void>(Driver::get().wait_for_stream(q.stream()));
        }
    }

    Gpu* gpu_;
    std::vector<Memory> all_;
};

/// The same for memory of one object that runs again and again, in any stream.
class OrderedRuns {
public:
    /// A run comes after the one before, which may have been in another stream.
    void begin(Gpu& gpu)
    {
        if (!gpu.orders()) return;
        gpu_ = &gpu;
        if (!last_) last_ = &gpu.queues().main();
        gpu.queues().wait(gpu.queue(), *last_, ticket());
        last_ = &gpu.queue(), ticket_ = Uses::not_put;
    }
    /// Called when all work of the run has been put in the stream.
    void put() noexcept
    {
        if (last_) ticket_ = last_->ticket();
    }
    /// Whoever gets this memory next comes after the last run.
    void end(const std::byte* p, std::size_t capacity) const noexcept
    {
        if (!last_ || !p || !capacity) return;
        try {
            gpu_->pool().uses().note(*last_, reinterpret_cast<Address>(p), capacity, false, ticket());
        } catch (...) {
            static_cast<void>(Driver::get().wait_for_stream(last_->stream()));
        }
    }

private:
    std::uint64_t ticket() const noexcept { return ticket_ == Uses::not_put ? last_->ticket() : ticket_; }

    Gpu* gpu_ = nullptr;
    Queue* last_ = nullptr;
    std::uint64_t ticket_ = Uses::not_put;
};

}  // namespace wengert::detail::gpu
