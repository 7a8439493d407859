# Programs of several ranks: mpi.<file>.<ranks>, run by mpirun. Where no MPI is installed there are none of them.
# C++ bindings of MPI are not used, and their headers are full of warnings.
find_package(MPI COMPONENTS CXX QUIET)
if(NOT TARGET MPI::MPI_CXX)
    message(STATUS "wengert: no MPI, so no tests of <wengert/mpi.hpp> (Debian: libopenmpi-dev openmpi-bin)")
    return()
endif()
# Ranks that wait give their core away: where other programs run, those that spin took a hundred times as long.
set(mpi_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
                    OMPI_MCA_mpi_yield_when_idle=1)
file(GLOB sources CONFIGURE_DEPENDS mpi/*.cpp)
add_custom_target(wengert_tests_mpi)
foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    add_executable(mpi_${stem} ${source})
    target_link_libraries(mpi_${stem} PRIVATE wengert::compiled MPI::MPI_CXX)
    target_compile_options(mpi_${stem} PRIVATE -Wall -Wextra)
    target_compile_definitions(mpi_${stem} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    add_dependencies(wengert_tests_mpi mpi_${stem})
    foreach(ranks IN ITEMS 1 2 3 4)
        set(name mpi.${stem}.${ranks})
        add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E env ${mpi_environment} ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:mpi_${stem}>)
        set_tests_properties(${name} PROPERTIES LABELS mpi TIMEOUT 300)
        if(ranks GREATER 1)
            set_tests_properties(${name} PROPERTIES PROCESSORS 2)
        endif()
    endforeach()
endforeach()

# A rank that is lost: it exits, is killed, throws.
add_executable(mpi_lost_rank mpi/lost/lost_rank.cpp)
target_link_libraries(mpi_lost_rank PRIVATE wengert::compiled MPI::MPI_CXX)
target_compile_definitions(mpi_lost_rank PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
add_dependencies(wengert_tests_mpi mpi_lost_rank)
add_test(NAME mpi.lost_rank COMMAND ${CMAKE_COMMAND} -E env ${mpi_environment} ${Python3_EXECUTABLE} -B
         ${CMAKE_CURRENT_SOURCE_DIR}/mpi/lost/lost_rank.py ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} $<TARGET_FILE:mpi_lost_rank>)
set_tests_properties(mpi.lost_rank PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
