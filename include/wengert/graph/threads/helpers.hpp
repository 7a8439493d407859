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

    /// The helpers of this process.
    static Helpers& get();
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;

    /// part(self, k, place) for k < parts, on the calling thread and on up to `places` − 1 helpers: no two at once with the
    /// same place. When one throws, those not yet begun are left out and the exception comes out here.
    void run(std::size_t parts, std::size_t places, Part part, const void* self);

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

    void post(Work& work);
    /// Nobody takes up parts of it any more.
    void withdraw(Work& work);

    /// Fewer threads serve as well where the system gives no more.
    void grow(std::size_t count) noexcept;

    Work* wanting() const noexcept;
    void help();
    void take_part(Work& work, std::unique_lock<std::mutex>& lock);
    /// Callers do all by themselves from here on.
    void close();

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

#ifndef WENGERT_COMPILED
#include "impl/helpers.ipp"
#endif
