# Groups of Catch2 tests. The library and Catch2 are parsed once, in a precompiled header that all groups share.
add_library(wengert_test_main OBJECT main.cpp apart.cpp)
target_link_libraries(wengert_test_main PUBLIC wengert::compiled Catch2::Catch2)
if(TARGET Catch2::Catch2WithMain)
    target_link_libraries(wengert_test_main PUBLIC Catch2::Catch2WithMain)
endif()
target_compile_options(wengert_test_main PUBLIC -Wall -Wextra)
set_source_files_properties(main.cpp PROPERTIES COMPILE_OPTIONS "-O0;-w")  # nothing but Catch2's own code
target_include_directories(wengert_test_main PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(wengert_test_main PUBLIC WENGERT_TESTS_DIR="${CMAKE_CURRENT_SOURCE_DIR}")

add_library(wengert_test_pch OBJECT pch.cpp)
target_link_libraries(wengert_test_pch PRIVATE wengert_test_main)
# What a compiler cache needs to know about precompiled headers; it changes nothing else.
target_compile_options(wengert_test_main PUBLIC
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
target_precompile_headers(wengert_test_pch PRIVATE catch.hpp <wengert/wengert.hpp>)

add_custom_target(wengert_tests_fast)

# Catch2's own filter by file, and its way to say that a filter which matches nothing is an error.
if(Catch2_VERSION VERSION_LESS 3)
    set(catch_strict -w NoTests)
else()
    set(catch_strict -w UnmatchedTestSpec)
endif()

# wengert_test_group(folder label): an executable test_<folder>, a test <folder>.<file> for each source.
function(wengert_test_group folder label)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
    if(NOT sources)
        return()
    endif()
    add_executable(test_${folder} ${sources})
    target_link_libraries(test_${folder} PRIVATE wengert_test_main)
    target_precompile_headers(test_${folder} REUSE_FROM wengert_test_pch)
    if(label STREQUAL "fast")
        add_dependencies(wengert_tests_fast test_${folder})
    endif()
    foreach(source IN LISTS sources)
        cmake_path(GET source STEM stem)
        file(STRINGS ${source} cases REGEX "TEST_CASE|SCENARIO|METHOD_AS" LIMIT_COUNT 1)
        if(cases)
            add_test(NAME ${folder}.${stem} COMMAND test_${folder} "-#" ${catch_strict} "[#${stem}]")
            set_tests_properties(${folder}.${stem} PROPERTIES LABELS "${folder};${label}" TIMEOUT 600)
        endif()
    endforeach()
endfunction()
