#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank is killed at many moments: the job ends within seconds, with a failure, and nothing of it is left: no process, no
# file in /dev/shm or /tmp that is TrueRMA's. Under MPICH also without the launcher's help, which would kill the survivors:
# they have to notice themselves.
#
#   faults.sh MPI_ENV TRUERMA PROGRAM WORK_FOLDER MPI MOMENT...
set -u -o pipefail
mpi_env=$1 truerma=$2 work=$4 mpi=$5
limit=5
failures=0
mkdir -p "$work"
program=$work/faults-$$ # a name of this run's own, to find what is left of it
cp "$3" "$program"
shift 5
trap 'rm -f "$program"' EXIT

fail() {
    echo "FAILED: $mpi: $1"
    failures=$((failures + 1))
}

left_behind() {
    ls -d /dev/shm/truerma* 2>/dev/null
    pgrep -f "^$program"
}

kill_at() { # MOMENT launcher-options...
    local moment=$1 said status ended died took left
    shift
    said=$(timeout -k 1 30 "$mpi_env" "$mpi" mpiexec "$@" -n 3 "$truerma" run "$program" "$moment" 2>&1 | tr -d "\0")
    status=$?
    ended=$(date +%s.%N)
    died=$(sed -n 's/.*dead at \([0-9.]*\).*/\1/p' <<<"$said" | head -n 1)
    [ -n "$died" ] || { fail "$moment $*: nobody died: $said"; return; }
    [ $status -ne 0 ] || fail "$moment $*: the job ends as if nothing had happened: $said"
    took=$(awk -v a="$died" -v b="$ended" 'BEGIN { printf "%.1f", b - a }')
    awk -v took="$took" -v limit=$limit 'BEGIN { exit took > limit }' || fail "$moment $*: the job ended after $took s, not $limit: $said"
    echo "$moment $*: ended after $took s"
    # The launcher may be gone a little before the last of its processes.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        left=$(left_behind)
        [ -z "$left" ] && return
        sleep 0.1
    done
    fail "$moment $*: left behind: $left"
    pkill -9 -f "^$program"
}

for moment in "$@"; do
    kill_at "$moment"
    [ "${mpi%-*}" != mpich ] || kill_at "$moment" -disable-auto-cleanup
done
[ $failures -eq 0 ] && echo "all checks passed"
exit $((failures > 0))
