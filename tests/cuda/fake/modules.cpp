// Modules of the fake driver, which are shared objects, and launches of their kernels: see fake.hpp.
#include "fake.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

namespace fake {

struct Module {
    void* library;
};

namespace {

/// Of PTX, whose architecture is negative here, and of machine code.
/// Of PTX, whose architecture is negative here, and of machine code.
bool runs_on_these(int made_for)
{
    const int device = number_of("ARCHITECTURE", 90);
    return made_for < 0 ? -made_for <= device : made_for <= device && made_for / 10 == device / 10;
}

}  // namespace
}  // namespace fake

using fake::Result;

namespace {
std::map<const fake::Kernel*, unsigned>& shared_limits()
{
    static auto* const all = new std::map<const fake::Kernel*, unsigned>;
    return *all;
}
}  // namespace

FAKE_EXPORT Result cuModuleLoadDataEx(fake::Module** module, const void* image, unsigned, int*, void**)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (reinterpret_cast<std::uintptr_t>(image) % 8 != 0) return fake::no_binary;  // code lies aligned
    std::size_t bytes = 0;
    char kind[8] = {};
    int made_for = 0;
    const auto* const text = static_cast<const char*>(image);
    if (std::sscanf(text, "fake %7s %d %zu", kind, &made_for, &bytes) != 3) return fake::no_binary;
    if (!fake::runs_on_these(made_for)) return fake::no_binary;
    std::string object(text + 48, bytes), log;
    if (kind[0] == 't') object = fake::shared_object(object, log);
    char file[] = "/tmp/fake-cuda-XXXXXX";  // a name of its own: dlopen knows libraries by it
    const int to = ::mkstemp(file);
    if (to < 0 || ::write(to, object.data(), object.size()) != static_cast<ssize_t>(object.size()))
        return fake::no_binary;
    ::close(to);
    void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    ::unlink(file);
    if (!library) {
        std::fprintf(stderr, "fake CUDA: %s\n%s\n", ::dlerror(), log.c_str());
        return fake::no_binary;
    }
    *static_cast<fake::Now**>(::dlsym(library, "fake_now")) = fake::now();
    *module = new fake::Module{library};
    return fake::success;
}
FAKE_EXPORT Result cuModuleGetFunction(const fake::Kernel** kernel, fake::Module* module, const char* name)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *kernel = static_cast<const fake::Kernel*>(
        ::dlsym(module->library, (std::string("fake_kernel_") + name).c_str()));
    return *kernel ? fake::success : fake::not_found;
}
// Shared memory beyond 48 KiB is given to kernels that have been allowed to; no device has more than 227.
FAKE_EXPORT Result cuFuncSetAttribute(const fake::Kernel* kernel, int what, int value)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (what != 8 || value < 0 || value > 227 << 10) return fake::invalid_value;
    shared_limits()[kernel] = static_cast<unsigned>(value);
    return fake::success;
}
FAKE_EXPORT Result cuLaunchKernel(const fake::Kernel* kernel, unsigned bx, unsigned by, unsigned bz,
                                  unsigned tx, unsigned ty, unsigned tz, unsigned shared,
                                  fake::Stream* stream, void** parameters, void**)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (std::size_t{tx} * ty * tz == 0 || std::size_t{tx} * ty * tz > 1024 || bx == 0 || by == 0 || bz == 0 ||
        by > 65535 || bz > 65535)
        return fake::invalid_value;
    const auto limit = shared_limits().find(kernel);
    if (shared > (limit == shared_limits().end() ? 48U << 10 : limit->second)) return fake::invalid_value;
    const int device = fake::device_of(stream);
    if (device != fake::current_device()) return fake::invalid_handle;
    std::size_t bytes = 0;
    for (int i = 0; i < kernel->count; ++i) bytes += (kernel->sizes[i] + 15) / 16 * 16;
    if (bytes > 4096) return fake::invalid_value;
    // parameters are read when the kernel is launched
    auto copy = std::make_shared<std::vector<std::max_align_t>>(bytes / sizeof(std::max_align_t) + 1);
    auto* at = reinterpret_cast<char*>(copy->data());
    std::vector<void*> each;
    for (int i = 0; i < kernel->count; ++i) {
        std::memcpy(at, parameters[i], kernel->sizes[i]);
        each.push_back(at);
        at += (kernel->sizes[i] + 15) / 16 * 16;
    }
    fake::put(stream, [=]() mutable {
        if (fake::ordered("a kernel")) return fake::fail_for_good("a kernel fails by order");
        const fake::OnlyMemoryOf its_own(device);
        fake::run_kernel(*kernel, each.data(), {bx, by, bz}, {tx, ty, tz});
        static_cast<void>(copy);
    });
    return fake::success;
}
