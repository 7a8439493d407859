#!/usr/bin/env bash
# Installs what is missing on Debian or Ubuntu, and nothing when nothing is: setup.sh [--demo | --test | --all]
#   --demo  what the library and the examples need     --test  and the tests     --all  and .ci/run (default)
set -euo pipefail
level=${1:---all}

demo=(g++ cmake ninja-build libxtensor-dev libxsimd-dev libopenblas-dev liblapacke-dev gnuplot-nox)
test=(libfftw3-double3 libfftw3-single3 catch2 libbenchmark-dev libtbb-dev libeigen3-dev libboost-dev gdb python3 git graphviz)
ci=(clang-16 clang-format-16 libclang-rt-16-dev libopenmpi-dev openmpi-bin)
case $level in
    --demo) wanted=("${demo[@]}") ;;
    --test) wanted=("${demo[@]}" "${test[@]}") ;;
    --all) wanted=("${demo[@]}" "${test[@]}" "${ci[@]}") ;;
    *) sed -n '2,3s/^# //p' "$0" >&2; exit 2 ;;
esac

# A tool may have come some other way than by its package.
declare -A command_of=([g++]=g++ [cmake]=cmake [ninja-build]=ninja [gnuplot-nox]=gnuplot [gdb]=gdb
    [python3]=python3 [git]=git [graphviz]=dot [clang-16]=clang++-16 [clang-format-16]=clang-format-16
    [libopenmpi-dev]=mpicxx [openmpi-bin]=mpirun)
declare -A header_of=([libxtensor-dev]='xtensor/xarray.hpp xtensor/containers/xarray.hpp'
    [libxsimd-dev]=xsimd/xsimd.hpp [libopenblas-dev]=openblas_config.h [liblapacke-dev]=lapacke.h
    [catch2]='catch2/catch.hpp catch2/catch_all.hpp' [libbenchmark-dev]=benchmark/benchmark.h
    [libtbb-dev]=oneapi/tbb/task_arena.h [libeigen3-dev]='Eigen/Dense eigen3/Eigen/Dense'
    [libboost-dev]=boost/math/policies/policy.hpp)

have_header() {
    local header root
    for header in $1; do
        for root in /usr/local/include /usr/include "/usr/include/$(uname -m)-linux-gnu"; do
            [ -e "$root/$header" ] && return 0
        done
    done
    return 1
}

installed() {
    [ -n "${command_of[$1]:-}" ] && command -v "${command_of[$1]}" >/dev/null && return 0
    [ -n "${header_of[$1]:-}" ] && have_header "${header_of[$1]}" && return 0
    command -v dpkg-query >/dev/null &&
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

available() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }

# The package itself or, where the distribution has another version of it, the nearest one.
nearest() {
    local version
    available "$1" && { echo "$1"; return; }
    case $1 in *-16*) ;; *) return 0 ;; esac
    for version in 17 15 18 19 14 20 21; do
        available "${1/-16/-$version}" && { echo "${1/-16/-$version}"; return; }
    done
    return 0
}

missing=()
for package in "${wanted[@]}"; do installed "$package" || missing+=("$package"); done

if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get >/dev/null || {
        echo "setup: no apt-get here; please install what answers to: ${missing[*]}" >&2
        exit 1
    }
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "setup: as root: apt-get install ${missing[*]}" >&2; exit 1; }
        as_root=(sudo)
    fi
    available g++ || "${as_root[@]}" apt-get update -q  # a fresh machine has no lists
    install=()
    for package in "${missing[@]}"; do
        found=$(nearest "$package")
        if [ -z "$found" ]; then
            echo "setup: this distribution has no $package" >&2
        elif ! installed "$found"; then
            install+=("$found")
        fi
    done
    if [ ${#install[@]} -gt 0 ]; then
        echo "setup: installing ${install[*]}"
        apt_install() {
            "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
                apt-get install -q -y --no-install-recommends "${install[@]}"
        }
        apt_install || { "${as_root[@]}" apt-get update -q && apt_install; }  # or old ones
    fi
fi

cmake_version=$(cmake --version | sed -n '1s/[^0-9]*//p')
if [ "$(printf '%s\n' 3.25 "$cmake_version" | sort -V | head -n 1)" != 3.25 ]; then
    echo "setup: CMake $cmake_version is too old, 3.25 is needed (a newer one: pip install cmake)" >&2
    exit 1
fi
