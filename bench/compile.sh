#!/bin/sh
# bench/compile.sh [PROGRAM.cpp]: time (median of three) and peak memory of compiling and linking the quickstart program
# at -O2 without CMake; merges the row `compile` into build/bench/results.json. bench/run.sh builds what it needs.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/bench
program=${1:-$root/examples/quickstart.cpp}
[ -f "$program" ] || program=$root/examples/quickstart/quickstart.cpp
"$build/bench/wengert_bench" --out "$build/results.json" --compile \
    "${CXX:-g++} -std=c++20 -O2 -I$root/include $program -o $build/quickstart -lopenblas -llapacke -lpthread -ldl"
