#!/usr/bin/env bash
# From a fresh machine to passing tests: installs what is missing, builds, and runs what tells whether the library works here: all
# primitives, both modes, every executor, the pages of docs/ and the examples.
#   tests/run.sh [CTEST ARGUMENTS]          for example: tests/run.sh -R primitives
#   tests/run.sh --all [CTEST ARGUMENTS]    every test of the library; .ci/run has more than these
# Another preset than `test`, or another number of jobs: PRESET=release JOBS=8 tests/run.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${PRESET:-test} jobs=${JOBS:-2} target=wengert_installation which=(-L installation)
if [ "${1:-}" = --all ]; then
    target=all which=()
    shift
fi
. .ci/cache.sh
.ci/setup.sh --test
# A warning fails .ci/run; not the build of somebody whose compiler knows more of them.
cmake --preset "$preset" -DWENGERT_TESTS_TOGETHER=10 "${launcher[@]}" ${strict:+-DCMAKE_COMPILE_WARNING_AS_ERROR=ON} --log-level=WARNING >/dev/null
cmake --build "build/$preset" -j "$jobs" --target "$target" -- -k 0  # all errors at once
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "${which[@]}" "$@"
