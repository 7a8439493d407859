// NVRTC of the fake devices: text goes to the host's compiler behind prelude.hpp, and to a real NVRTC where one is named.
#include "fake.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

namespace {

struct Program {
    std::string source, log, code;
};

std::string content(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The prelude, the text, and for each kernel what cuModuleGetFunction finds.
std::string whole(const std::string& source)
{
    std::string text = "#include \"" FAKE_FOLDER "/prelude.hpp\"\n#line 1 \"kernels.cu\"\n" + source + "\n";
    static const std::regex kernel(R"(__global__\s+(?:__launch_bounds__\([^)]*\)\s*)?void\s+(\w+)\s*\()");
    for (auto i = std::sregex_iterator(source.begin(), source.end(), kernel); i != std::sregex_iterator();
         ++i) {
        const std::string name = (*i)[1];
        text +=
            "extern \"C\" { extern const fake::Kernel __attribute__((visibility(\"default\"))) fake_kernel_" +
            name + "; const fake::Kernel fake_kernel_" + name + " = fake::Call<decltype(" + name + "), " +
            name + ">::kernel; }\n";
    }
    return text;
}

/// The text in a file of its own, in the folder that is named.
void keep(const Program& p)
{
    const std::string folder = fake::setting("KEEP");
    if (!folder.empty())
        std::ofstream(folder + "/" + std::to_string(std::hash<std::string>()(p.source)) + ".cu") << p.source;
}

bool compile_here(Program& p)
{
    char folder[] = "/tmp/fake-cuda-XXXXXX";
    if (!::mkdtemp(folder)) return false;
    const std::string base = folder, source = base + "/kernels.cpp", object = base + "/kernels.so",
                      log = base + "/log";
    std::ofstream(source) << whole(p.source);
    const char* const cxx = std::getenv("CXX");
    const std::string command = std::string(cxx ? cxx : "c++") +
                                " -std=c++17 -O1 -w -shared -fPIC -fvisibility=hidden -ffp-contract=off" +
                                " -fno-math-errno -o " + object + " " + source + " > " + log + " 2>&1";
    const bool good = std::system(command.c_str()) == 0;
    p.log += content(log);
    if (good) {
        const std::string bytes = content(object);
        p.code = "fake " + std::to_string(bytes.size());
        p.code.resize(32, ' ');
        p.code += bytes;
    }
    for (const std::string& file : {source, object, log}) ::unlink(file.c_str());
    ::rmdir(folder);
    return good;
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

}  // namespace

using fake::Result;

FAKE_EXPORT Result nvrtcVersion(int* major, int* minor)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    // another prelude is another compiler: kernels on disk are told apart by it
    static const unsigned sum = [] {
        unsigned all = 0;
        for (const char c : content(FAKE_FOLDER "/prelude.hpp"))
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
    *p = new Program{source, {}, {}};
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
    keep(*p);
    return compile_by_nvrtc(*p, count, options) && compile_here(*p) ? 0 : failed;
}
FAKE_EXPORT Result nvrtcGetCUBINSize(Program* p, std::size_t* size)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *size = p->code.size();
    return 0;
}
FAKE_EXPORT Result nvrtcGetCUBIN(Program* p, char* code)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    std::memcpy(code, p->code.data(), p->code.size());
    return 0;
}
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
