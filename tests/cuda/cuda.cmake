file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cuda_cache)  # kernels that have been compiled
# The fake driver of CUDA (fake/fake.hpp) with NVRTC and cuBLAS and without, and the tests that run on it: backwards by day,
# forwards and at random by night, and as version 13. On a machine with a GPU the same programs run on that: test_cuda with WENGERT_CUDA_DRIVER unset.
set(fake ${CMAKE_CURRENT_SOURCE_DIR}/cuda/fake)
option(WENGERT_SANITIZED_CUDA "Tests of CUDA also with the fake driver and all kernels under sanitizers" OFF)
set(fake_driver ${fake}/calls.cpp ${fake}/devices.cpp ${fake}/streams.cpp ${fake}/graphs.cpp ${fake}/memory.cpp ${fake}/copies.cpp
    ${fake}/modules.cpp ${fake}/kernels.cpp ${fake}/compile.cpp)
# The driver is compiled once for three libraries.
add_library(fake_parts_driver OBJECT EXCLUDE_FROM_ALL ${fake_driver})
add_library(fake_parts_nvrtc OBJECT EXCLUDE_FROM_ALL ${fake}/nvrtc.cpp)
add_library(fake_cuda MODULE $<TARGET_OBJECTS:fake_parts_driver> $<TARGET_OBJECTS:fake_parts_nvrtc> ${fake}/cublas.cpp)
add_library(fake_cuda_no_blas MODULE $<TARGET_OBJECTS:fake_parts_driver> $<TARGET_OBJECTS:fake_parts_nvrtc>)
add_library(fake_cuda_driver MODULE $<TARGET_OBJECTS:fake_parts_driver>)
add_library(fake_cuda_sanitized MODULE ${fake_driver} ${fake}/nvrtc.cpp ${fake}/cublas.cpp)
foreach(part IN ITEMS parts_driver parts_nvrtc cuda cuda_no_blas cuda_driver cuda_sanitized)
    target_compile_features(fake_${part} PRIVATE cxx_std_20)
    target_compile_definitions(fake_${part} PRIVATE FAKE_FOLDER="${fake}")
    target_compile_options(fake_${part} PRIVATE -Wall -Wextra)
    target_link_libraries(fake_${part} PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(fake_${part} PROPERTIES CXX_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON LINKER_LANGUAGE CXX)
endforeach()

wengert_test_group(cuda "")
add_dependencies(test_cuda fake_cuda fake_cuda_no_blas fake_cuda_driver)
target_link_libraries(test_cuda PRIVATE listed_primitives)

# wengert_on_fake(test SETTING...): its environment.
function(wengert_on_fake test library)
    set_tests_properties(${test} PROPERTIES TIMEOUT 600 ENVIRONMENT "WENGERT_CUDA_DRIVER=$<TARGET_FILE:${library}>;XDG_CACHE_HOME=${CMAKE_CURRENT_BINARY_DIR}/cuda_cache;${ARGN}")
    set_property(TEST ${test} APPEND PROPERTY LABELS cuda)
endfunction()
file(GLOB sources CONFIGURE_DEPENDS cuda/*.cpp)
foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    wengert_on_fake(cuda.${stem} fake_cuda WENGERT_FAKE_CUDA_ORDER=backwards WENGERT_FAKE_CUDA_DEVICES=2)
endforeach()
foreach(run IN ITEMS forwards random:1 random:2)
    string(REPLACE ":" "_" name ${run})
    add_test(NAME cuda.${name} COMMAND test_cuda "~[once]")
    wengert_on_fake(cuda.${name} fake_cuda WENGERT_FAKE_CUDA_ORDER=${run} WENGERT_FAKE_CUDA_VERSION=13000 WENGERT_FAKE_CUDA_DEVICES=2)
    set_property(TEST cuda.${name} APPEND PROPERTY LABELS night)
endforeach()
# The oldest driver that has conditional nodes; cuda.test_cuda_conditions runs on one that has none.
add_test(NAME cuda.conditions COMMAND test_cuda "-#" ${catch_strict} "[#test_cuda_conditions]")
wengert_on_fake(cuda.conditions fake_cuda WENGERT_FAKE_CUDA_VERSION=12040)
# The counters that stand before a GPU's driver (counted_driver.hpp), in the place of the fake one's own.
add_test(NAME cuda.counted COMMAND test_cuda "-#" "[#test_cuda_counts],[#test_cuda_faults],[#test_cuda_captures],[#test_cuda_frozen]")
wengert_on_fake(cuda.counted fake_cuda WENGERT_COUNTED=1)
add_test(NAME cuda.driver_only COMMAND test_cuda "~[once]" "~[libraries]")
wengert_on_fake(cuda.driver_only fake_cuda_driver WENGERT_FAKE_CUDA_VERSION=13000)

# A driver and kernels that were compiled ahead (here text, of which the fake driver makes them): no NVRTC.
wengert_kernels_ahead(fake_kernels $<TARGET_FILE:fake_cuda> WENGERT_FAKE_CUDA_LATER=1)
add_executable(test_cuda_ahead $<TARGET_OBJECTS:test_cuda>)
target_link_libraries(test_cuda_ahead PRIVATE wengert_test_main listed_primitives fake_kernels)
add_test(NAME cuda.ahead COMMAND test_cuda_ahead "-#" "[#test_cuda_ahead],the host helps*")
wengert_on_fake(cuda.ahead fake_cuda_driver)
# The same with those of a real NVRTC, for cuda/first_gpu.sh: with the driver alone, WENGERT_CUDA_DRIVER=libcuda.so.1.
if(TARGET wengert::cuda_kernels)
    add_executable(test_cuda_ahead_gpu EXCLUDE_FROM_ALL $<TARGET_OBJECTS:test_cuda>)
    target_link_libraries(test_cuda_ahead_gpu PRIVATE wengert_test_main listed_primitives wengert::cuda_kernels)
endif()

# With WENGERT_SANITIZED_CUDA, at night: the driver, its cuBLAS and all kernels under the sanitizers, in three orders. The programs are
# as they are: made with sanitizers they take an hour to compile, and they run under them elsewhere. One after another, since
# each finds the kernels of the one before.
set(sanitized -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
target_compile_options(fake_cuda_sanitized PRIVATE ${sanitized})
target_link_options(fake_cuda_sanitized PRIVATE ${sanitized})
if(WENGERT_SANITIZED_CUDA AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    list(JOIN sanitized " " sanitized)
    foreach(library IN ITEMS asan ubsan)
        execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${library}.so OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
        string(APPEND sanitizers "${file} ")
    endforeach()
    add_dependencies(test_cuda fake_cuda_sanitized)
    foreach(run IN ITEMS forwards backwards random:3)
        string(REPLACE ":" "_" name ${run})
        add_test(NAME cuda.sanitized.${name} COMMAND test_cuda)
        wengert_on_fake(cuda.sanitized.${name} fake_cuda_sanitized WENGERT_FAKE_CUDA_ORDER=${run} WENGERT_FAKE_CUDA_DEVICES=2
            "WENGERT_FAKE_CUDA_FLAGS=${sanitized}" "LD_PRELOAD=${sanitizers}"
            ASAN_OPTIONS=detect_leaks=0:handle_segv=0:detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1)
        set_tests_properties(cuda.sanitized.${name} PROPERTIES TIMEOUT 1800 RESOURCE_LOCK sanitized_kernels)
    endforeach()
else()
    set_target_properties(fake_cuda_sanitized PROPERTIES EXCLUDE_FROM_ALL ON)
endif()

# What work on a device asks the driver for, held as counts (cuda/device_bench.py); on a GPU the same program measures.
add_executable(wengert_device ${PROJECT_SOURCE_DIR}/cuda/device_bench.cpp)
option(WENGERT_MEASURED_DEVICE "The device's bench is optimized: cuda/first_gpu.sh measures with it, a test counts calls" OFF)
if(WENGERT_MEASURED_DEVICE)
    target_compile_options(wengert_device PRIVATE -O2)
endif()
target_include_directories(wengert_device PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(wengert_device PRIVATE wengert::compiled)
add_dependencies(wengert_device fake_cuda)
add_test(NAME cuda.bench COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/cuda/device_bench.py $<TARGET_FILE:wengert_device> --check)
wengert_on_fake(cuda.bench fake_cuda)

# What a real NVRTC makes of elementwise kernels; the script says where there is none.
add_test(NAME cuda.ptx COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/cuda/ptx.py $<TARGET_FILE:test_cuda> $<TARGET_FILE:fake_cuda>)
set_tests_properties(cuda.ptx PROPERTIES LABELS cuda TIMEOUT 600 SKIP_RETURN_CODE 77)

add_test(NAME cuda.no_blas COMMAND test_cuda "products*")
wengert_on_fake(cuda.no_blas fake_cuda_no_blas)

# Why there is no device.
add_executable(cuda_reasons cuda/reasons/main.cpp)
target_link_libraries(cuda_reasons PRIVATE wengert::compiled)
add_dependencies(cuda_reasons fake_cuda)
function(wengert_cuda_reason name text)
    add_test(NAME cuda.reason.${name} COMMAND cuda_reasons)
    wengert_on_fake(cuda.reason.${name} fake_cuda ${ARGN})
    set_tests_properties(cuda.reason.${name} PROPERTIES
        PASS_REGULAR_EXPRESSION "0 devices; ${text}\n\\[to\\] ${text} \\(main.cpp:13\\)")
endfunction()
wengert_cuda_reason(not_found "CUDA: /nowhere/libcuda.so was not found" WENGERT_CUDA_DRIVER=/nowhere/libcuda.so)
wengert_cuda_reason(no_driver "CUDA: libm.so.6 has no function cuInit" WENGERT_CUDA_DRIVER=libm.so.6)
wengert_cuda_reason(old "CUDA: driver 11.8 is older than 12.0" WENGERT_FAKE_CUDA_VERSION=11080)
wengert_cuda_reason(no_device "CUDA: the driver knows no device" WENGERT_FAKE_CUDA_DEVICES=0)
wengert_cuda_reason(no_start "CUDA: cuInit failed: CUDA_ERROR_NO_DEVICE \\(an error\\)" WENGERT_FAKE_CUDA_FAIL=cuInit:1:1:100)

# What a machine with a GPU is given, without one: stages by themselves, one JSON.
add_test(NAME cuda.first_gpu COMMAND ${PROJECT_SOURCE_DIR}/cuda/first_gpu.sh --fake --build ${PROJECT_BINARY_DIR} tensors conditions bench memcheck racecheck)
set_tests_properties(cuda.first_gpu PROPERTIES LABELS cuda TIMEOUT 600 PASS_REGULAR_EXPRESSION "tensors: passed.*conditions: passed.*bench: passed.*memcheck: skipped.*racecheck: skipped.*first_gpu.json")
