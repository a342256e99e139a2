#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# When blocking calls yield under MPICH: with more ranks than cores they may run on, or when all ranks ask for it or do not
# mind and one does; never when one rank refuses. Told by every rank at TRUERMA_LOG=info.
#
#   crowded.sh MPI_ENV TRUERMA PROGRAM MPI
set -u
mpi_env=$1 truerma=$2 program=$3 mpi=$4
cores=$(nproc)
one_core=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
failures=0
unset TRUERMA_YIELD

fail() {
    echo "FAILED: $mpi: $1"
    failures=$((failures + 1))
}

expect() { # WHAT TELLING command... : the program passes, and so many ranks tell
    local what=$1 wanted=$2 said status told
    shift 2
    said=$(TRUERMA_LOG=info timeout 60 "$mpi_env" "$mpi" "$@" 2>&1)
    status=$?
    [ $status -eq 0 ] && grep -q ' passed, 0 failed$' <<<"$said" || fail "$what: exit code $status: $said"
    told=$(grep -c '^truerma: .*blocking calls yield' <<<"$said")
    [ "$told" -eq "$wanted" ] || fail "$what: $told ranks tell, expected $wanted: $said"
}

run=("$truerma" run "$program" windows)
expect 'four ranks on one core' 4 taskset -c "$one_core" mpiexec -n 4 "${run[@]}"
expect 'more ranks than cores' $((cores + 1)) mpiexec -n $((cores + 1)) "${run[@]}"
[ "$cores" -lt 2 ] || expect 'a core for each rank' 0 mpiexec -n 2 "${run[@]}"
expect 'always' 2 env TRUERMA_YIELD=always mpiexec -n 2 "${run[@]}"
expect 'always, alone' 0 env TRUERMA_YIELD=always mpiexec -n 1 "${run[@]}"
expect 'always for one rank of two' 2 mpiexec -n 1 env TRUERMA_YIELD=always "${run[@]}" : -n 1 "${run[@]}"
expect 'never' 0 env TRUERMA_YIELD=never taskset -c "$one_core" mpiexec -n 2 "${run[@]}"
expect 'never for one rank of two' 0 mpiexec -n 1 env TRUERMA_YIELD=never "${run[@]}" : -n 1 env TRUERMA_YIELD=always "${run[@]}"

[ $failures -eq 0 ] && echo "all checks passed"
exit $((failures > 0))
