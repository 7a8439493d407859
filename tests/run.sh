#!/usr/bin/env bash
# From a fresh machine to a passing test suite: installs what is missing, builds, runs every test.
#   tests/run.sh [CTEST ARGUMENTS]      for example: tests/run.sh -L fast     tests/run.sh -R unit
# Another preset than `test`, or another number of jobs: PRESET=release JOBS=8 tests/run.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${PRESET:-test} jobs=${JOBS:-2}
.ci/setup.sh --test
cmake --preset "$preset" --log-level=WARNING >/dev/null
cmake --build "build/$preset" -j "$jobs"
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "$@"
