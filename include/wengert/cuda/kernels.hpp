// Text to kernels: NVRTC makes machine code of it for the very device, which is kept in memory and on disk
// (base/compiler/shared_object.hpp says where, and which files are trusted).
#pragma once

#include <map>
#include <unordered_map>

#include "../devices/cuda/gpu.hpp"
#include "../base/compiler/shared_object.hpp"
#include "../version.hpp"

namespace wengert::detail::gpu {

/// What kernels' text begins with: names of types, and of numbers that have no literal.
inline constexpr std::string_view kernel_prelude = R"wg(
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef long long wg_int;
#define INT64_MAX 9223372036854775807LL
#ifdef __CUDACC_RTC__
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_nanf(s) __int_as_float(0x7fc00000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000LL)
#define __builtin_nan(s) __longlong_as_double(0x7ff8000000000000LL)
#else
typedef long long ptrdiff_t;
#endif
#define wg_thread() ((wg_int)blockIdx.x * blockDim.x + threadIdx.x)
#define wg_threads() ((wg_int)gridDim.x * blockDim.x)
)wg";

class Kernels {
public:
    static constexpr unsigned block = 256;

    static Kernels& of(Gpu& gpu)
    {
        static auto* const all = new std::array<Kernels, Gpu::most>;
        return (*all)[static_cast<std::size_t>(gpu.ordinal())];
    }
    /// Can text be compiled?
    static bool available() { return static_cast<bool>(Compiler::get()); }

    /// Has the text that `key` stands for been compiled?
    bool knows(const std::string& key)
    {
        const std::lock_guard lock(mutex_);
        return modules_.find(key) != modules_.end();
    }
    /// The kernel of this name in a text, which is only written where it has not been compiled before. `key` stands for it.
    template <class Text> Function* find(Gpu& gpu, const std::string& key, const char* name, const Text& text)
    {
        const std::lock_guard lock(mutex_);
        const std::string full = key + '\n' + name;
        if (const auto found = functions_.find(full); found != functions_.end()) return found->second;
        auto loaded = modules_.find(key);
        if (loaded == modules_.end())
            loaded = modules_.emplace(key, load(gpu, std::string(kernel_prelude) + text())).first;
        Function* f = nullptr;
        check(Driver::get().find(&f, loaded->second, name), "cuModuleGetFunction");
        return functions_.emplace(full, f).first->second;
    }

private:
    static Module* load(const Gpu& gpu, const std::string& text)
    {
        const Compiler& compiler = Compiler::get();
        int major = 0, minor = 0;
        check_compiler(compiler.version(&major, &minor), "nvrtcVersion");
        const std::string architecture = "--gpu-architecture=sm_" + std::to_string(gpu.architecture());
        Hash128 h;
        h.add(text)
            .add(architecture)
            .add(compiler.name)
            .add(std::to_string(major) + "." + std::to_string(minor));
        h.add(version_text());
        const std::string folder = cache_folder(), file = folder + "/" + h.text() + ".cubin";
        std::string code;
        Module* module = nullptr;
        const Driver& d = Driver::get();
        if (!folder.empty() && cached(file, code) &&
            d.load(&module, code.data(), 0, nullptr, nullptr) == success)
            return module;
        code = compiled(text, architecture);
        check(d.load(&module, code.data(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
        if (!folder.empty()) keep(file, code);
        return module;
    }
    static std::string version_text()
    {
        return std::to_string(WENGERT_VERSION_MAJOR) + "." + std::to_string(WENGERT_VERSION_MINOR) + "." +
               std::to_string(WENGERT_VERSION_PATCH);
    }
    /// Whole, by the seal at its end.
    static bool cached(const std::string& file, std::string& code)
    {
        const std::size_t seal = object_seal.size() + 32;
        if (!read_private(file, code) || code.size() < seal) return false;
        const std::string end = code.substr(code.size() - seal);
        code.resize(code.size() - seal);
        return end == seal_of(code);
    }
    /// Written beside its place and renamed to it: nobody sees half of it. What cannot be kept is compiled again.
    static void keep(const std::string& file, const std::string& code)
    {
        const std::string mine = file + "." + std::to_string(::getpid());
        if (write_file(mine, code + seal_of(code), O_EXCL) && ::rename(mine.c_str(), file.c_str()) != 0)
            ::unlink(mine.c_str());
    }

    struct Compilation {
        Program* program = nullptr;
        ~Compilation()
        {
            if (program) static_cast<void>(Compiler::get().end(&program));
        }
    };
    /// With the host's arithmetic: no contraction, subnormal numbers, division and root rounded once.
    static std::string compiled(const std::string& text, const std::string& architecture)
    {
        const Compiler& c = Compiler::get();
        const char* const options[] = {architecture.c_str(),
                                       "--std=c++17",
                                       "--fmad=false",
                                       "--ftz=false",
                                       "--prec-div=true",
                                       "--prec-sqrt=true",
                                       "--device-as-default-execution-space"};
        Compilation it;
        check_compiler(c.make(&it.program, text.c_str(), "wengert.cu", 0, nullptr, nullptr),
                       "nvrtcCreateProgram");
        const Result r = c.compile(it.program, static_cast<int>(std::size(options)), options);
        if (r != success) {
            std::size_t size = 0;
            std::string log;
            if (c.log_size(it.program, &size) == success && size > 1) {
                log.resize(size);
                if (c.log(it.program, log.data()) != success) log.clear();
                log.resize(std::strlen(log.c_str()));  // it ends with a 0
            }
            refuse(std::string("CUDA: nvrtcCompileProgram failed: ") + c.error_text(r) + "\n" +
                   log.substr(0, 2000));
        }
        std::size_t size = 0;
        check_compiler(c.code_size(it.program, &size), "nvrtcGetCUBINSize");
        std::string code(size, '\0');
        check_compiler(c.code(it.program, code.data()), "nvrtcGetCUBIN");
        return code;
    }
    static void check_compiler(Result r, const char* function)
    {
        if (r != success)
            refuse(std::string("CUDA: ") + function + " failed: " + Compiler::get().error_text(r));
    }

    std::mutex mutex_;
    std::unordered_map<std::string, Module*> modules_;
    std::unordered_map<std::string, Function*> functions_;
};

/// Runs a kernel whose threads each take as many elements as it needs to be `count` in all. `parameters` are addresses of what it is
/// given, which is read at once.
inline void launch_with(const Gpu& gpu, Function* f, std::int64_t count, void** parameters)
{
    if (count == 0) return;
    const std::int64_t blocks = (count + Kernels::block - 1) / Kernels::block;
    const auto most = static_cast<std::int64_t>(gpu.multiprocessors()) * 32;
    check(Driver::get().launch(f, static_cast<unsigned>(std::min(blocks, most)), 1, 1, Kernels::block, 1, 1,
                               0, gpu.stream(), parameters, nullptr),
          "cuLaunchKernel");
    gpu.asked();
}
template <class... Parameter>
void launch(const Gpu& gpu, Function* f, std::int64_t count, Parameter... parameter)
{
    void* all[] = {&parameter...};
    launch_with(gpu, f, count, all);
}

}  // namespace wengert::detail::gpu
