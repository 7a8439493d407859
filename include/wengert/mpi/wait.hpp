// Waiting for MPI, with an end to it: Watchdog.
#pragma once

#include <algorithm>
#include <chrono>
#include <initializer_list>

#include "../array/block.hpp"
#include "comm.hpp"

namespace wengert::mpi {

/// While it lives, a communication of this thread that does not end within these seconds throws a CommunicationError with
/// rank, operation and line. In plain MPI an exception on one rank leaves the others waiting for ever; so all of them end.
/// After that the communicators in use are good for nothing but to end the program.
class Watchdog {
public:
    explicit Watchdog(double seconds) : before_(std::exchange(limit(), seconds)) {}
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
    ~Watchdog() { limit() = before_; }
    /// Seconds, 0 for none.
    static double& limit()
    {
        static thread_local double seconds = 0;
        return seconds;
    }

private:
    double before_;
};

namespace detail {

/// What is being done, for errors.
struct Call {
    const Channel& channel;
    std::string_view name;
    Site at;
    void check(int code) const { detail::check(code, name, at); }
    template <class E> [[noreturn]] void fail(const std::string& what) const
    {
        wengert::fail<E>(name, what, at);
    }
};

[[noreturn]] inline void give_up(const Call& call)
{
    call.channel.broken = true;
    call.fail<CommunicationError>("rank " + std::to_string(call.channel.rank) + " of " +
                                  std::to_string(call.channel.size) + " has waited for " +
                                  std::to_string(Watchdog::limit()) +
                                  " s: another rank has failed, or does something else");
}

/// Polls until done() says so. `on_late` is run before the error.
template <class Done, class Late> void poll(const Call& call, const Done& done, const Late& on_late)
{
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    while (!done()) {
        std::this_thread::yield();
        if (std::chrono::duration<double>(Clock::now() - start).count() > Watchdog::limit()) {
            on_late();
            give_up(call);
        }
    }
}

/// Memory that MPI may still write to, or read, after a wait that was given up: it is never freed.
inline void keep_for_ever(const Ref<Block>& b) noexcept
{
    if (b) retain(b.get());
}

/// The blocks that a request reads and writes.
using Kept = std::initializer_list<Ref<Block>>;

inline void complete(const Call& call, MPI_Request& request, const Kept& kept)
{
    if (Watchdog::limit() <= 0) return call.check(MPI_Wait(&request, MPI_STATUS_IGNORE));
    const auto done = [&] {
        int flag = 0;
        call.check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        return flag != 0;
    };
    poll(call, done, [&] { std::for_each(kept.begin(), kept.end(), keep_for_ever); });
}

/// A collective on these arguments: `now` where nobody watches, else `start` and a wait.
template <class Now, class Start, class... A>
void collective(const Call& call, const Kept& kept, const Now& now, const Start& start, A... a)
{
    if (Watchdog::limit() <= 0) return call.check(now(a...));
    MPI_Request request = MPI_REQUEST_NULL;
    call.check(start(a..., &request));
    complete(call, request, kept);
}

/// The count that MPI takes.
inline int count_of(const Call& call, std::size_t n)
{
    if (n > 0x7fffffff)
        call.fail<ShapeError>(std::to_string(n) +
                              " elements are more than one message of MPI holds, 2^31 - 1");
    return static_cast<int>(n);
}

}  // namespace detail
}  // namespace wengert::mpi
