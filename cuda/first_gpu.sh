#!/usr/bin/env bash
# The first minutes on a machine with a GPU: builds the tests of CUDA against its driver, runs them in stages, and writes what was seen
# to one file of JSON. No network is needed.
#
#   cuda/first_gpu.sh [OPTION...] [STAGE...]     all stages where none is named
#
#   --deps FOLDER   where xtensor, xsimd and Catch2 are, as CMake installs them; else the system's
#   --build FOLDER  where it is built (build/first_gpu)
#   --out FILE      the JSON (first_gpu.json in the folder of the build); stages that were run before keep their part
#   --fake          on the driver without a GPU (tests/cuda/fake/), as CI runs it
#   --jobs N        compilers at once (all cores)
#   --limit N       seconds that a stage may take (480)
#
#   build         the tests, with g++ and CMake
#   tensors       the driver, tensors there and back, memory, its errors
#   elementwise   elementwise operations, folds, rows: the host's bits beside them
#   primitives    every public function of tensors
#   frozen        frozen functions, groups, captures, counts of calls
#   conditions    conditional nodes, alone: a driver that gives up on one may end the process
#   streams       streams, memory and kernels of the program's own, kernels compiled ahead
#   bench         what work costs: times beside the host and cuBLAS, and what is asked of the driver (cuda/device_bench.cpp)
#   memcheck      compute-sanitizer over a selection
#   racecheck     the same, for races within blocks
#
# A stage that fails does not stop the next. It ends with 0 where all have passed.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/first_gpu out= deps= fake= jobs=$(nproc) limit=480 stages=()
all=(build tensors elementwise primitives frozen conditions streams bench memcheck racecheck)
while [ $# -gt 0 ]; do
    case $1 in
    --deps | --build | --out | --jobs | --limit)
        [ $# -gt 1 ] || { echo "$1 wants a value" >&2; exit 2; }
        printf -v "${1#--}" %s "$2"
        shift 2 ;;
    --fake) fake=1; shift ;;
    -h | --help) sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *)
        [[ " ${all[*]} " == *" $1 "* ]] || { echo "no stage $1: ${all[*]}" >&2; exit 2; }
        stages+=("$1"); shift ;;
    esac
