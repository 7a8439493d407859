// The functions of the fake driver (fake/fake.hpp) for tests that ask it to fail; null where the tests run on a GPU.
#pragma once

#include <cstdlib>

#include <dlfcn.h>

namespace fake {

template <class F> F* control(const char* name)
{
    const char* const file = std::getenv("WENGERT_CUDA_DRIVER");
    void* const library = file ? ::dlopen(file, RTLD_NOW | RTLD_LOCAL) : nullptr;
    return library ? reinterpret_cast<F*>(::dlsym(library, name)) : nullptr;
}
inline void (*const fail)(const char*, int, int,
                          int) = control<void(const char*, int, int, int)>("fake_cuda_fail");
inline long (*const calls)(const char*) = control<long(const char*)>("fake_cuda_calls");
inline long (*const bytes)(const char*) = control<long(const char*)>("fake_cuda_bytes_moved");
inline void (*const order)(const char*) = control<void(const char*)>("fake_cuda_order");
inline void (*const break_down)() = control<void()>("fake_cuda_break");
inline void (*const heal)() = control<void()>("fake_cuda_heal");

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
