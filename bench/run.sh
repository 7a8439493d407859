#!/bin/sh
# bench/run.sh tables: one run of everything on one thread, about ten minutes with the build; writes bench/results/*.json and
# the tables of README.md and docs/performance.md from them (bench/tables.py). The machine should be idle. What an
# include costs has a script of its own. With BESIDE=FOLDER, another checkout whose wengert_bench is built in FOLDER/build/bench,
# each workload runs there as well, right after it has run here, for the table of changes.
# bench/run.sh [WORKLOAD...]: builds build/bench, runs the workloads (all without arguments; bench/workloads.md lists
# them), prints the table and merges the rows into build/bench/results.json.
# bench/run.sh --peak [WORKLOAD...] shows the cold first call and peak memory, bench/run.sh --tape the bytes on the tape,
# bench/run.sh --plan [WORKLOAD...] what tracing and planning take, bench/run.sh memory what bounded memory costs,
# bench/run.sh tune the constants of this machine for PassOptions::costs, bench/run.sh products the library's products of
# matrices beside those of the BLAS, and which of them kernels::gemm chooses, bench/run.sh loops what loops take whose bodies fold,
# bench/run.sh solvers linear algebra and solvers beside LAPACK by hand; it writes its table, as do the next two:
# bench/run.sh scalars what scalar code takes, bench/run.sh mpi what programs of one and two ranks take.
# CoDiPack's columns need its headers, those of several ranks MeDiPack's as well, in folders of $CMAKE_INCLUDE_PATH where they
# are not installed.
# XLA's rows need `python3 -m pip install jax diffrax`, with the interpreter in $WENGERT_BENCH_PYTHON where it is another one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/bench
results=$build/results.json

memory=$#
tune=1
products=1
loops=1
scalars=1
ranks=1
solvers=1
tables=1
timed=
options=
for argument in "$@"; do
    case $argument in
        memory) memory=0 ;;
        tune) tune=0 ;;
        products) products=0 ;;
        loops) loops=0 ;;
        scalars) scalars=0 ;;
        mpi) ranks=0 ;;
        solvers) solvers=0 ;;
        tables) tables=0 ;;
        --*) options="$options $argument" ;;
        *) timed="$timed $argument" ;;
    esac
done

mkdir -p "$build"
launcher=
if command -v ccache >/dev/null; then launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
# shellcheck disable=SC2086
cmake -S "$root" -B "$build" $launcher -DCMAKE_BUILD_TYPE=Release -DWENGERT_BUILD_BENCH=ON -DWENGERT_BUILD_TESTS=OFF \
    -DWENGERT_BUILD_EXAMPLES=OFF >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
wanted=
if [ "$tables" -eq 0 ]; then wanted='--target wengert_bench wengert_memory wengert_scalars wengert_scalar_codes wengert_scalar_peers wengert_loops wengert_long_text'; fi
if [ "$scalars" -eq 0 ]; then wanted='--target wengert_scalars wengert_scalar_codes wengert_scalar_peers'; fi
if [ "$solvers" -eq 0 ]; then wanted='--target wengert_solvers'; fi
if [ "$ranks" -eq 0 ]; then wanted='--target wengert_mpi'; fi
# shellcheck disable=SC2086
cmake --build "$build" --parallel "${JOBS:-2}" $wanted >&2

if [ $# -eq 0 ] || [ -n "$timed$options" ]; then
    # shellcheck disable=SC2086
    "$build/bench/wengert_bench" $timed $options --out "$results"
fi
if [ "$memory" -eq 0 ]; then OPENBLAS_NUM_THREADS=1 "$build/bench/wengert_memory"; fi
if [ "$tune" -eq 0 ]; then "$build/bench/wengert_tune"; fi
if [ "$products" -eq 0 ]; then "$build/bench/wengert_products"; fi
if [ "$loops" -eq 0 ]; then "$build/bench/wengert_loops"; fi

run_scalars() {
    "$build/bench/wengert_scalars" >"$1/scalars.txt" && "$build/bench/wengert_scalar_codes" >"$1/scalar_codes.txt" &&
        "$build/bench/wengert_scalar_peers" >"$1/scalar_peers.txt"
}
if [ "$scalars" -eq 0 ]; then  # in a folder of their own, so that no other table is written anew
    mkdir -p "$build/scalars"
    OPENBLAS_NUM_THREADS=1 run_scalars "$build/scalars"
    cat "$build/scalars/scalars.txt" "$build/scalars/scalar_codes.txt" "$build/scalars/scalar_peers.txt"
    python3 -B "$root/bench/tables.py" --collect "$build/scalars"
fi

if [ "$solvers" -eq 0 ]; then
    mkdir -p "$build/solvers"
    OPENBLAS_NUM_THREADS=1 "$build/bench/wengert_solvers" "$build/solvers" >"$build/solvers/solvers.txt"
    "${WENGERT_BENCH_PYTHON:-python3}" -B "$root/bench/solvers_xla.py" "$build/solvers" >"$build/solvers/xla.txt"
    cat "$build/solvers/solvers.txt" "$build/solvers/xla.txt"
    python3 -B "$root/bench/tables.py" --collect "$build/solvers"
fi

if [ "$ranks" -eq 0 ]; then
    mkdir -p "$build/ranks"
    export OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    for n in 1 2; do mpirun -np $n "$build/bench/wengert_mpi"; done >"$build/ranks/mpi.txt"
    if [ -x "$build/bench/wengert_mpi_scalars" ]; then
        for n in 1 2; do mpirun -np $n "$build/bench/wengert_mpi_scalars"; done >>"$build/ranks/mpi.txt"
    fi
    cat "$build/ranks/mpi.txt"
    python3 -B "$root/bench/tables.py" --collect "$build/ranks"
fi

# Each workload has a process of its own, so that one which fails takes no other's rows with it.
if [ "$tables" -eq 0 ]; then
    failed=
    export OPENBLAS_NUM_THREADS=1
    before=$build/before.json
    rm -f "$results" "$before"
    for workload in small_op elementwise mlp rk4 heat attention gmm lstm hvp jvp cheap scan burgers vmap fft; do
        "$build/bench/wengert_bench" $workload --out "$results" || failed="$failed $workload"
        if [ -n "${BESIDE:-}" ]; then
            "$BESIDE/build/bench/bench/wengert_bench" $workload --systems wengert,wengert-tile,wengert-native --out "$before" ||
                echo "no rows of $workload from $BESIDE"
        fi
    done
    rm -f "$build/memory.txt" "$build/peak.txt" "$build/scalars.txt" "$build/scalar_codes.txt" "$build/scalar_peers.txt" "$build/loops.txt" "$build/long_text.txt"
    run_scalars "$build" || failed="$failed scalars"
    "$build/bench/wengert_loops" >"$build/loops.txt" || failed="$failed loops"
    "$build/bench/wengert_long_text" >"$build/long_text.txt" || failed="$failed long_text"
    "$build/bench/wengert_memory" >"$build/memory.txt" || failed="$failed memory"
    "$build/bench/wengert_bench" --peak --systems wengert,wengert-tile,floor >"$build/peak.txt" || failed="$failed peak"
    cat "$build/memory.txt" "$build/peak.txt"
    python3 -B "$root/bench/tables.py" --collect "$build" ${BESIDE:+--beside "$BESIDE"}
    if [ -n "$failed" ]; then
        echo "failed:$failed"
        exit 1
    fi
fi
