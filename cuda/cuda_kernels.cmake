# wengert::cuda_kernels: the kernels of eager operations compiled ahead, machine code for WENGERT_CUDA_ARCHITECTURES and PTX for what
# comes later, in an object that programs link. It needs NVRTC, of a toolkit, and no device; without NVRTC there is no such target.
set(WENGERT_CUDA_ARCHITECTURES 80 90 CACHE STRING "What wengert::cuda_kernels has machine code for, the oldest first")
find_library(WENGERT_NVRTC NAMES nvrtc PATHS /usr/local/cuda $ENV{CUDA_PATH} PATH_SUFFIXES lib64 lib DOC "NVRTC, for wengert::cuda_kernels")
mark_as_advanced(WENGERT_NVRTC)

set(writer_source ${CMAKE_CURRENT_BINARY_DIR}/wengert_compiled/write_ahead.cpp)
file(CONFIGURE OUTPUT ${writer_source} CONTENT
     "#include <wengert/cuda/write_ahead.hpp>\nint main(int n, char** words) { return wengert::detail::gpu::write_ahead(n, words); }\n")
add_executable(wengert_write_ahead EXCLUDE_FROM_ALL ${writer_source})
target_link_libraries(wengert_write_ahead PRIVATE wengert::compiled)

# wengert_kernels_ahead(target NVRTC SETTING...): an object library of what that NVRTC makes, with these settings in its environment.
function(wengert_kernels_ahead target nvrtc)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}.bin)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)
    list(TRANSFORM WENGERT_CUDA_ARCHITECTURES PREPEND sm_ OUTPUT_VARIABLE architectures)
    add_custom_command(OUTPUT ${file} DEPENDS wengert_write_ahead VERBATIM
        COMMAND ${CMAKE_COMMAND} -E env WENGERT_CUDA_DRIVER=${nvrtc} ${ARGN} $<TARGET_FILE:wengert_write_ahead> ${file} ${architectures})
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [==[
#include <wengert/cuda/eager/ahead.hpp>
asm(".pushsection .rodata\n"
    ".hidden @target@_begin, @target@_end\n"
    ".globl @target@_begin, @target@_end\n"
    "@target@_begin: .incbin \"@file@\"\n"
    "@target@_end: .byte 0\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char @target@_begin[], @target@_end[];
[[maybe_unused]] static const bool added =
    wengert::detail::gpu::Ahead::get().add({@target@_begin, static_cast<std::size_t>(@target@_end - @target@_begin)});
]==])
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${file})
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${target} PRIVATE wengert::wengert)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

if(WENGERT_NVRTC)
    wengert_kernels_ahead(wengert_cuda_kernels ${WENGERT_NVRTC})
    add_library(wengert::cuda_kernels ALIAS wengert_cuda_kernels)
endif()