done
[ ${#stages[@]} -gt 0 ] || stages=("${all[@]}")
[[ $build = /* ]] || build=$PWD/$build
out=${out:-$build/first_gpu.json}
kept=$build/stages
mkdir -p "$kept" "$build/cache"
unset WENGERT_CUDA_DRIVER
[ -z "$fake" ] || export WENGERT_CUDA_DRIVER=$build/tests/libfake_cuda.so
export XDG_CACHE_HOME=$build/cache OPENBLAS_NUM_THREADS=1

# A string of JSON, of what comes in; without what no terminal shows.
json() { tr -cd '\t\n\040-\176' | awk 'BEGIN { printf "\"" } { gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); printf "%s%s", n++ ? "\\n" : "", $0 } END { printf "\"" }'; }

# of_files NAME...: Catch2's filter of these files of tests.
of_files() { local names=("$@"); (IFS=,; echo "${names[*]/%/]}" | sed 's/\(^\|,\)/\1[#test_cuda_/g'); }

compile() {
    cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 -DWENGERT_TESTS_TOGETHER=1 -DWENGERT_BUILD_BENCH=OFF -DWENGERT_MEASURED_DEVICE=ON \
        -DWENGERT_BUILD_EXAMPLES=OFF ${deps:+-DCMAKE_PREFIX_PATH="$deps"} ${launcher:+-DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"} --log-level=WARNING &&
        cmake --build "$build" -j "$jobs" --target test_cuda wengert_device fake_cuda fake_cuda_driver fake_cuda_no_blas \
            "$([ -n "$fake" ] && echo test_cuda_ahead || echo test_cuda_ahead_gpu)"
}
tests() { "$build/tests/test_cuda" "-#" "$(of_files "$@")"; }
# ahead: the kernels compiled ahead, with a driver that has no NVRTC beside it
ahead() {
    local driver=libcuda.so.1 program=test_cuda_ahead_gpu
    [ -z "$fake" ] || driver=$build/tests/libfake_cuda_driver.so program=test_cuda_ahead
    WENGERT_CUDA_DRIVER=$driver "$build/tests/$program" "-#" "[#test_cuda_ahead]"
}
sanitizer() {
    local tool=$1
    shift
    compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 --launch-timeout 0 "$build/tests/test_cuda" "-#" "$(of_files "$@")"
}
# The reason why a stage cannot be run here.
cannot() {
    case $1 in
    build) ;;
    memcheck | racecheck)
        [ -z "$fake" ] || { echo "there is no GPU"; return; }
        command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer was not found"; return; } ;;&
    *) [ -x "$build/tests/test_cuda" ] || echo "nothing has been built" ;;
    esac
}
run() {
    case $1 in
    build) compile ;;
    tensors) tests tensors memory faults ;;
    elementwise) tests operations elements folds rows own ;;
    primitives) tests primitives ;;
    frozen) tests frozen groups captures counts ;;
    conditions) tests conditions ;;
    streams) tests streams interop beside_captures user_kernels ahead && ahead ;;
    bench) "$build/tests/wengert_device" ;;
    memcheck) sanitizer memcheck operations elements rows user_kernels ;;
    racecheck) sanitizer racecheck rows folds user_kernels ;;
    esac
}
export -f run compile tests ahead sanitizer of_files
export build deps jobs fake launcher=${launcher:-}

failures=0
for stage in "${stages[@]}"; do
    log=$kept/$stage.log
    why=$(cannot "$stage")
    begin=$SECONDS result=passed
    if [ -n "$why" ]; then
        echo "$why" >"$log"
        result=skipped
        [ "$why" != "nothing has been built" ] || result=failed
    else
        timeout -k 10 "$limit" bash -c "run $stage" >"$log" 2>&1
        case $? in
        0) ;;
        124 | 137) result="timed out" ;;
        13[0-9] | 14[0-9]) result=crashed ;;
        *) result=failed ;;
        esac
    fi
    [ "$result" = passed ] || [ "$result" = skipped ] || failures=$((failures + 1))
    echo "$stage: $result, $((SECONDS - begin)) s" >&2
    {
        printf '{"stage": "%s", "result": "%s", "seconds": %d, "summary": ' "$stage" "$result" $((SECONDS - begin))
        grep -E '^(test cases:|assertions:|All tests passed)' "$log" | tail -2 | json
        [ "$stage" != bench ] || { printf ', "rows": ['; grep '^{"' "$log" | paste -sd ,; printf ']'; }
        printf ', "text": '
        { [ "$result" = passed ] || { grep -nE -A 12 'FAILED:|error:|ERROR|Sanitizer|due to' "$log" | head -400; tail -40 "$log"; }; } | json
        printf '}'
    } >"$kept/$stage.json"
done

{
    printf '{\n  "date": "%s",\n  "commit": ' "$(date -u +%FT%TZ)"
    { git rev-parse HEAD 2>/dev/null || echo unknown; } | json
    printf ',\n  "driver": '
    if [ -n "$fake" ]; then echo "the fake driver"; else nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>&1 | head -1; fi | json
    printf ',\n  "gpu": '
    if [ -n "$fake" ]; then echo "none"; else nvidia-smi --query-gpu=name,memory.total --format=csv,noheader 2>&1 | head -1; fi | json
    printf ',\n  "compiler": '
    { g++ --version 2>&1 | head -1; } | json
    printf ',\n  "stages": ['
    comma=
    for stage in "${all[@]}"; do
        [ -f "$kept/$stage.json" ] || continue
        printf '%s\n    ' "$comma"
        cat "$kept/$stage.json"
        comma=,
    done
    printf '\n  ]\n}\n'
} >"$out"
echo "$out" >&2
[ $failures -eq 0 ]
