// What helpers.hpp declares. With WENGERT_COMPILED it is compiled in wengert::compiled alone.
#pragma once

#include "../../../base/separate.hpp"
#include "../helpers.hpp"

namespace wengert::tiling {

WENGERT_INLINE Helpers& Helpers::get()
{
    static std::atomic<Helpers*> now{nullptr};
    Helpers* h = now.load(std::memory_order_acquire);
    if (h && h->process_ == ::getpid()) return *h;
    auto* fresh = new Helpers(h);
    if (!now.compare_exchange_strong(h, fresh, std::memory_order_acq_rel)) {
        delete fresh;  // another thread was quicker
        return *h;
    }
    struct Closing {
        ~Closing()
        {
            Helpers& last = *now.load(std::memory_order_acquire);
            if (last.process_ == ::getpid()) last.close();
        }
    };
    static const Closing at_exit;
    return *fresh;
}

WENGERT_INLINE void Helpers::run(std::size_t parts, std::size_t places, Part part, const void* self)
{
    Work work{part, self, parts, places};
    std::fegetenv(&work.rounding);
    post(work);
    work.carry_out(0);
    withdraw(work);
    if (work.error) std::rethrow_exception(work.error);
}

WENGERT_INLINE void Helpers::post(Work& work)
{
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    work.below = std::exchange(open_, &work);
    posted_.fetch_add(1, std::memory_order_release);
    std::size_t wanted = 0;
    for (const Work* w = open_; w; w = w->below) wanted += w->places - 1;
    grow(std::min(wanted, std::max<std::size_t>(std::thread::hardware_concurrency(), work.places) - 1));
    const std::size_t wake = std::min({asleep_, work.places - 1, work.parts - 1});
    for (std::size_t i = 0; i < wake; ++i) posted_or_closed_.notify_one();
}

WENGERT_INLINE void Helpers::withdraw(Work& work)
{
    for (int i = 0; i < looks && work.inside.load(std::memory_order_relaxed) > 0; ++i)
        std::this_thread::yield();
    std::unique_lock lock(mutex_);
    for (Work** w = &open_; *w; w = &(*w)->below)
        if (*w == &work) {
            *w = work.below;
            break;
        }
    left_.wait(lock, [&] { return work.inside.load(std::memory_order_relaxed) == 0; });
}

WENGERT_INLINE void Helpers::grow(std::size_t count) noexcept
{
    if (threads_.size() >= count) return;
    sigset_t ours,
        before;  // signals are for the threads of the program, other than those that a fault raises
    ::sigfillset(&ours);
    for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF}) ::sigdelset(&ours, s);
    ::pthread_sigmask(SIG_SETMASK, &ours, &before);
    try {
        while (threads_.size() < count) {
            threads_.reserve(count);
            threads_.emplace_back([this] { help(); });
        }
    } catch (const std::exception&) {}
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WENGERT_INLINE Helpers::Work* Helpers::wanting() const noexcept
{
    Work* w = open_;
    while (w && !w->wants()) w = w->below;
    return w;
}

WENGERT_INLINE void Helpers::help()
{
    std::unique_lock lock(mutex_);
    while (!closed_) {
        if (Work* w = wanting()) {
            take_part(*w, lock);
            continue;
        }
        const auto seen = posted_.load(std::memory_order_relaxed);
        lock.unlock();
        for (int i = 0; i < looks && posted_.load(std::memory_order_acquire) == seen; ++i)
            std::this_thread::yield();
        lock.lock();
        if (closed_ || posted_.load(std::memory_order_relaxed) != seen) continue;
        ++asleep_;
        posted_or_closed_.wait(lock);
        --asleep_;
    }
}

WENGERT_INLINE void Helpers::take_part(Work& work, std::unique_lock<std::mutex>& lock)
{
    const std::size_t place = work.given++;
    work.inside.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();
    std::fesetenv(&work.rounding);
    kernels::zero_cotangent = work.zero;
    work.carry_out(place);
    lock.lock();  // before the last word on it: its caller may end as soon as nobody is inside
    if (work.inside.fetch_sub(1, std::memory_order_relaxed) == 1) left_.notify_all();
}

WENGERT_INLINE void Helpers::close()
{
    std::unique_lock lock(mutex_);
    closed_ = true;
    posted_.fetch_add(1, std::memory_order_release);
    posted_or_closed_.notify_all();
    lock.unlock();
    for (std::thread& t : threads_) {
        if (t.get_id() == std::this_thread::get_id())
            t.detach();
        else
            t.join();
    }
    threads_.clear();
}

}  // namespace wengert::tiling
