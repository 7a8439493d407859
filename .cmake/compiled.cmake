# wengert::compiled: the tape, the compiler of frozen graphs and the primitives in a library of its own, so that sources which
# use them compile in about half the time. It is built with the flags of whoever adds this project, as kernels must be, and
# optimized all the same where those do not.
set(wengert_compiled_sources)
foreach(part IN ITEMS transforms/eager graph/compiler graph/freeze graph/emit/emit_cpp graph/emit/native ops/library scalar/compiled)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/wengert_compiled/${part}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <wengert/${part}_source.hpp>\n")
    list(APPEND wengert_compiled_sources ${source})
endforeach()
add_library(wengert_compiled STATIC EXCLUDE_FROM_ALL ${wengert_compiled_sources})
add_library(wengert::compiled ALIAS wengert_compiled)
target_link_libraries(wengert_compiled PUBLIC wengert::wengert)
target_compile_definitions(wengert_compiled PUBLIC WENGERT_COMPILED)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(wengert_compiled PRIVATE -O2)
endif()
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*undefined")  # these four checks triple the time that the largest kernels take
    target_compile_options(wengert_compiled PRIVATE -fno-sanitize=null,object-size,vptr,alignment)
endif()
set_target_properties(wengert_compiled PROPERTIES POSITION_INDEPENDENT_CODE ON)
