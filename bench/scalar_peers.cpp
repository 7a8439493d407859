// wengert_scalar_peers: whole codes by Real beside CoDiPack's RealReverse, where CMake finds it (-DWENGERT_CODIPACK_DIR=…/include).
// Systems take turns in one process; processor time, the least of many samples. A row is a code, `what | operations | …`, for
// bench/tables.py: first derivatives, then, in tables of their own, second ones, and those by kernels. `wengert_scalar_peers SAMPLES CODE` runs one code.
//
// Each code is a source of its own (legacy/): how far a compiler inlines CoDiPack's expressions depends on what else is there.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "peers.hpp"

namespace {

/// Native code is kept on disk: here in a folder that goes with the program, so that first calls are such.
class OwnCache {
public:
    OwnCache()
        : folder_(std::filesystem::temp_directory_path() / ("wengert-peers-" + std::to_string(getpid())))
    {
        std::filesystem::create_directories(folder_);
        setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    }
    OwnCache(const OwnCache&) = delete;
    OwnCache& operator=(const OwnCache&) = delete;
    ~OwnCache() { std::filesystem::remove_all(folder_); }

private:
    std::filesystem::path folder_;
};

}  // namespace

int main(int argc, char** argv)
{
    const OwnCache cache;
    std::printf("beside %s\n", *bench::peer ? bench::peer : "nothing");
    bench::Codes codes(argc > 2 ? argv[2] : "");
    for (const auto add :
         {bench::add_market, bench::add_hexahedra, bench::add_kinetics, bench::add_euler, bench::add_arm})
        add(codes);
    return codes.run(argc > 1 ? std::atoi(argv[1]) : 51) ? 0 : 1;
}
