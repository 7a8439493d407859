// Checks that kernels make and nobody waits for. Each has a word in the device's memory, where its kernel writes a 1 for a failure.
// The host reads these words where it has to wait for the device anyhow, and throws there.
#pragma once

#include <functional>

#include "queues.hpp"

namespace wengert::detail::gpu {

class DeferredChecks {
public:
    static constexpr std::size_t most = 256;

    explicit DeferredChecks(Queues& queues) : queues_(queues) {}

    /// The word where kernels of this thread's stream write a 1 for a failure. `refuse` throws then. Waits where too many checks are
    /// open.
    Address ask(std::function<void()> refuse)
    {
        Queue& q = queues_.now();
        std::unique_lock lock(mutex_);
        while (count_ == most) {
            lock.unlock();
            look();
            lock.lock();
        }
        if (!answers_) {
            Address made = 0;
            check(Driver::get().take(&made, most * sizeof(std::int32_t)), "cuMemAlloc");
            check(Driver::get().set_words(made, 0, most, q.stream()), "cuMemsetD32Async");
            check_wait(Driver::get().wait_for_stream(q.stream()), "cuStreamSynchronize");
            answers_ = made;
        }
        std::size_t k = 0;
        while (open_[k].refuse) ++k;
        open_[k] = {std::move(refuse), &q, 0, serial_++};
        ++count_;
        return place(k);
    }
    /// The kernel that answers has been launched; or it has not, and nobody will answer.
    void end(Address at, bool launched)
    {
        const std::lock_guard lock(mutex_);
        Open& one = open_[(at - answers_) / sizeof(std::int32_t)];
        if (launched) return void(one.ticket = one.queue->ticket());
        one = {};
        --count_;
    }
    /// Waits for this thread's stream, or for all. Throws what the first of them throws that has failed.
    void look(bool all = true)
    {
        Open first;
        {
            const std::lock_guard lock(mutex_);
            if (count_ == 0) return;
            if (all) queues_.wait_for_all();
            std::array<bool, most> answered{};  // before others change what this stream waits for
            for (std::size_t k = 0; k < most; ++k) answered[k] = is_answered(open_[k], all);
            std::int32_t answers[most] = {};
            Stream* const stream = queues_.now().stream();
            const Driver& d = Driver::get();
            check(d.to_host(answers, answers_, sizeof answers, stream), "cuMemcpyDtoHAsync");
            check_wait(d.wait_for_stream(stream), "cuStreamSynchronize");
            bool any = false;
            for (std::size_t k = 0; k < most; ++k) {
                if (!answered[k]) continue;
                if (answers[k]) {
                    check(d.set_words(place(k), 0, 1, stream), "cuMemsetD32Async");
                    if (!std::exchange(any, true) || open_[k].serial < first.serial) first = open_[k];
                }
                open_[k] = {};
                --count_;
            }
            if (any) check_wait(d.wait_for_stream(stream), "cuStreamSynchronize");
        }
        if (first.refuse) first.refuse();
    }

private:
    struct Open {
        std::function<void()> refuse;
        Queue* queue = nullptr;
        std::uint64_t ticket = 0, serial = 0;  ///< 0: its kernel is about to be launched
    };
    bool is_answered(const Open& one, bool all)
    {
        return one.ticket && (all || queues_.after(queues_.now(), *one.queue, one.ticket));
    }
    Address place(std::size_t k) const { return answers_ + k * sizeof(std::int32_t); }

    Queues& queues_;
    std::mutex mutex_;
    Address answers_ = 0;
    std::array<Open, most> open_;
    std::size_t count_ = 0;
    std::uint64_t serial_ = 0;
};

/// One check. It is dropped where its kernel is not launched.
class DeferredCheck {
public:
    DeferredCheck(DeferredChecks& all, std::function<void()> refuse)
        : all_(all), at_(all.ask(std::move(refuse)))
    {}
    DeferredCheck(const DeferredCheck&) = delete;
    DeferredCheck& operator=(const DeferredCheck&) = delete;
    ~DeferredCheck() { all_.end(at_, launched_); }
    Address at() const noexcept { return at_; }
    void launched() noexcept { launched_ = true; }

private:
    DeferredChecks& all_;
    Address at_;
    bool launched_ = false;
};

}  // namespace wengert::detail::gpu
