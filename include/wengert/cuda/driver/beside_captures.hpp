// What the library asks of the driver while the program captures a stream. A capture of mode global or thread_local forbids the calls
// that may be unsafe beside it, in other streams, too, and one such call spoils it (CUDA Driver API, cuThreadExchangeStreamCaptureMode).
// The library's streams are none of the program's capture. So its own calls are made in the mode of a relaxed one.
#pragma once

#include "prototypes.hpp"

namespace wengert::detail::gpu {

/// CU_STREAM_CAPTURE_MODE_RELAXED
inline constexpr int whatever_else_is_called = 2;

/// A function of the driver's, called in that mode.
template <auto function> struct BesideCaptures;
template <class Functions, class... A, Result (*Functions::*function)(A...)> struct BesideCaptures<function> {
    static inline Result (*real)(A...) = nullptr;
    static inline Result (*exchange)(int* mode) = nullptr;

    static Result call(A... a)
    {
        int mode = whatever_else_is_called;
        const bool is_exchanged = exchange(&mode) == 0;
        const Result r = real(a...);
        if (is_exchanged) static_cast<void>(exchange(&mode));
        return r;
    }
    static void stand_before(Functions& all, Result (*exchange_mode)(int*))
    {
        if (!(all.*function) || !exchange_mode) return;
        real = all.*function, exchange = exchange_mode;
        all.*function = &call;
    }
};

/// These functions of a library are called so from now on.
template <auto... functions, class Functions>
void allow_beside_captures(Functions& all, Result (*exchange_mode)(int*))
{
    (BesideCaptures<functions>::stand_before(all, exchange_mode), ...);
}

}  // namespace wengert::detail::gpu
