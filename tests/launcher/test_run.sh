#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Running: what the program gets, what is kept, what is refused and with which exit code.
. "$(dirname "$0")/common.sh"
run=("$truerma" run)
lib=$work/lib
show=(sh -c 'echo "$LD_PRELOAD"')

# The library is in the process, in front of what was preloaded, once, and the arguments arrive.
expect 0 '^loaded mpich$' env TRUERMA_ABI=mpich "${run[@]}" true
expect 0 '^loaded openmpi$' env TRUERMA_ABI=openmpi "${run[@]}" true
expect 0 '^loaded abi$' env TRUERMA_ABI=abi "${run[@]}" true
library libother.so
other=$PWD/lib/libother.so

preload_is "$lib/libtruerma-mpich.so" "" "${run[@]}"
preload_is "$other:$lib/libtruerma-mpich.so" "$other" "${run[@]}"
preload_is "$other:$other:$lib/libtruerma-mpich.so" "$other $other" "${run[@]}"
preload_is "$lib/libtruerma-mpich.so" "$lib/libtruerma-mpich.so" "${run[@]}"
preload_is "$other:$lib/libtruerma-mpich.so" "$other::$lib/libtruerma-mpich.so:$lib/libtruerma-mpich.so" "${run[@]}"
preload_is "$other:$lib/libtruerma-mpich.so" "$lib/libtruerma-openmpi.so:$other" "${run[@]}"
preload_is "$other:$lib/libtruerma-mpich.so" "$lib/libtruerma-abi.so:$other" "${run[@]}"

expect 0 '^loaded mpich$' env TRUERMA_ABI=mpich "${run[@]}" -- true --help
expect 7 '^loaded mpich$' env TRUERMA_ABI=mpich "${run[@]}" sh -c 'exit 7'
expect 0 '^a b\|-x\|--explain$' sh -c "TRUERMA_ABI=mpich $truerma run sh -c 'echo \"\$1|\$2|\$3\"' sh 'a b' -x --explain | tail -n 1"

# Off: nothing is decided, nothing is preloaded.
expect 0 '^$' env TRUERMA=off "${run[@]}" "${show[@]}"
expect 0 'TRUERMA is off' env TRUERMA=off "${run[@]}" --explain sh
expect_refused 2 'TRUERMA=maybe is not allowed: it may be on or off' env TRUERMA=maybe "${run[@]}" true

# Programs that are not there or cannot be run.
: >plain
for off in "" off; do
    expect_refused 127 'cannot run no-such-program: No such file' env TRUERMA=$off "${run[@]}" no-such-program
    expect_refused 127 'cannot run ./no/such: No such file' env TRUERMA=$off "${run[@]}" ./no/such
    expect_refused 126 'cannot run ./plain: Permission denied' env TRUERMA=$off "${run[@]}" ./plain
    expect_refused 126 'cannot run .: Permission denied' env TRUERMA=$off "${run[@]}" .
done
script no_interpreter '#!/no/such/interpreter'
expect_refused 127 'cannot run ./no_interpreter: No such file' env TRUERMA_ABI=mpich "${run[@]}" ./no_interpreter

# The command line.
expect_refused 2 'run what\?' "${run[@]}"
expect_refused 2 'run has no option --preload' "${run[@]}" --preload true
expect_refused 2 "'go' is no command: the commands are run, launch, info" "$truerma" go
expect_refused 2 'no command' "$truerma"
expect_refused 2 'info takes no arguments, got x' "$truerma" info x
expect 0 '^usage: truerma run' "${run[@]}" --help
expect 0 '^truerma [0-9]+\.[0-9]+\.[0-9]+$' "$truerma" --version
expect 0 '^TrueRMA [0-9]' "$truerma" --help

# The benchmark suite of the source tree.
expect 0 '^skew' "$truerma" bench --list
expect_refused 1 "no experiment 'nonsense'" "$truerma" bench nonsense
expect 0 '^TrueRMA [0-9]' "$truerma" info

# A misspelled knob is told, by the first rank only; info shows what a knob is set to.
expect 0 'TRUERMA_STAT is set but is no knob' env TRUERMA_ABI=mpich TRUERMA_STAT=1 "${run[@]}" true
expect 0 '^loaded mpich' env TRUERMA_ABI=mpich TRUERMA_STAT=1 PMI_RANK=1 "${run[@]}" true
expect 0 'TRUERMA_SPIN +77 +\(set\)' sh -c "TRUERMA_SPIN=77 $truerma info | grep -w TRUERMA_SPIN"
expect 0 'TRUERMA_SPINN +is set but is no knob' sh -c "TRUERMA_SPINN=77 $truerma info | grep -w TRUERMA_SPINN"
expect_refused 2 'TRUERMA_SPIN=x is not allowed' sh -c "TRUERMA_SPIN=x $truerma info >/dev/null"
expect 0 'mpich: TRUERMA_ABI is mpich' env TRUERMA_ABI=mpich TRUERMA_LOG=info "${run[@]}" true

# Every knob is in the manual page.
for knob in $("$truerma" info | grep -oE '^  TRUERMA[A-Z_]*'); do
    expect 0 "^\.B $knob\$" sh -c "$truerma man-page | grep -x '.B $knob'"
done

# The libraries: beside the launcher's folder, else refused; a path that LD_PRELOAD cannot hold.
mkdir -p "a b/bin" "a b/lib" alone/bin
cp "$truerma" "a b/bin/" && cp "$lib"/*.so "a b/lib/" && cp "$truerma" alone/bin/
expect_refused 2 'LD_PRELOAD cannot hold a path with a space' env TRUERMA_ABI=mpich "a b/bin/truerma" run true
expect_refused 2 'libtruerma-mpich.so is not there' env TRUERMA_ABI=mpich alone/bin/truerma run true

# It costs little: 100 launches of a program that ends at once. The bound is for a machine that is busy with other things; an
# interpreter's start in each would break it.
library libmpi.so.12
program quick lib/libmpi.so.12
start=$(date +%s%N)
for _ in $(seq 100); do
    "$truerma" run --explain ./quick >/dev/null || failures=$((failures + 1))
done
spent=$((($(date +%s%N) - start) / 1000000))
[ $spent -lt 3000 ] || {
    echo "FAILED: 100 decisions took $spent ms"
    failures=$((failures + 1))
}

finish
