// Calls of the driver's beside a capture of the program's. A capture of mode global or thread_local forbids calls that may be unsafe,
// also in other streams. Such a call fails, and the capture is spoilt (CUDA Driver API, cuThreadExchangeStreamCaptureMode). The
// library's streams take no part in the program's capture, so its own calls are made in mode relaxed.
#pragma once

#include "prototypes.hpp"

namespace wengert::detail::gpu {

/// CU_STREAM_CAPTURE_MODE_RELAXED
inline constexpr int whatever_else_is_called = 2;

/// The thread's calls are made in mode relaxed while it lives. `exchange` is null where the driver knows no modes.
class RelaxedCalls {
public:
    explicit RelaxedCalls(Result (*exchange)(int* mode))
        : exchange_(exchange && exchange(&mode_) == 0 ? exchange : nullptr)
    {}
    RelaxedCalls(const RelaxedCalls&) = delete;
    RelaxedCalls& operator=(const RelaxedCalls&) = delete;
    ~RelaxedCalls()
    {
        if (exchange_) static_cast<void>(exchange_(&mode_));
    }

private:
    int mode_ = whatever_else_is_called;
    Result (*exchange_)(int*);
};

/// A function of a library, called in mode relaxed.
template <auto function> struct BesideCaptures;
template <class Functions, class... A, Result (*Functions::*function)(A...)> struct BesideCaptures<function> {
    static inline Result (*real)(A...) = nullptr;
    static inline Result (*exchange)(int* mode) = nullptr;

    static Result call(A... a)
    {
        const RelaxedCalls relaxed(exchange);
        return real(a...);
    }
    static void stand_before(Functions& all, Result (*exchange_mode)(int*))
    {
        if (!(all.*function) || !exchange_mode) return;
        real = all.*function, exchange = exchange_mode;
        all.*function = &call;
    }
};

/// From now on these functions are called in mode relaxed.
template <auto... functions, class Functions>
void allow_beside_captures(Functions& all, Result (*exchange_mode)(int*))
{
    (BesideCaptures<functions>::stand_before(all, exchange_mode), ...);
}

}  // namespace wengert::detail::gpu
