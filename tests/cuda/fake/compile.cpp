// The host's compiler for the text of kernels: see fake.hpp.
#include "fake.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>

#include <unistd.h>

namespace fake {

namespace {

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

}  // namespace

std::string content(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string image(const char* kind, int architecture, const std::string& bytes)
{
    std::string head =
        std::string("fake ") + kind + " " + std::to_string(architecture) + " " + std::to_string(bytes.size());
    head.resize(48, ' ');
    return head + bytes;
}

std::string shared_object(const std::string& text, std::string& log)
{
    char folder[] = "/tmp/fake-cuda-XXXXXX";
    if (!::mkdtemp(folder)) return {};
    const std::string base = folder, source = base + "/kernels.cpp", object = base + "/kernels.so",
                      said = base + "/log";
    std::ofstream(source) << whole(text);
    const char* const cxx = std::getenv("CXX");
    const std::string command = std::string(cxx ? cxx : "c++") +
                                " -std=c++17 -O1 -w -shared -fPIC -fvisibility=hidden -ffp-contract=off" +
                                " -fno-math-errno " + setting("FLAGS") + " -o " + object + " " + source +
                                " > " + said + " 2>&1";
    const bool good = std::system(command.c_str()) == 0;
    log += content(said);
    const std::string bytes = good ? content(object) : std::string();
    for (const std::string& file : {source, object, said}) ::unlink(file.c_str());
    ::rmdir(folder);
    return bytes;
}

}  // namespace fake
