# wengert::compiled: the tape, the compiler of frozen graphs and the primitives in a library of its own, so that sources which
# use them compile in about half the time. It is built with the flags of whoever adds this project, as kernels must be, and
# optimized all the same where those do not.
# One source for each area: what two sources of one area generate is mostly the same code, twice. The longest comes first. What
# compiles graphs (graph) and what each replay runs (tile) are two, as they are optimized for different things.
set(wengert_area_library impl/library)
set(wengert_area_graph impl/graph)
set(wengert_area_tile impl/tile)
set(wengert_area_scalar impl/scalar)
set(wengert_area_eager impl/eager)
set(wengert_compiled_sources)
foreach(area IN ITEMS library tile scalar eager graph)
    list(TRANSFORM wengert_area_${area} REPLACE "(.+)" "#include <wengert/\\1.ipp>\n" OUTPUT_VARIABLE includes)
    list(JOIN includes "" includes)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/wengert_compiled/${area}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "${includes}")
    list(APPEND wengert_compiled_sources ${source})
endforeach()
add_library(wengert_compiled STATIC EXCLUDE_FROM_ALL ${wengert_compiled_sources})
add_library(wengert::compiled ALIAS wengert_compiled)
target_link_libraries(wengert_compiled PUBLIC wengert::wengert)
target_compile_definitions(wengert_compiled PUBLIC WENGERT_COMPILED)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(wengert_compiled PRIVATE -O2)
    # what runs once a trace: as fast, compiled sooner. -Os makes a first call 1.3 times as slow. Behind the target's options
    set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/wengert_compiled/graph.cpp PROPERTIES COMPILE_OPTIONS -O1)
endif()
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*undefined")  # these four checks triple the time that the largest kernels take
    target_compile_options(wengert_compiled PRIVATE -fno-sanitize=null,object-size,vptr,alignment)
endif()
set_target_properties(wengert_compiled PROPERTIES POSITION_INDEPENDENT_CODE ON)
