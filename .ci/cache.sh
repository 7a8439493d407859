# shellcheck shell=bash disable=SC2034
# A compiler cache where there is one: $cached goes before a compiler, "${launcher[@]}" to CMake. No dependency; none with
# WENGERT_CACHE=0.
cached='' launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=)
if [ "${WENGERT_CACHE:-1}" != 0 ] && command -v ccache >/dev/null; then
    cached=ccache launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    # What precompiled headers need.
    export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
fi
