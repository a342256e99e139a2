#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Under each host MPI for real: C and Fortran programs and mpi4py get the right library in every rank.
# Arguments: launcher, compiler, working folder, tools/mpi-env, folder of the programs, host MPIs...
. "$(dirname "$0")/common.sh"
mpi_env=$4
programs=$5
shift 5

ranks_with() { # ABI MPI command... : both ranks must have loaded the ABI's stand-in, and end well
    local abi=$1 mpi=$2 output status
    shift 2
    output=$("$mpi_env" "$mpi" env -u "${unset_variable-NONE}" mpiexec -n 2 "$truerma" run "$@" 2>&1)
    status=$?
    if [ $status -ne 0 ] || [ "$(grep -c "^loaded $abi\$" <<<"$output")" -ne 2 ] || grep -q 'truerma:' <<<"$output" ||
        [ "$(grep -c '^ *rank . of 2$' <<<"$output")" -ne 2 ]; then
        echo "FAILED: $mpi: $*: exit code $status, it said: $output"
        failures=$((failures + 1))
    fi
}

unset TRUERMA TRUERMA_ABI MPI4PY_MPIABI MPI4PY_LIBMPI
for mpi in "$@"; do
    abi=$(abi_of "$mpi")
    ranks_with "$abi" "$mpi" "$programs/$mpi/launcher_hello"
    if [ -x "$programs/$mpi/launcher_hello_f90" ]; then
        ranks_with "$abi" "$mpi" "$programs/$mpi/launcher_hello_f90"
    fi
    [ "$mpi" = mpich-abi ] && continue # mpi4py's wheels do not have that ABI
    hello='import os
from mpi4py.MPI import COMM_WORLD as world
os.write(1, b"rank %d of %d\n" % (world.rank, world.size))'
    ranks_with "$abi" "$mpi" python3 -c "$hello"
    unset_variable=MPI4PY_MPIABI ranks_with "$abi" "$mpi" python3 -c "$hello"
done

finish
