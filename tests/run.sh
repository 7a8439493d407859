#!/usr/bin/env bash
# From a fresh machine to a passing test suite: installs what is missing, builds, runs every test.
#   tests/run.sh [CTEST ARGUMENTS]      for example: tests/run.sh -L fast     tests/run.sh -R unit
# Another preset than `test`, or another number of jobs: PRESET=release JOBS=8 tests/run.sh
# Not among the tests: each header alone (tests/includes/alone.py), but for those that have changed lately.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${PRESET:-test} jobs=${JOBS:-2}
. .ci/cache.sh
.ci/setup.sh --test
# A warning fails .ci/run; not the build of somebody whose compiler knows more of them.
cmake --preset "$preset" -DWENGERT_TESTS_TOGETHER=10 "${launcher[@]}" ${strict:+-DCMAKE_COMPILE_WARNING_AS_ERROR=ON} --log-level=WARNING >/dev/null
cmake --build "build/$preset" -j "$jobs" -- -k 0  # all errors at once
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "$@"
