#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How TrueRMA comes into a process: preloaded, by `truerma run`, linked; with a profiling tool above it; switched off; for
# another ABI. In every case that should be TrueRMA's, the statistics must show it.
#
#   interpose.sh MPI_ENV TRUERMA LIBRARY_FOLDER WORK_FOLDER MPI SOURCE_FOLDER
set -u
mpi_env=$1 truerma=$2 libraries=$3 work=$4 mpi=$5 sources=$6
case $mpi in
*-abi) abi=abi others="mpich openmpi" ;;
mpich-*) abi=mpich others="openmpi abi" ;;
openmpi-*) abi=openmpi others="mpich abi" ;;
esac
library=$libraries/libtruerma-$abi.so
ranks=2
windows=$((6 * ranks)) # one per flavour and rank
failures=0
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1

fail() {
    echo "FAILED: $mpi: $1"
    failures=$((failures + 1))
}

run() { # command... : with two ranks; its output is kept in `output`, its statistics in `statistics`
    rm -f statistics
    TRUERMA_STATS=$work/statistics "$mpi_env" "$mpi" mpiexec -n $ranks "$@" >output 2>&1
}

# expect WHAT WINDOWS command... : ends well, all checks passed, so many windows were TrueRMA's.
expect() {
    local what=$1 wanted=$2 found=0
    shift 2
    run "$@" || fail "$what: exit code $?: $(cat output)"
    grep -q ' passed, 0 failed$' output || fail "$what: the program says: $(cat output)"
    [ -e statistics ] && found=$(wc -l <statistics)
    [ "$found" -eq "$wanted" ] || fail "$what: $found windows were TrueRMA's, expected $wanted"
}

expect_tool() { # WHAT command... : as expect, and the tool has seen the calls
    local what=$1
    shift
    expect "$what" $windows "$@"
    [ "$(grep -c '^tool: 6 puts, 19 fences$' output)" -eq $ranks ] || fail "$what: the tool says: $(grep tool output)"
}

build() { # NAME flags... : the program from objects, as a user would link it
    local name=$1
    shift
    "$mpi_env" "$mpi" mpicc -o "$name" interpose.o check.o "$@" || fail "cannot link $name"
}

for source in interpose check interpose_tool; do
    "$mpi_env" "$mpi" mpicc -O2 -std=gnu17 -fPIC -D_GNU_SOURCE -c "$sources/$source.c" || fail "cannot compile $source"
done
build plain
build linked -L"$libraries" -Wl,-rpath,"$libraries" -ltruerma-"$abi"
build with_tool interpose_tool.o
build linked_tool interpose_tool.o -L"$libraries" -Wl,-rpath,"$libraries" -ltruerma-"$abi"
"$mpi_env" "$mpi" mpicc -shared -o libtool.so interpose_tool.o || fail "cannot link the tool"

expect 'the host alone' 0 ./plain
expect 'LD_PRELOAD' $windows env LD_PRELOAD="$library" ./plain
expect 'truerma run' $windows "$truerma" run ./plain
expect 'linked in front' $windows ./linked
expect 'linked and preloaded' $windows "$truerma" run ./linked
expect 'TRUERMA=off, preloaded' 0 env TRUERMA=off LD_PRELOAD="$library" ./plain
expect 'TRUERMA=off, truerma run' 0 env TRUERMA=off "$truerma" run ./plain
expect 'TRUERMA=off, linked' 0 env TRUERMA=off ./linked
expect_tool 'a tool in the program' "$truerma" run ./with_tool
expect_tool 'a tool and TrueRMA linked' ./linked_tool
expect_tool 'a tool preloaded before' env LD_PRELOAD="$work/libtool.so:$library" ./plain
expect_tool 'a tool preloaded before, truerma run' env LD_PRELOAD="$work/libtool.so:$library" "$truerma" run ./plain

# The library of another ABI: one line and exit 2 (the launcher adds what it likes when it hears of a failed rank).
for other in $others; do
    [ -e "$libraries/libtruerma-$other.so" ] || continue # the standard's may have been left out of the build
    said=$("$mpi_env" "$mpi" env LD_PRELOAD="$libraries/libtruerma-$other.so" ./plain 2>&1)
    status=$?
    [ $status -eq 2 ] || fail "the library for $other: exit code $status, expected 2"
    [ "$(wc -l <<<"$said")" -eq 1 ] && grep -q "^truerma: .*preload libtruerma-$abi.so" <<<"$said" ||
        fail "the library for $other says: $said"
done

# No MPI is among what the libraries need, nor another library than the C library's.
for each in "$libraries"/libtruerma-*.so; do
    needed=$(readelf -d "$each" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -Ev '^(libc|libm|libdl|libpthread|ld-linux-x86-64|ld-linux-aarch64)\.so' | tr '\n' ' ')
    [ -z "$needed" ] || fail "${each##*/} needs $needed"
done

[ $failures -eq 0 ] && echo "all checks passed"
exit $((failures > 0))
