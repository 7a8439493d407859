// The streams of a device that this program puts work in: the library's default one, further ones of the library, and the user's.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "driver.hpp"

namespace wengert::detail::gpu {

/// A stream and its progress. Each piece of work that is put there has a ticket, one more than the piece before. A queue lives as long
/// as the program, even where the stream is a user's and ends. A later stream at the same address has the same queue, and waits for
/// the earlier one.
class Queue {
public:
    Queue(Stream* stream, std::size_t index, bool ours) : stream_(stream), index_(index), ours_(ours) {}
    Stream* stream() const noexcept { return stream_; }
    /// Does the program capture this stream into a graph of its own? Then no other stream may wait for it, and it for no other.
    bool is_captured() const
    {
        int status = 0;
        check(Driver::get().is_captured(stream_, &status), "cuStreamIsCapturing");
        return status != 0;
    }
    /// Throws DeviceError if it is captured.
    void refuse_capture() const
    {
        if (!is_captured()) return;
        const Operation& last = last_asked;
        const bool has_line = Operation::now().at.line != 0 || last.at.line == 0;
        refuse(
            "CUDA: the stream is captured by the program, whose graph the library's work cannot be a part of "
            "(freeze "
            "captures graphs of its own)" +
            (has_line ? "" : "; it comes after [" + std::string(last.name) + "] at " + to_string(last.at)));
    }
    /// The driver's number of the stream among all that there have been; 0 where the driver has none.
    std::uint64_t id() const noexcept { return id_; }
    /// The ticket of what has just been put there; all that was put before has a smaller one.
    std::uint64_t ticket() noexcept { return put_.fetch_add(1) + 1; }

private:
    friend class Queues;
    Stream* stream_;
    std::size_t index_;
    bool ours_;
    std::atomic<std::uint64_t> put_{0};
    std::atomic<std::uint64_t> id_{0};
    // under the mutex of Queues
    std::vector<std::uint64_t> seen_;  ///< tickets of the others that what is put here comes after
    Event* tail_ = nullptr;
    bool marked_ = false;  ///< has `tail_` been recorded?
    bool owes_ = false;    ///< `tail_` was not recorded, because the stream was captured
    std::size_t scopes_ = 0;
};

/// The most devices that the library uses.
inline constexpr int most_devices = 8;

/// Where this thread puts its work, device by device; null for the device's own stream.
inline constinit thread_local std::array<Queue*, most_devices> queue_now
    __attribute__((visibility("default"))) = {};

class Queues {
public:
    Queues(int ordinal, Stream* main) : ordinal_(static_cast<std::size_t>(ordinal)), main_(main, 0, true) {}

    /// Is there a stream beside the device's own? Until then no tickets are counted.
    bool several() const noexcept { return several_.load(std::memory_order_acquire); }
    Queue& main() noexcept { return main_; }
    Queue& now() noexcept { return queue_now[ordinal_] ? *queue_now[ordinal_] : main_; }

