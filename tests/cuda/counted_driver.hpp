// A counter before each function of libcuda that the library calls: how often, and with how many bytes; and calls that a test wants to
// fail. On a GPU this stands where the fake driver counts by itself (fake_control.hpp); WENGERT_COUNTED asks for it there, too.
#pragma once

#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wengert/cuda/driver/driver.hpp>

namespace counted {

namespace gpu = wengert::detail::gpu;

/// Of one function, or of all.
struct Entry {
    long calls = 0, bytes = 0;
    int after = 0, times = 0;  ///< the call number `after` fails, for so many times
    gpu::Result result = gpu::success;

    /// Another call.
    gpu::Result next()
    {
        ++calls;
        if (after == 0 || --after > 0) return gpu::success;
        after = times > 1 ? 1 : 0;
        --times;
        return result;
    }
};
struct Entries {
    std::mutex mutex;
    std::map<std::string, Entry> all;
    static Entries& get()
    {
        static auto* const entries = new Entries;
        return *entries;
    }
};

/// Counters of functions that have one type.
template <class F> struct Slots;
template <class... A> struct Slots<gpu::Result(A...)> {
    using F = gpu::Result (*)(A...);
    static constexpr int most = 24;
    static inline std::array<F, most> counted = {};
    static inline std::array<const char*, most> names = {};
    static inline int used = 0;

    template <int k> static gpu::Result call(A... a)
    {
        {
            Entries& entries = Entries::get();
            const std::lock_guard lock(entries.mutex);
            Entry& one = entries.all[names[k]];
            (static_cast<void>(one.bytes += std::is_same_v<A, std::size_t> ? size_in(a) : 0), ...);
            const gpu::Result mine = one.next(), of_all = entries.all["*"].next();
            if (mine || of_all) {
                if (names[k] ==
                    std::string_view("cuStreamEndCapture"))  // one that fails ends the capture as well
                    static_cast<void>(counted[static_cast<std::size_t>(k)](a...));
                return of_all ? of_all : mine;
            }
        }
        return counted[static_cast<std::size_t>(k)](a...);
    }
    /// What stands in the place of a function.
    static F before(F f, const char* name)
    {
        static constexpr auto calls = []<int... k>(std::integer_sequence<int, k...>) {
            return std::array<F, most>{&call<k>...};
        }(std::make_integer_sequence<int, most>());
        const auto k = static_cast<std::size_t>(used++);
        counted.at(k) = f, names.at(k) = name;
        return calls.at(k);
    }

private:
    template <class X> static long size_in(const X& x)
    {
        if constexpr (std::is_integral_v<X>)
            return static_cast<long>(x);
        else
            return 0;
    }
};

/// Puts counters before all functions, once. False where there is no driver.
inline bool installed()
{
    static const bool done = [] {
        const gpu::Driver& driver = gpu::Driver::get();
        if (!driver) return false;
        auto& functions = static_cast<gpu::DriverFunctions&>(const_cast<gpu::Driver&>(driver));
        const auto replace = [](auto*& f, const char* name) {
            using F = std::remove_reference_t<decltype(*f)>;
            if (f) f = Slots<F>::before(f, name);
        };
        each_function(functions, replace);
        each_later_function(functions, replace);
        return true;
    }();
    return done;
}

inline void fail(const char* function, int after, int times, int result)
{
    Entries& entries = Entries::get();
    const std::lock_guard lock(entries.mutex);
    Entry& one = entries.all[function];
    one.after = times > 0 ? after : 0, one.times = times, one.result = result;
}
inline long calls(const char* function)
{
    Entries& entries = Entries::get();
    const std::lock_guard lock(entries.mutex);
    return entries.all[function].calls;
}
inline long bytes(const char* function)
{
    Entries& entries = Entries::get();
    const std::lock_guard lock(entries.mutex);
    return entries.all[function].bytes;
}

}  // namespace counted
