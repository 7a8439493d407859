// What tests ask of the driver: counts of calls, failures, and functions that a program of CUDA's calls by itself. On a GPU counters
// stand before the driver's functions (counted_driver.hpp). What only the fake driver can do (fake/fake.hpp), orders of streams and a
// device that is broken, is null there.
#pragma once

#include <cstdlib>
#include <string>

#include <dlfcn.h>

#include "cuda/counted_driver.hpp"

namespace fake {

/// A function of the driver's; of those of the fake one where that is what tests run on.
template <class F> F* control(const char* name)
{
    const char* const file = std::getenv("WENGERT_CUDA_DRIVER");
    void* const library = ::dlopen(file ? file : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? reinterpret_cast<F*>(::dlsym(library, name)) : nullptr;
}
/// The fake driver's, or a counter of the tests' own.
template <class F> F* counter(const char* name, F* otherwise)
{
    const char* const wanted = std::getenv("WENGERT_COUNTED");
    F* const of_fake = control<F>(name);
    return of_fake && !wanted ? of_fake : counted::installed() ? otherwise : nullptr;
}
inline void (*const fail)(const char*, int, int, int) = counter("fake_cuda_fail", &counted::fail);
inline long (*const calls)(const char*) = counter("fake_cuda_calls", &counted::calls);
inline long (*const bytes)(const char*) = counter("fake_cuda_bytes_moved", &counted::bytes);
inline void (*const order)(const char*) = control<void(const char*)>("fake_cuda_order");
inline void (*const break_down)() = control<void()>("fake_cuda_break");
inline void (*const heal)() = control<void()>("fake_cuda_heal");

/// Streams run in another order from now on; 0: in turn. On a GPU they run as they do.
inline void shuffle(int seed)
{
    if (order) order(("random:" + std::to_string(seed)).c_str());
}

/// The call number `after` fails, for so many times, as long as this lives.
class Failing {
public:
    Failing(const char* function, int after, int times, int result) : function_(function)
    {
        fail(function, after, times, result);
    }
    Failing(const Failing&) = delete;
    Failing& operator=(const Failing&) = delete;
    ~Failing() { fail(function_, 0, 0, 0); }

private:
    const char* function_;
};

}  // namespace fake
