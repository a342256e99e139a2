#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# NWChem as Debian packages it (Global Arrays over ARMCI-MPI: all its traffic between ranks is MPI RMA), unmodified, beneath
# TrueRMA: the energy must be right and the windows TrueRMA's. The same on the host alone is told, not judged: Debian's
# MPICH alone gives wrong results with two ranks and more.
#
#   nwchem.sh MPI_ENV TRUERMA WORK_FOLDER MPI RANKS INPUT LABEL ENERGY [alone]
set -u
mpi_env=$1 truerma=$2 work=$3 mpi=$4 ranks=$5 input=$6 label=$7 energy=$8 also=${9-}
rm -rf "$work"
mkdir -p "$work/ours" "$work/alone"

# calculate FOLDER launcher... : prints "energy seconds", or what went wrong.
calculate() {
    local folder=$1 begun ended found
    shift
    cd "$folder" || exit 1
    begun=$(date +%s.%N)
    "$mpi_env" "$mpi" mpiexec -n "$ranks" "$@" "nwchem.${mpi%-*}" "$input" >output 2>&1 ||
        echo "exit code $?: $(grep -a 'ARMCI Error' output | head -n 1)"
    ended=$(date +%s.%N)
    found=$(sed -n "s|^ *$label *[=:]* *\(-\?[0-9.]*\).*|\1|p" output | tail -n 1)
    awk -v a="$begun" -v b="$ended" -v e="$found" 'BEGIN { printf "%s %.1f\n", e == "" ? "none" : e, b - a }'
}

is_right() { # energy: equal to the digits that every right run prints alike
    awk -v a="$1" -v b="$energy" 'BEGIN { d = a - b; exit !(a != "none" && d < 1e-10 && d > -1e-10) }'
}

[ -z "$also" ] || echo "the host alone: $(calculate "$work/alone")"
said=$(TRUERMA_STATS=$work/statistics calculate "$work/ours" "$truerma" run)
echo "beneath TrueRMA: $said"
is_right "${said% *}" || {
    echo "FAILED: $mpi, $ranks ranks: the energy is not $energy"
    tail -n 30 "$work/ours/output"
    exit 1
}
[ "$(grep -c '"operations": [1-9]' "$work/statistics" 2>/dev/null)" -ge "$ranks" ] || {
    echo "FAILED: $mpi, $ranks ranks: the windows were not TrueRMA's"
    exit 1
}
