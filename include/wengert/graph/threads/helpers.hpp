// Helpers: the threads that help frozen graphs where the program is built without oneTBB. One set serves the whole process.
//
// They are started when they are first wanted, never for small graphs, and joined when the program ends. A child after fork()
// has none of its parent's threads, so it has a set of its own. A call never waits for a helper to become free: its caller
// takes up parts itself until none are left, so calls may be made from any thread and from within one another.
#pragma once

#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

#include "../../kernels/cpu/elementwise.hpp"

namespace wengert::tiling {

class Helpers {
public:
    using Part = void (*)(const void* self, std::size_t k, std::size_t place);

    /// Those of this process.
    static Helpers& get()
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
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;

    /// part(self, k, place) for k < parts, on the calling thread and on up to `places` − 1 helpers: no two at once with the
    /// same place. When one throws, those not yet begun are left out and the exception comes out here.
    void run(std::size_t parts, std::size_t places, Part part, const void* self)
    {
        Work work{part, self, parts, places};
        std::fegetenv(&work.rounding);
        post(work);
        work.carry_out(0);
        withdraw(work);
        if (work.error) std::rethrow_exception(work.error);
    }

private:
    struct Work {
        Part part;
        const void* self;
        std::size_t parts, places;
        std::size_t given = 1;  ///< places, guarded by mutex_
        Work* below = nullptr;
        double zero = kernels::zero_cotangent;
        std::fenv_t rounding = {};
        std::atomic<std::size_t> next{0}, inside{0};  ///< the next part; helpers at work
        std::atomic<bool> failed{false};
        std::exception_ptr error = nullptr;  ///< the first one: whoever has set `failed` writes it

        bool wants() const noexcept { return given < places && next.load(std::memory_order_relaxed) < parts; }
        void carry_out(std::size_t place) noexcept
        {
            for (std::size_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < parts;) try {
                    part(self, k, place);
                } catch (...) {
                    if (!failed.exchange(true)) error = std::current_exception();
                    next.store(parts, std::memory_order_relaxed);
                }
        }
    };

    explicit Helpers(Helpers* parents) noexcept : process_(::getpid()), parents_(parents) {}
    ~Helpers() = default;

    /// A thread looks for work this often before it sleeps: some microseconds, about what waking it takes.
    static constexpr int looks = 100;

    void post(Work& work)
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
    /// Nobody takes up parts of it any more.
    void withdraw(Work& work)
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

    /// Fewer threads serve as well where the system gives no more.
    void grow(std::size_t count) noexcept
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

    Work* wanting() const noexcept
    {
        Work* w = open_;
        while (w && !w->wants()) w = w->below;
        return w;
    }
    void help()
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
    void take_part(Work& work, std::unique_lock<std::mutex>& lock)
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
    /// Callers do all by themselves from here on.
    void close()
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

    const pid_t process_;
    [[maybe_unused]] Helpers* const
        parents_;  ///< its threads are not here: never touched, kept so that it is no leak
    std::mutex mutex_;
    std::condition_variable posted_or_closed_, left_;
    std::vector<std::thread> threads_;
    Work* open_ = nullptr;  ///< the last one first
    std::atomic<std::size_t> posted_{0};
    std::size_t asleep_ = 0;
    bool closed_ = false;
};

}  // namespace wengert::tiling
