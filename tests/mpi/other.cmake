# SPDX-License-Identifier: BSD-3-Clause
# Programs and languages beyond our own C programs, life cycle, faults, and how TrueRMA comes into a process.

# truerma_add_script_test(<test> TIMEOUT s LABELS label… COMMAND …): takes both cores.
function(add_script_test name)
    cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;COMMAND" ${ARGN})
    add_test(NAME ${name} COMMAND ${arg_COMMAND})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} PROCESSORS 2)
endfunction()

# mpi4py's own tests: two ranks in every check, the others behind `all`.
foreach(mpi ${TRUERMA_MPIS_FOUND})
    foreach(ranks 1 2 3 4)
        set(labels mpi)
        if(NOT ranks EQUAL 2)
            set(labels all)
        endif()
        add_script_test(mpi.mpi4py.${ranks}.${mpi} TIMEOUT 300 LABELS ${labels}
            COMMAND ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/mpi4py_suite.py" "${TRUERMA_MPI_ENV}"
                    $<TARGET_FILE:truerma> "${CMAKE_BINARY_DIR}/mpi4py" ${mpi} ${ranks})
    endforeach()
endforeach()
