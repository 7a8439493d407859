// Comm: a communicator of the library's own over the group of the user's, so that messages never mix.
#pragma once

#include <mpi.h>

#include <memory>
#include <thread>

#include "../base/error.hpp"
#include "../base/site.hpp"

namespace wengert::mpi {

/// What MPI itself refuses, or what does not end (Watchdog).
struct CommunicationError : Error {
    using Error::Error;
};

namespace detail {

[[noreturn]] inline void fail_by_code(int code, std::string_view name, const Site& at)
{
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    wengert::fail<CommunicationError>(name, std::string(text, static_cast<std::size_t>(length)), at);
}
inline void check(int code, std::string_view name, const Site& at)
{
    if (code != MPI_SUCCESS) [[unlikely]]
        fail_by_code(code, name, at);
}

inline void check_running(const Site& at)
{
    int on = 0, off = 0;
    MPI_Initialized(&on);
    if (on) MPI_Finalized(&off);
    if (!on || off)
        wengert::fail<CommunicationError>(
            "Comm", on ? "MPI_Finalize has been called" : "call MPI_Init before making a Comm", at);
}

/// A duplicate that is freed with its last handle, frozen graphs included. Making and freeing it are collective.
struct Channel {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0, size = 1;
    int threads = MPI_THREAD_SINGLE;  ///< the level that MPI was initialised with
    /// An error has left messages that nobody receives: freed, its number would go to another communicator, and they with it.
    mutable bool broken = false;
    std::thread::id maker = std::this_thread::get_id();

    Channel(MPI_Comm borrowed, const Site& at)
    {
        check(MPI_Comm_dup(borrowed, &comm), "Comm", at);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        MPI_Query_thread(&threads);
    }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    ~Channel()
    {
        int off = 0;
        MPI_Finalized(&off);
        if (!off && !broken) MPI_Comm_free(&comm);
    }
    /// Threads: one at a time is MPI_THREAD_SERIALIZED; below that the thread that made the Comm makes all calls.
    void check_thread(std::string_view name, const Site& at) const
    {
        if (threads < MPI_THREAD_SERIALIZED && std::this_thread::get_id() != maker) [[unlikely]]
            wengert::fail<CommunicationError>(
                name,
                "called on another thread than the one that made the Comm: that needs MPI_Init_thread with "
                "MPI_THREAD_SERIALIZED",
                at);
    }
    void check_rank(int r, const char* what, std::string_view name, const Site& at) const
    {
        if (r < 0 || r >= size) [[unlikely]]
            wengert::fail<IndexError>(name,
                                      std::string(what) + " " + std::to_string(r) +
                                          " is no rank of a communicator of " + std::to_string(size),
                                      at);
    }
};
using ChannelRef = std::shared_ptr<const Channel>;

}  // namespace detail

/// A communicator over the group of the user's, which it duplicates. Made on all ranks of the group at once, after MPI_Init,
/// which it never calls. Copies are handles. Throws CommunicationError where MPI does not run.
class Comm {
public:
    explicit Comm(MPI_Comm borrowed, Site at = {__builtin_FILE(), __builtin_LINE()})
    {
        detail::check_running(at);
        channel_ = std::make_shared<const detail::Channel>(borrowed, at);
    }
    int rank() const noexcept { return channel_->rank; }
    int size() const noexcept { return channel_->size; }
    /// The duplicate, for calls of MPI itself.
    MPI_Comm get() const noexcept { return channel_->comm; }
    const detail::ChannelRef& channel() const noexcept { return channel_; }

private:
    detail::ChannelRef channel_;
};

}  // namespace wengert::mpi
