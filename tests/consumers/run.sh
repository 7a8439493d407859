#!/usr/bin/env bash
# One way to consume the library: run.sh KIND BUILD_DIR, with KIND one of
#   find_package  precompiled  add_subdirectory  fetch_content  plain  no_blas  missing
# CXX names the compiler.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
kind=$1 build=$2
export CXX=${CXX:-g++}
rm -rf "$build"
mkdir -p "$build"

configure_and_run() {  # SOURCE [CMAKE ARGUMENTS]
    cmake -S "$1" -B "$build/consumer" -G Ninja --log-level=WARNING "${@:2}"
    cmake --build "$build/consumer"
    "$build/consumer/consumer"
}

install_to_prefix() {  # [CMAKE ARGUMENTS]
    cmake -S "$root" -B "$build/wengert" -G Ninja --log-level=WARNING -DCMAKE_INSTALL_PREFIX="$build/prefix" \
        -DWENGERT_BUILD_TESTS=OFF -DWENGERT_BUILD_BENCH=OFF -DWENGERT_BUILD_EXAMPLES=OFF "$@"
    cmake --install "$build/wengert" >/dev/null
}

case $kind in
    find_package)
        install_to_prefix
        configure_and_run "$here/find_package" -DCMAKE_PREFIX_PATH="$build/prefix" -DCONSUMER_FROZEN=ON \
            -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
            -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0  # quick to compile: the library's sources as one
        "$build/consumer/frozen"
        # The install stands alone: it names neither the source nor the build folder.
        if grep -rlF -e "$root/include" -e "$build/wengert" "$build/prefix"; then exit 1; fi
        ;;
    precompiled)  # by the package: its source includes nothing
        install_to_prefix
        configure_and_run "$here/precompiled" -DCMAKE_PREFIX_PATH="$build/prefix" -DCMAKE_CXX_FLAGS=-Werror=invalid-pch
        ;;
    add_subdirectory | fetch_content)
        configure_and_run "$here/$kind"
        ;;
    plain)
        "$CXX" -std=c++20 -I"$root/include" -include wengert/wengert.hpp "$here/main.cpp" -lopenblas -llapacke -lpthread -ldl -o "$build/consumer"
        "$build/consumer"
        ;;
    no_blas)  # nothing to link, through the package and without CMake
        "$CXX" -std=c++20 -DWENGERT_NO_BLAS -I"$root/include" -include wengert/wengert.hpp "$here/main.cpp" -o "$build/plain"
        "$build/plain"
        install_to_prefix -DWENGERT_NO_BLAS=ON
        configure_and_run "$here/find_package" -DCMAKE_PREFIX_PATH="$build/prefix"
        if ldd "$build/consumer/consumer" | grep -i -e blas -e lapack; then exit 1; fi
        ;;
    missing)  # the message names the Debian package
        if cmake -S "$here/add_subdirectory" -B "$build/consumer" -G Ninja -DCMAKE_DISABLE_FIND_PACKAGE_xsimd=ON \
            -DCMAKE_FIND_ROOT_PATH="$build" -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY >/dev/null 2>"$build/message"; then
            echo "configured without xsimd"
            exit 1
        fi
        tr -s ' \n' ' ' <"$build/message" | grep -F 'apt-get install libxsimd-dev'
        ;;
    *) sed -n '2,4s/^# //p' "$0" >&2; exit 2 ;;
esac
