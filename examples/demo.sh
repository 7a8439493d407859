#!/usr/bin/env bash
# From a fresh machine to a trained model: installs what is missing, builds the digits example and runs it.
#   examples/demo.sh [FOLDER_FOR_THE_PLOT]
set -euo pipefail
folder=${1:+$(realpath -m "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
.ci/setup.sh --demo
cmake -S . --preset release -B build/demo -DWENGERT_BUILD_TESTS=OFF -DWENGERT_BUILD_BENCH=OFF --log-level=WARNING >/dev/null
cmake --build build/demo --target digits
exec build/demo/examples/digits "${folder:-build/demo}"
