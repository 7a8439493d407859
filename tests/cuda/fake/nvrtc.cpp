// NVRTC of the fake devices: text goes to the host's compiler behind prelude.hpp, and to a real NVRTC where one is named.
#include "fake.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <vector>

#include <dlfcn.h>

namespace {

struct Program {
    std::string source, log, code;
    int architecture = 0;
};

/// The text in a file of its own, in the folder that is named.
void keep(const Program& p)
{
    const std::string folder = fake::setting("KEEP");
    if (!folder.empty())
        std::ofstream(folder + "/" + std::to_string(std::hash<std::string>()(p.source)) + ".cu") << p.source;
}

/// A shared object, or with WENGERT_FAKE_CUDA_LATER the text, of which the driver makes one.
bool compile_here(Program& p)
{
    if (fake::setting("LATER").empty()) {
        const std::string object = fake::shared_object(p.source, p.log);
        p.code = fake::image("object", p.architecture, object);
        return !object.empty();
    }
    p.code = fake::image("text", p.architecture, p.source);
    return true;
}

/// For sm_80 and sm_90, with the options that were given but for the architecture.
bool compile_by_nvrtc(Program& p, int count, const char* const* options)
{
    const std::string file = fake::setting("NVRTC");
    if (file.empty()) return true;
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        p.log += "cannot open " + file;
        return false;
    }
    const auto call = [&](const char* name, auto... a) {
        using F = int(decltype(a)...);
        return reinterpret_cast<F*>(::dlsym(library, name))(a...);
    };
    bool good = true;
    for (const char* architecture : {"--gpu-architecture=sm_80", "--gpu-architecture=sm_90"}) {
        std::vector<const char*> all = {architecture};
        for (int i = 0; i < count; ++i)
            if (!std::strstr(options[i], "arch")) all.push_back(options[i]);
        void* program = nullptr;
        call("nvrtcCreateProgram", &program, p.source.c_str(), "kernels.cu", 0,
             static_cast<const char**>(nullptr), static_cast<const char**>(nullptr));
        good = call("nvrtcCompileProgram", program, static_cast<int>(all.size()), all.data()) == 0 && good;
        std::size_t size = 0;
        call("nvrtcGetProgramLogSize", program, &size);
        std::string log(size, '\0');
        call("nvrtcGetProgramLog", program, log.data());
        p.log += log.c_str();
        call("nvrtcDestroyProgram", &program);
    }
    return good;
}

std::string ptx_of(const Program& p) { return fake::image("text", -p.architecture, p.source); }
fake::Result size_of(const char* function, const std::string& code, std::size_t* size)
{
    const fake::Call call(function);
    if (!call.result) *size = code.size();
    return call.result;
}
fake::Result hand_out(const char* function, const std::string& code, char* to)
{
    const fake::Call call(function);
    if (!call.result) std::memcpy(to, code.data(), code.size());
    return call.result;
}

}  // namespace

using fake::Result;

FAKE_EXPORT Result nvrtcVersion(int* major, int* minor)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    // another prelude is another compiler, and so are other flags: kernels on disk are told apart by it
    static const unsigned sum = [] {
        unsigned all = 0;
        for (const char c : fake::content(FAKE_FOLDER "/prelude.hpp") + fake::setting("FLAGS"))
            all = all * 31 + static_cast<unsigned char>(c);
        return all % 100000;
    }();
    *major = 12, *minor = static_cast<int>(sum);
    return 0;
}
FAKE_EXPORT const char* nvrtcGetErrorString(Result r)
{
    return r == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}
FAKE_EXPORT Result nvrtcCreateProgram(Program** p, const char* source, const char*, int, const char* const*,
                                      const char* const*)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *p = new Program{source, {}, {}, 0};
    return 0;
}
FAKE_EXPORT Result nvrtcCompileProgram(Program* p, int count, const char* const* options)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    constexpr Result failed = 6, bad_option = 5;
    for (const char* wanted : {"--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"}) {
        bool given = false;
        for (int i = 0; i < count; ++i) given = given || std::strcmp(options[i], wanted) == 0;
        if (!given) return p->log = std::string("the fake wants ") + wanted, bad_option;
    }
    for (int i = 0; i < count; ++i)
        if (const char* const at = std::strstr(options[i], "architecture="))
            p->architecture = std::atoi(std::strchr(at, '_') + 1);
    if (!compile_by_nvrtc(*p, count, options) || !compile_here(*p)) return failed;
    keep(*p);
    return 0;
}
FAKE_EXPORT Result nvrtcGetCUBINSize(Program* p, std::size_t* size)
{
    return size_of(__func__, p->code, size);
}
FAKE_EXPORT Result nvrtcGetCUBIN(Program* p, char* code) { return hand_out(__func__, p->code, code); }
FAKE_EXPORT Result nvrtcGetPTXSize(Program* p, std::size_t* size)
{
    return size_of(__func__, ptx_of(*p), size);
}
FAKE_EXPORT Result nvrtcGetPTX(Program* p, char* code) { return hand_out(__func__, ptx_of(*p), code); }
FAKE_EXPORT Result nvrtcGetProgramLogSize(Program* p, std::size_t* size)
{
    *size = p->log.size() + 1;
    return 0;
}
FAKE_EXPORT Result nvrtcGetProgramLog(Program* p, char* log)
{
    std::memcpy(log, p->log.c_str(), p->log.size() + 1);
    return 0;
}
FAKE_EXPORT Result nvrtcDestroyProgram(Program** p)
{
    delete *p;
    *p = nullptr;
    return 0;
}
