// Which streams have written and read which memory of a device, so that work in one waits for what it needs of another. Uses are noted
// from the second stream on. Memory without a note has been used by the device's own stream.
#pragma once

#include <iterator>

#include "queues.hpp"

namespace wengert::detail::gpu {

/// The last work of a queue with some memory, by tickets: 0 for none.
struct Use {
    Queue* queue;
    std::uint64_t written, used;  ///< written ≤ used
};

class Uses {
public:
    using List = std::vector<Use>;
    /// Memory that was just taken: whoever has it will say what it has done with it.
    static constexpr std::uint64_t not_put = ~std::uint64_t{0};

    explicit Uses(Queues& queues) : queues_(queues) {}

    /// q waits for those who wrote what is there; if it is to be written, for those who read it, too.
    void wait(Queue& q, Address at, std::size_t bytes, bool writes)
    {
        for (const Use& u : found(at, bytes))
            if (const std::uint64_t ticket = writes ? u.used : u.written)
                queues_.wait(q, *u.queue, settled(u, ticket));
    }
    /// Notes that work in q reads the memory, or writes it after all others.
    void note(Queue& q, Address at, std::size_t bytes, bool writes, std::uint64_t ticket)
    {
        const std::lock_guard lock(mutex_);
        List& list = joined(at, bytes);
        if (writes) return void(list.assign(1, {&q, ticket, ticket}));
        for (Use& u : list)
            if (u.queue == &q) {
                if (u.written == not_put) u.written = ticket;
                return void(u.used = ticket);
            }
        list.push_back({&q, 0, ticket});
    }
    /// Notes that somebody else has written it in q, after the library may have used it.
    void add(Queue& q, Address at, std::size_t bytes)
    {
        const std::lock_guard lock(mutex_);
        const std::uint64_t ticket = q.ticket();
        join(joined(at, bytes), {{&q, ticket, ticket}});
    }
    /// The memory is given to q.
    void take(Queue& q, Address at, std::size_t bytes)
    {
        const std::lock_guard lock(mutex_);
        const auto [first, last] = range(at, bytes);
        ranges_.erase(first, last);
        ranges_[at] = {at + bytes, {{&q, not_put, not_put}}};
    }
    /// Who has used the memory.
    List of(Address at, std::size_t bytes)
    {
        List out = found(at, bytes);
        for (Use& u : out) u.used = settled(u, u.used);
        return out;
    }
    /// The same, for memory that is given back.
    List give(Address at, std::size_t bytes)
    {
        List out = of(at, bytes);
        const std::lock_guard lock(mutex_);
        const auto [first, last] = range(at, bytes);
        ranges_.erase(first, last);
        return out;
    }
    /// The uses of memory without notes: all that the device's own stream has been given by now.
    List unknown()
    {
        const std::uint64_t ticket = queues_.main().ticket();
        return {{&queues_.main(), ticket, ticket}};
    }

private:
    struct Range {
        Address end;
        List list;
    };
    using Ranges = std::map<Address, Range>;

    static std::uint64_t settled(const Use& u, std::uint64_t ticket)
    {
        return ticket == not_put ? u.queue->ticket() : ticket;
    }
    std::pair<Ranges::iterator, Ranges::iterator> range(Address at, std::size_t bytes)
    {
        auto first = ranges_.upper_bound(at);
        if (first != ranges_.begin() && std::prev(first)->second.end > at) --first;
        return {first, ranges_.lower_bound(at + bytes)};
    }
    static void join(List& list, const List& more)
    {
        for (const Use& m : more) {
            const auto same =
                std::find_if(list.begin(), list.end(), [&](const Use& u) { return u.queue == m.queue; });
            if (same == list.end()) {
                list.push_back(m);
            } else {
                same->written = std::max(same->written, m.written);
                same->used = std::max(same->used, m.used);
            }
        }
    }
    /// The uses of all memory in the range, parts without notes included.
    List found(Address at, std::size_t bytes)
    {
        const std::lock_guard lock(mutex_);
        const auto [first, last] = range(at, bytes);
        List out;
        Address known = at;
        for (auto r = first; r != last; ++r) {
            if (r->first <= known) known = std::max(known, r->second.end);
            join(out, r->second.list);
        }
        if (known < at + bytes) join(out, unknown());
        return out;
    }
    /// One list for all of it.
    List& joined(Address at, std::size_t bytes)
    {
        auto [first, last] = range(at, bytes);
        Range all{at + bytes, {}};
        Address begin = at, known = at;
        for (auto r = first; r != last; ++r) {
            if (r->first <= at && r->second.end >= all.end) return r->second.list;
            if (r->first <= known) known = std::max(known, r->second.end);
            begin = std::min(begin, r->first), all.end = std::max(all.end, r->second.end);
            join(all.list, r->second.list);
        }
        if (known < at + bytes) join(all.list, unknown());
        ranges_.erase(first, last);
        return (ranges_[begin] = std::move(all)).list;
    }

    Queues& queues_;
    std::mutex mutex_;
    Ranges ranges_;
};

}  // namespace wengert::detail::gpu
