// Text to kernels, kept in memory. Three sources of code, in this order: files on disk (base/compiler/shared_object.hpp says where,
// and which are trusted), what was compiled ahead (ahead.hpp), and NVRTC, which makes machine code for the very device, to be kept on
// disk. What the driver refuses of one, the next one makes.
#pragma once

#include <map>
#include <optional>

#include "../driver/gpu.hpp"
#include "../../base/compiler/shared_object.hpp"
#include "../../version.hpp"
#include "ahead.hpp"

namespace wengert {

/// Texts of kernels that have been loaded on a device.
struct KernelSources {
    std::int64_t cached = 0, ahead = 0, compiled = 0;  ///< from disk, compiled ahead, compiled now
};

}  // namespace wengert

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
// a processor of x86 gives the least number for all that is none of the type
inline int32_t wg_cast_i32(float x) { return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)x : -2147483647 - 1; }
inline int32_t wg_cast_i32(double x) { return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : -2147483647 - 1; }
inline int64_t wg_cast_i64(float x) { return x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? (int64_t)x : -INT64_MAX - 1; }
inline int64_t wg_cast_i64(double x) { return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : -INT64_MAX - 1; }
)wg";

/// NVRTC with the host's arithmetic: no contraction, subnormal numbers, division and root rounded once.
class Compilation {
public:
    Compilation(const std::string& text, const std::string& architecture)
    {
        const Compiler& c = Compiler::get();
        const std::string where = "--gpu-architecture=" + architecture;
        const char* const options[] = {where.c_str(),
                                       "--std=c++17",
                                       "--fmad=false",
                                       "--ftz=false",
                                       "--prec-div=true",
                                       "--prec-sqrt=true",
                                       "--device-as-default-execution-space"};
        check(c.make(&program_, text.c_str(), "wengert.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
        const Result r = c.compile(program_, static_cast<int>(std::size(options)), options);
        if (r != success)
            refuse(std::string("CUDA: nvrtcCompileProgram failed: ") + c.error_text(r) + "\n" +
                   log().substr(0, 2000));
    }
    Compilation(const Compilation&) = delete;
    Compilation& operator=(const Compilation&) = delete;
    ~Compilation() { static_cast<void>(Compiler::get().end(&program_)); }

    /// Machine code, of a real architecture: "sm_90".
    std::string code() const
    {
        return taken(Compiler::get().code_size, Compiler::get().code, "nvrtcGetCUBIN");
    }
    /// Of a virtual one: "compute_90".
    std::string ptx() const { return taken(Compiler::get().ptx_size, Compiler::get().ptx, "nvrtcGetPTX"); }

    static void check(Result r, const char* function)
    {
        if (r != success)
            refuse(std::string("CUDA: ") + function + " failed: " + Compiler::get().error_text(r));
    }

private:
    std::string taken(Result (*size_of_it)(Program*, std::size_t*), Result (*take)(Program*, char*),
                      const char* function) const
    {
        std::size_t size = 0;
        check(size_of_it(program_, &size), function);
        std::string all(size, '\0');
        check(take(program_, all.data()), function);
        return all;
    }
    std::string log() const
    {
        std::size_t size = 0;
        const Compiler& c = Compiler::get();
        if (c.log_size(program_, &size) != success || size < 2) return {};
        std::string all(size, '\0');
        return c.log(program_, all.data()) == success ? all.c_str() : std::string();  // it ends with a 0
    }

    Program* program_ = nullptr;
};

/// Where the machine code of a text is kept on disk.
class KernelFile {
public:
    KernelFile(const std::string& text, int architecture)
    {
        const Compiler& compiler = Compiler::get();
        int major = 0, minor = 0;
        Compilation::check(compiler.version(&major, &minor), "nvrtcVersion");
        const std::string folder = cache_folder();
        if (folder.empty()) return;
        Hash128 h;
        for (const int version : {architecture, major, minor, WENGERT_VERSION_MAJOR, WENGERT_VERSION_MINOR,
                                  WENGERT_VERSION_PATCH})
            h.add(std::to_string(version));
        h.add(text).add(compiler.name);
        path_ = folder + "/" + h.text() + ".cubin";
    }
    /// Null where there is none that is whole, by the seal at its end, and that the driver takes.
    Module* load() const
    {
        std::string code;
        const std::size_t seal = object_seal.size() + 32;
        if (path_.empty() || !read_private(path_, code) || code.size() < seal) return nullptr;
        const std::string end = code.substr(code.size() - seal);
        code.resize(code.size() - seal);
        Module* loaded = nullptr;
        if (end != seal_of(code) || Driver::get().load(&loaded, code.data(), 0, nullptr, nullptr) != success)
            return nullptr;
        return loaded;
    }
    /// Written beside its place and renamed to it: nobody sees half of it. What cannot be kept is compiled again.
    void keep(const std::string& code) const
    {
        if (path_.empty()) return;
        const std::string mine = path_ + "." + std::to_string(::getpid());
        if (write_file(mine, code + seal_of(code), O_EXCL) && ::rename(mine.c_str(), path_.c_str()) != 0)
            ::unlink(mine.c_str());
    }

private:
    std::string path_;
};

class Kernels {
public:
    static constexpr unsigned block = 256;

    static Kernels& of(Gpu& gpu)
    {
        static auto* const all = new std::array<Kernels, Gpu::most>;
        return (*all)[static_cast<std::size_t>(gpu.ordinal())];
    }
    /// Can any text be compiled?
    static bool available() { return static_cast<bool>(Compiler::get()); }
    /// May there be kernels at all?
    static bool any() { return available() || !Ahead::get().empty(); }

    /// Counts how the code of its kernels was found: in the cache, compiled ahead, or compiled now.
    KernelSources sources()
    {
        const std::lock_guard lock(mutex_);
        return sources_;
    }
    /// Is there code for the text that `key` stands for? The text is only written for a key that is new. An empty text means that
    /// it cannot be written.
    template <class Text> bool has(Gpu& gpu, const std::string& key, const Text& text)
    {
        const std::lock_guard lock(mutex_);
        return module_of(gpu, key, text);
    }
    /// The kernel of this name in a text. Null where there is no code of it.
    template <class Text> Function* find(Gpu& gpu, const std::string& key, const char* name, const Text& text)
    {
        const std::lock_guard lock(mutex_);
        const std::string full = key + '\n' + name;
        if (const auto found = functions_.find(full); found != functions_.end()) return found->second;
        Module* const loaded = module_of(gpu, key, text);
        Function* f = nullptr;
        if (loaded) check(Driver::get().find(&f, loaded, name), "cuModuleGetFunction");
        return functions_.emplace(full, f).first->second;
    }

private:
    template <class Text> Module* module_of(const Gpu& gpu, const std::string& key, const Text& text)
    {
        if (const auto at = modules_.find(key); at != modules_.end()) return at->second;
        const std::string written = any() ? text() : std::string();
        Module* const loaded = written.empty() ? nullptr : load(gpu, std::string(kernel_prelude) + written);
        return modules_.emplace(key, loaded).first->second;
    }
    /// Null where there is no source of it.
    Module* load(const Gpu& gpu, const std::string& text)
    {
        const std::optional<KernelFile> file =
            available() ? std::optional<KernelFile>(std::in_place, text, gpu.architecture()) : std::nullopt;
        Module* loaded = file ? file->load() : nullptr;
        if (loaded) return ++sources_.cached, loaded;
        const Result refused = load_ahead(gpu, text, loaded);
        if (loaded) return ++sources_.ahead, loaded;
        if (!file) return check(refused, "cuModuleLoadDataEx"), nullptr;
        const std::string code = Compilation(text, "sm_" + std::to_string(gpu.architecture())).code();
        check(Driver::get().load(&loaded, code.data(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
        file->keep(code);
        return ++sources_.compiled, loaded;
    }
    /// Loads code that was compiled ahead. Returns the error of the driver for the last code that it refused.
    static Result load_ahead(const Gpu& gpu, const std::string& text, Module*& loaded)
    {
        if (Ahead::get().empty()) return success;
        Result said = success;
        for (const AheadImage& image : Ahead::get().of(Hash128().add(text).text(), gpu.architecture())) {
            const std::string code(image.code);  // aligned, as a file of the driver's is
            said = Driver::get().load(&loaded, code.data(), 0, nullptr, nullptr);
            if (said == success) break;
            loaded = nullptr;
        }
        return said;
    }

    std::mutex mutex_;
    KernelSources sources_;
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