    /// A stream of ours that nobody else uses. It comes after nothing.
    Queue& take()
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            Queue& q = *idle_.back();
            idle_.pop_back();
            return q;
        }
        idle_.reserve(more_.size() + 1);
        Stream* stream = nullptr;
        constexpr unsigned beside_others = 1;
        check(Driver::get().make_stream(&stream, beside_others), "cuStreamCreate");
        return more_.emplace_back(stream, more_.size() + 1, true);
    }
    void give(Queue& q) noexcept
    {
        const std::lock_guard lock(mutex_);
        idle_.push_back(&q);  // memory for all has been reserved
    }
    /// The user's.
    Queue& of(Stream* stream)
    {
        const std::lock_guard lock(mutex_);
        Queue*& q = users_[stream];
        if (!q) q = &more_.emplace_back(stream, more_.size() + 1, false);
        return *q;
    }

    void enter(Queue& q)
    {
        const std::lock_guard lock(mutex_);
        for (Queue* one : {&main_, &q}) make_tail(*one);  // in the device's context
        if (q.scopes_ == 0 && !q.ours_) renew(q);
        ++q.scopes_;
        several_.store(true, std::memory_order_release);
    }
    /// A user's stream may end after that. So the event that others will wait for is recorded now.
    void leave(Queue& q) noexcept
    {
        const std::lock_guard lock(mutex_);
        if (--q.scopes_ > 0 || q.ours_) return;
        q.owes_ = true;
        try {
            record(q);
        } catch (...) {  // it is captured, or the driver refuses: whoever waits for it asks again
        }
    }

    /// Lets others wait for all work that q has now. Called after somebody else has put work in a user's stream.
    void mark(Queue& q)
    {
        enter(q);
        leave(q);
    }

    /// What is put in q from now on comes after an event, the program's or ours.
    static void wait_for(const Queue& q, Event* event)
    {
        q.refuse_capture();
        check(Driver::get().wait_in_stream(q.stream_, event, 0), "cuStreamWaitEvent");
        if (q.is_captured())
            refuse("CUDA: the event is of work that the program captures, which the library's stream has "
                   "become a part of: it is "
                   "of no use before that has ended");
    }

    /// Does what is put in q come after that work of another one?
    bool after(const Queue& q, const Queue& other, std::uint64_t ticket)
    {
        const std::lock_guard lock(mutex_);
        return has_seen(q, other, ticket);
    }
    /// What is put in q from now on comes after it. It must have been put.
    void wait(Queue& q, Queue& other, std::uint64_t ticket)
    {
        const std::lock_guard lock(mutex_);
        if (has_seen(q, other, ticket)) return;
        const Driver& d = Driver::get();
        const std::uint64_t all = other.put_.load();
        q.refuse_capture();
        if (other.ours_ || other.scopes_ > 0 || other.owes_) record(other);
        if (other.marked_) check(d.wait_in_stream(q.stream_, other.tail_, 0), "cuStreamWaitEvent");
        q.seen_.resize(std::max({q.seen_.size(), other.index_ + 1, other.seen_.size()}));
        for (std::size_t k = 0; k < other.seen_.size(); ++k)
            q.seen_[k] = std::max(q.seen_[k], other.seen_[k]);
        q.seen_[other.index_] = std::max(q.seen_[other.index_], all);
    }
    /// The host waits for one queue.
    void wait_here(Queue& q)
    {
        if (!q.ours_) return wait_for_users(q);
        check_wait(Driver::get().wait_for_stream(q.stream_), "cuStreamSynchronize");
    }
    /// The host waits for all queues.
    void wait_for_all()
    {
        wait_here(main_);
        std::vector<Queue*> others;
        {
            const std::lock_guard lock(mutex_);
            for (Queue& q : more_) others.push_back(&q);
        }
        for (Queue* q : others) wait_here(*q);
    }

private:
    static bool has_seen(const Queue& q, const Queue& other, std::uint64_t ticket) noexcept
    {
        return &q == &other || (other.index_ < q.seen_.size() && q.seen_[other.index_] >= ticket);
    }
    static void make_tail(Queue& q)
    {
        constexpr unsigned no_timing = 2;
        if (!q.tail_) check(Driver::get().make_event(&q.tail_, no_timing), "cuEventCreate");
    }
    /// A user's stream may have ended, and another one may have its address. The new one then waits for the work of the old one, and
    /// for nothing else. One that is captured was known before, and asking for its number would spoil the capture.
    static void renew(Queue& q)
    {
        if (q.is_captured()) return;
        const Driver& d = Driver::get();
        unsigned long long id = 0;
        if (!d.stream_id || d.stream_id(q.stream_, &id) != success) id = 0;
        if (id != 0 && id == q.id_) return;
        if (q.marked_) check(d.wait_in_stream(q.stream_, q.tail_, 0), "cuStreamWaitEvent");
        q.id_ = id, q.seen_.clear();
    }
    static void record(Queue& q)
    {
        q.refuse_capture();
        make_tail(q);
        check(Driver::get().record(q.tail_, q.stream_), "cuEventRecord");
        q.marked_ = true, q.owes_ = false;
    }
    void wait_for_users(Queue& q)
    {
        const Driver& d = Driver::get();
        {
            const std::lock_guard lock(mutex_);
            if (q.scopes_ > 0 || q.owes_) record(q);
            if (!q.marked_) return;
        }
        check_wait(d.wait_for_event(q.tail_), "cuEventSynchronize");
    }

    std::size_t ordinal_;
    std::atomic<bool> several_{false};
    std::mutex mutex_;
    Queue main_;
    std::deque<Queue> more_;  ///< a deque: their addresses stay
    std::map<Stream*, Queue*> users_;
    std::vector<Queue*> idle_;
};

}  // namespace wengert::detail::gpu
