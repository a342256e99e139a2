#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Little room and wrong settings: a right program ends well under `ulimit -n 64` and in a small address space (a lesser path
# is told, or the host's windows serve), a wrong setting ends it with one line per process and exit code 2.
#
#   lifecycle_limits.sh MPI_ENV TRUERMA PROGRAM MPI
set -u
mpi_env=$1 truerma=$2 program=$3 mpi=$4
failures=0

fail() {
    echo "FAILED: $mpi: $1"
    failures=$((failures + 1))
}

# under LIMIT... -- : the program beneath TrueRMA, in every rank under these limits of the shell.
under() { # WHAT LIMIT
    local said status
    said=$(timeout 60 "$mpi_env" "$mpi" mpiexec -n 2 bash -c "ulimit $2 && exec \"\$0\" run \"\$@\"" "$truerma" "$program" alive 60 2>&1)
    status=$?
    [ $status -eq 0 ] && grep -q ' passed, 0 failed$' <<<"$said" || fail "$1: exit code $status: $said"
}

wrong() { # NAME VALUE
    local said status lines
    said=$(timeout 60 "$mpi_env" "$mpi" env "$1=$2" "$truerma" run "$program" unfreed 5 2>&1)
    status=$?
    lines=$(grep -c "^truerma: .*$1" <<<"$said")
    [ $status -eq 2 ] && [ "$lines" -eq 1 ] || fail "$1=$2: exit code $status, expected 2 and one line: $said"
}

under 'few descriptors' '-n 64'
# What MPI itself needs, and little more: the hosts map up to some GiB of libraries and shared memory.
under 'small address space' "-v $((3 << 20))"
wrong TRUERMA maybe
wrong TRUERMA_LOG loud
wrong TRUERMA_SPIN -1
wrong TRUERMA_ADOPT sometimes
wrong TRUERMA_CMA 7
wrong TRUERMA_HEAP_CHUNK 3

# A setting that does not exist is told, and the program runs.
said=$("$mpi_env" "$mpi" env TRUERMA_SPEED=high "$truerma" run "$program" unfreed 5 2>&1)
[ $? -eq 0 ] && grep -q '^truerma: TRUERMA_SPEED is not a setting' <<<"$said" || fail "an unknown setting: $said"

[ $failures -eq 0 ] && echo "all checks passed"
exit $((failures > 0))
