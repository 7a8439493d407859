# wengert::compiled: the tape, the compiler of frozen graphs and the primitives in a library of its own, so that sources which
# use them compile in about half the time. wengert::compiled_linalg has linear algebra and the solvers of implicit.hpp, too. Both
# are built with the flags of whoever adds this project, as kernels must be, and optimized all the same where those do not.
# One source for each area: what two sources of one area generate is mostly the same code, twice. The longest comes first. What
# compiles graphs (graph) and what each replay runs (tile) are two, as they are optimized for different things.

# wengert_compiled_library(name sources area...): a static library of these areas, and its sources.
function(wengert_compiled_library name sources)
    set(all)
    foreach(area IN LISTS ARGN)
        set(source ${CMAKE_CURRENT_BINARY_DIR}/wengert_compiled/${area}.cpp)
        file(CONFIGURE OUTPUT ${source} CONTENT "#include <wengert/impl/${area}.ipp>\n")
        list(APPEND all ${source})
    endforeach()
    add_library(${name} STATIC EXCLUDE_FROM_ALL ${all})
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
        target_compile_options(${name} PRIVATE -O2)
    endif()
    if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*undefined")  # these four checks triple the time that the largest kernels take
        target_compile_options(${name} PRIVATE -fno-sanitize=null,object-size,vptr,alignment)
    endif()
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    set(${sources} ${all} PARENT_SCOPE)
endfunction()

wengert_compiled_library(wengert_compiled wengert_compiled_sources library tile scalar eager graph)
add_library(wengert::compiled ALIAS wengert_compiled)
target_link_libraries(wengert_compiled PUBLIC wengert::wengert)
target_compile_definitions(wengert_compiled PUBLIC WENGERT_COMPILED)

wengert_compiled_library(wengert_compiled_linalg wengert_compiled_linalg_sources implicit linalg)
add_library(wengert::compiled_linalg ALIAS wengert_compiled_linalg)
target_link_libraries(wengert_compiled_linalg PUBLIC wengert::compiled)
target_compile_definitions(wengert_compiled_linalg PUBLIC WENGERT_COMPILED_LINALG)

if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    # What runs once a trace, and what calls operations of tensors alone: as fast, compiled sooner. -Os makes a first call 1.3 times
    # as slow. Behind the target's options.
    set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/wengert_compiled/graph.cpp
                                ${CMAKE_CURRENT_BINARY_DIR}/wengert_compiled/implicit.cpp PROPERTIES COMPILE_OPTIONS -O1)
endif()
