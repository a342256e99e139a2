#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An error under the default handler ends the whole job soon, with the host's text and a failing exit status.
# usage: fatal.sh MPI_ENV LAUNCHER PROGRAM MPI
set -u
mpi_env=$1 launcher=$2 program=$3 mpi=$4
failed=0

for error in rank range epoch one-rank unit; do
    output=$(timeout -k 1 10 "$mpi_env" "$mpi" mpiexec -n 3 "$launcher" run "$program" $error 2>&1 | tr -d "\0"; exit "${PIPESTATUS[0]}")
    status=$?
    if [ $status -eq 0 ] || [ $status -eq 124 ] || [ $status -eq 137 ]; then
        echo "FAILED: after the error '$error' the job ended with status $status (124: not within 10 s)"
        failed=1
    elif grep -q "came to its end" <<<"$output"; then
        echo "FAILED: a rank went on after the error '$error'"
        failed=1
    # Open MPI 4.1 sometimes loses the text on its way to mpiexec, which says so.
    elif ! grep -qE "MPI_ERR_|error stack|Fatal error|ORTE_ERROR_LOG.*show_help" <<<"$output"; then
        printf "FAILED: the error '%s' was not told:\n%s\n" "$error" "$output"
        failed=1
    fi
done
exit $failed
