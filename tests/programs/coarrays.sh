#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Coarray Fortran through OpenCoarrays as Debian packages it, beneath TrueRMA: a program of ours, whose time is told beside
# that of the host alone, and OpenCoarrays' own tests, which the package has as executables.
#
#   coarrays.sh MPI_ENV TRUERMA WORK_FOLDER MPI SOURCE IMAGES some|all
set -u
mpi_env=$1 truerma=$2 work=$3 mpi=$4 source=$5 images=$6 extent=$7
kind=${mpi%-*}
failures=0
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1

# Those that ask for image failures (the host MPIs have none), for another number of images, or that the host alone fails.
not_for_us='^(image_fail|image_status|sync_image_ring_abort|increment_my_neighbor$|issue-488|issue-515|issue-552|sync_team$|team_number$)'
few='send_array get_static_array strided_get coarray_distributed_transpose atomics register_alloc_comp_1 teams_coarray_get'

on_images() { # command... : output in `output`
    timeout 60 "$mpi_env" "$mpi" mpiexec -n "$images" "$@" >output 2>&1
}

fail() {
    echo "FAILED: $mpi, $images images: $1: $(tail -n 5 output)"
    failures=$((failures + 1))
}

"caf.$kind" -O2 -o coarray_check "$source" || exit 1
on_images ./coarray_check
echo "the host alone: exit code $?, $(grep -aE 'Test passed|ERROR STOP' output | head -n 1)"
on_images env TRUERMA_STATS="$work/statistics" "$truerma" run ./coarray_check || fail "coarray_check: exit code $?"
grep -a 'Test passed' output || fail 'coarray_check'
[ "$(grep -c '"operations": [1-9]' statistics 2>/dev/null)" -ge "$images" ] || fail "the windows were not TrueRMA's"

folder=$(dirname "$(dpkg -L "libcoarrays-$kind-dev" | grep '/OpenCoarrays-[^/]*-tests/send_array$')")
if [ "$extent" = all ]; then
    names=$(ls "$folder" | grep -Ev "$not_for_us")
else
    names=$few
fi
ran=0
for name in $names; do
    on_images "$truerma" run "$folder/$name" || fail "$name: exit code $?"
    ran=$((ran + 1))
done
echo "$ran of OpenCoarrays' tests ran beneath TrueRMA"
[ $failures -eq 0 ] && [ $ran -gt 5 ] && echo "all checks passed"
exit $((failures > 0))
