// The libraries of CUDA, opened when they are first used: libcuda, without which there are no devices, and NVRTC and cuBLAS, without
// which other code does their work. WENGERT_CUDA_DRIVER names one library that has all three (tests/cuda/fake/).
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "../../array/device.hpp"
#include "beside_captures.hpp"
#include "prototypes.hpp"

namespace wengert::detail::gpu {

/// A library that stays open, and its functions. `reason` says why they cannot be used, in words for a DeviceError.
template <class Functions> struct Library : Functions {
    std::string name, reason;
    explicit operator bool() const noexcept { return reason.empty(); }

protected:
    /// Opens the first of these files that exists. `words` name the library for an error where none does.
    Library(const char* words, const std::vector<std::string>& files) : Functions{}
    {
        const char* const given = std::getenv("WENGERT_CUDA_DRIVER");
        if (given && *given)
            open(given);
        else
            for (const std::string& file : files) open(file.c_str());
        if (!handle_) {
            name = given && *given ? given : words;
            reason = "CUDA: " + name + " was not found";
            return;
        }
        const auto look_for = [this](auto*& f, const char* symbol) {
            f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(::dlsym(handle_, symbol));
        };
        each_function(static_cast<Functions&>(*this), [&](auto*& f, const char* symbol) {
            look_for(f, symbol);
            if (!f && reason.empty()) reason = "CUDA: " + name + " has no function " + symbol;
        });
        if constexpr (requires(Functions& f) { each_later_function(f, look_for); })
            each_later_function(static_cast<Functions&>(*this), look_for);
    }

private:
    void open(const char* file)
    {
        if (handle_) return;
        handle_ = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (handle_) name = file;
    }
    void* handle_ = nullptr;
};

/// libcuda.
class Driver : public Library<DriverFunctions> {
public:
    static const Driver& get()
    {
        static const auto* driver = new Driver;  // it may be asked for after main has ended
        return *driver;
    }
    static constexpr int oldest = 12000;
    int devices = 0;
    int made = 0;  ///< its version, 12040 for 12.4

    /// Can a part of what is captured run as often as a number on the device says?
    bool has_conditions() const noexcept
    {
        return made >= 12040 && make_condition && add_node && begin_capture_to && capture_info && set_last;
    }

    /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
    std::string text(Result r) const
    {
        const char *name_of_it = nullptr, *words = nullptr;
        if (error_name(r, &name_of_it) != success || !name_of_it) return "error " + std::to_string(r);
        if (error_text(r, &words) != success || !words) return name_of_it;
        return std::string(name_of_it) + " (" + words + ")";
    }
    static std::string version_text(int v)
    {
        return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
    }

private:
    Driver() : Library("libcuda.so.1", {"libcuda.so.1"})
    {
        if (reason.empty()) start();
    }
    void start()
    {
        if (const Result r = version(&made); r != success) return failed("cuDriverGetVersion", r);
        if (made < oldest) {
            reason = "CUDA: driver " + version_text(made) + " is older than " + version_text(oldest);
            return;
        }
        if (const Result r = init(0); r != success) return failed("cuInit", r);
        if (const Result r = device_count(&devices); r != success) return failed("cuDeviceGetCount", r);
        if (devices == 0) reason = "CUDA: the driver knows no device";
        // what an H100's driver refuses beside a capture, and what gives back what these make
        allow_beside_captures<&DriverFunctions::take, &DriverFunctions::give, &DriverFunctions::take_in_order,
                              &DriverFunctions::give_in_order, &DriverFunctions::take_pinned,
                              &DriverFunctions::wait_for_stream, &DriverFunctions::wait_for_event,
                              &DriverFunctions::instantiate, &DriverFunctions::end_executable>(
            *this, exchange_capture_mode);
    }
    void failed(const char* function, Result r)
    {
        devices = 0;
        reason = std::string("CUDA: ") + function + " failed: " + text(r);
    }
};

/// Files of a library of the toolkit in the order in which they are tried: in the toolkit's folder, if one is named, then where the
/// system looks. Versions newer than the driver come last, as the driver may refuse what they make.
inline std::vector<std::string> toolkit_files(const std::string& name, int driver, const std::string& home)
{
    const int major = driver / 1000;
    std::vector<std::string> versions{".13", ".12", ""}, all;
    if (major > 0 && major < 13) std::swap(versions[0], versions[1]);
    std::vector<std::string> folders{"", "/usr/local/cuda/lib64/"};
    if (!home.empty()) folders.insert(folders.begin(), home + "/lib64/");
    for (const std::string& folder : folders)
        for (const std::string& version : versions) all.push_back(folder + "lib" + name + ".so" + version);
    return all;
}
/// CUDA_HOME or CUDA_PATH; "" where neither is set.
inline std::string toolkit_home()
{
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* const home = std::getenv(name); home && *home) return home;
    return {};
}

/// NVRTC.
class Compiler : public Library<CompilerFunctions> {
public:
    static const Compiler& get()
    {
        static const auto* compiler = new Compiler;
        return *compiler;
    }

private:
    Compiler() : Library("libnvrtc", toolkit_files("nvrtc", Driver::get().made, toolkit_home())) {}
};

/// cuBLAS.
class Products : public Library<BlasFunctions> {
public:
    static const Products& get()
    {
        static const auto* products = new Products;
        return *products;
    }

private:
    Products() : Library("libcublas", toolkit_files("cublas", Driver::get().made, toolkit_home()))
    {
        allow_beside_captures<&BlasFunctions::make>(*this, Driver::get().exchange_capture_mode);
    }
};

/// Throws DeviceError with what is being done at the moment: "[tanh] CUDA: cuLaunchKernel failed: … (file:line)".
[[noreturn]] inline void refuse(const std::string& reason)
{
    const Operation& now = Operation::now();
    fail<DeviceError>(now.name.empty() ? std::string_view("device") : now.name, reason, now.at);
}

/// The last work that this thread has put on a device. It may not have run yet.
inline constinit thread_local Operation last_asked __attribute__((visibility("default")));

/// Is the device of no more use to this process after the error?
constexpr bool is_fatal(Result r) noexcept
{
    return r == 700 || r == 702 || r == 710 || (r >= 714 && r <= 719) || r == 721;
}
/// The text of an error that may come from earlier work.
inline std::string of_work_before()
{
    const Operation& last = last_asked;
    std::string words = "; it may be of any work that was asked for before";
    if (!last.name.empty())
        words += ", the last of this thread was [" + std::string(last.name) + "]" +
                 (last.at.line ? " at " + to_string(last.at) : "");
    return words + " (cuda::wait_for_each(true) shows of which)";
}
inline constexpr std::string_view of_no_more_use =
    "; the device is of no use to this process any more, the host is";

/// Does the host wait for each operation, so that an error is reported where it happened?
inline std::atomic<bool>& waits_for_each() noexcept
{
    static std::atomic<bool> each{false};
    return each;
}

/// Throws DeviceError where a function of the driver has failed. `before`: can the error come from earlier work?
inline void check(Result r, const char* function, bool before = false)
{
    if (r == success) [[likely]]
        return;
    refuse(std::string("CUDA: ") + function + " failed: " + Driver::get().text(r) +
           ((before || is_fatal(r)) && !waits_for_each() ? of_work_before() : "") +
           (is_fatal(r) ? std::string(of_no_more_use) : ""));
}
/// The same of functions that wait.
inline void check_wait(Result r, const char* function) { check(r, function, true); }

}  // namespace wengert::detail::gpu
