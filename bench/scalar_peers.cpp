// wengert_scalar_peers: whole codes by Real beside CoDiPack's RealReverse, where CMake finds it (-DWENGERT_CODIPACK_DIR=…/include).
// Systems take turns in one process; processor time, the least of many samples. A row is a code, `what | operations | …`, for
// bench/tables.py: first derivatives, then, in a table of its own, second ones. `wengert_scalar_peers SAMPLES CODE` runs one code.
//
// Each code is a source of its own (legacy/): how far a compiler inlines CoDiPack's expressions depends on what else is there.
#include <cstdlib>

#include "peers.hpp"

int main(int argc, char** argv)
{
    std::printf("beside %s\n", *bench::peer ? bench::peer : "nothing");
    bench::Codes codes(argc > 2 ? argv[2] : "");
    for (const auto add :
         {bench::add_market, bench::add_hexahedra, bench::add_kinetics, bench::add_euler, bench::add_arm})
        add(codes);
    return codes.run(argc > 1 ? std::atoi(argv[1]) : 51) ? 0 : 1;
}
