#!/bin/sh
# bench/run.sh [WORKLOAD...]: builds build/bench, runs the workloads (all without arguments; bench/workloads.md lists
# them) on one thread, prints the table and merges the rows into build/bench/results.json.
# bench/run.sh --peak [WORKLOAD...] shows the cold first call and peak memory, bench/run.sh --tape the bytes on the tape,
# bench/run.sh --plan [WORKLOAD...] what tracing and planning take, bench/run.sh memory what bounded memory costs,
# bench/run.sh tune the constants of this machine for PassOptions::costs.
# XLA's rows need `python3 -m pip install jax`, with the interpreter in $WENGERT_BENCH_PYTHON where it is another one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/bench
results=$build/results.json

compile=$#
memory=$#
tune=1
timed=
options=
for argument in "$@"; do
    case $argument in
        compile) compile=0 ;;
        memory) memory=0 ;;
        tune) tune=0 ;;
        --*) options="$options $argument" ;;
        *) timed="$timed $argument" ;;
    esac
done

mkdir -p "$build"
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DWENGERT_BUILD_BENCH=ON -DWENGERT_BUILD_TESTS=OFF \
    -DWENGERT_BUILD_EXAMPLES=OFF >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" --parallel "${JOBS:-2}" >&2

if [ $# -eq 0 ] || [ -n "$timed$options" ]; then
    # shellcheck disable=SC2086
    "$build/bench/wengert_bench" $timed $options --out "$results"
fi
if [ "$memory" -eq 0 ]; then OPENBLAS_NUM_THREADS=1 "$build/bench/wengert_memory"; fi
if [ "$compile" -eq 0 ]; then "$root/bench/compile.sh"; fi
if [ "$tune" -eq 0 ]; then "$build/bench/wengert_tune"; fi
