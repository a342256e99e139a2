#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# truerma launch: the ranks of a node share a session, with a stand-in for MPICH's proxy and under each host MPI for real.
# Arguments: launcher, compiler, working folder, libtruerma-session.so, tools/mpi-env, folder of the programs, host MPIs...
. "$(dirname "$0")/common.sh"
cp "$4" "$work/lib/"
mpi_env=$5
programs=$6
shift 6
unset TRUERMA TRUERMA_ABI LD_PRELOAD
launch=("$truerma" launch)
lib=$work/lib

# A proxy, and the same program by other names: a child that calls setsid says what it is then in, and what a second call says;
# then it becomes the other program, if one is named, as a child becomes a rank.
cat >proxy.c <<'END'
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    pid_t parent_session = getsid(0);
    if (fork() == 0) {
        pid_t answer = setsid();
        printf("%s session,%s group,%s answer", getsid(0) == getpid() ? "own" : getsid(0) == parent_session ? "same" : "strange",
               getpgrp() == getpid() ? " own" : " same", answer == getpid() ? " good" : " bad");
        answer = setsid();
        printf(", then %s\n", answer == -1 && errno == EPERM ? "refused" : "allowed");
        fflush(stdout);
        if (argc > 1)
            execv(argv[1], argv + 1);
        _exit(argc > 1);
    }
    int status = 1;
    wait(&status);
    return status != 0;
}
END
"$compiler" -D_GNU_SOURCE -o hydra_pmi_proxy proxy.c || exit 1
for name in rank not_hydra_pmi_proxy hydra_pmi_proxy2; do
    cp hydra_pmi_proxy $name
done
kept='^same session, own group, good answer, then refused$'
own='^own session, own group, good answer, then refused$'
expect 0 "$own" ./hydra_pmi_proxy
expect 0 "$kept" "${launch[@]}" ./hydra_pmi_proxy
expect 0 "$kept" "${launch[@]}" -- sh -c './hydra_pmi_proxy'
expect 0 "$own" env TRUERMA=off "${launch[@]}" ./hydra_pmi_proxy
for name in rank not_hydra_pmi_proxy hydra_pmi_proxy2; do
    expect 0 "$own" "${launch[@]}" ./$name
done
mkdir of_hydra_pmi_proxy && cp rank of_hydra_pmi_proxy/fifteen_letters # as many as in the proxy's name
expect 0 "$own" "${launch[@]}" ./of_hydra_pmi_proxy/fifteen_letters
expect 0 "$own" sh -c "'$truerma' launch ./hydra_pmi_proxy ./rank | tail -n 1" # who was a proxy's child has sessions as ever

# What was preloaded stays, and truerma run puts its library behind.
library libother.so
other=$PWD/lib/libother.so
session=$lib/libtruerma-session.so
preload_is "$session" "" "${launch[@]}"
preload_is "$other:$session" "$other" "${launch[@]}"
preload_is "$session" "$session" "${launch[@]}"
preload_is "$lib/libtruerma-openmpi.so:$session" "$lib/libtruerma-openmpi.so" "${launch[@]}"
preload_is "$session:$lib/libtruerma-mpich.so" "" "${launch[@]}" "$truerma" run
preload_is "$session:$lib/libtruerma-mpich.so" "$lib/libtruerma-openmpi.so" "${launch[@]}" "$truerma" run

# The command line, and libraries that are not there or have a path that LD_PRELOAD cannot hold.
expect 3 '^--help$' "${launch[@]}" sh -c 'echo "$1"; exit 3' sh --help
expect 0 '^usage: truerma launch' "${launch[@]}" --help
expect_refused 2 'launch what\?' "${launch[@]}"
expect_refused 2 'launch has no option --explain' "${launch[@]}" --explain true
expect_refused 2 'TRUERMA=maybe is not allowed' env TRUERMA=maybe "${launch[@]}" true
expect_refused 127 'cannot run no-such-program: No such file' "${launch[@]}" no-such-program
expect_refused 126 'cannot run \.: Permission denied' "${launch[@]}" .
mkdir -p "a b/bin" "a b/lib" alone/bin
cp "$truerma" "a b/bin/" && cp "$session" "a b/lib/" && cp "$truerma" alone/bin/
expect_refused 2 'LD_PRELOAD cannot hold a path with a space' "a b/bin/truerma" launch true
expect_refused 2 'libtruerma-session.so is not there' alone/bin/truerma launch true

# Under each MPI: one session, a group for each rank, no terminal, the right library, and all gone when mpiexec is ended.
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

until_true() { # WHAT command... : the command becomes true within ten seconds
    local what=$1
    shift
    for _ in $(seq 200); do
        "$@" && return
        sleep 0.05
    done
    fail "$what, after ten seconds"
}

count_is() { # COUNT FILE : the file has so many lines
    [ "$(wc -l <"$2")" -eq "$1" ]
}

all_gone() { # FILE of process IDs: a zombie has ended, too; who adopts it may never look, as in a container
    local pid state
    while read -r pid; do
        { read -r _ _ state _ <"/proc/$pid/stat"; } 2>/dev/null && [ "$state" != Z ] && return 1
    done <"$1"
    return 0
}

rank_says='read -r _ _ _ _ group session terminal _ </proc/$$/stat; echo "rank $$ $group $session $terminal"'
for mpi in "$@"; do
    said=$("$mpi_env" "$mpi" "${launch[@]}" mpiexec -n 2 sh -c "$rank_says" 2>&1) || fail "$mpi: exit code $?: $said"
    [ "$(grep -c '^rank ' <<<"$said")" -eq 2 ] || fail "$mpi: not two ranks: $said"
    [ "$(awk '/^rank /{ print $4 }' <<<"$said" | sort -u | wc -l)" -eq 1 ] || fail "$mpi: ranks of several sessions: $said"
    awk -v family="${mpi%%-*}" '/^rank / && family == "mpich" && ($2 != $3 || $5 != 0) { exit 1 }' <<<"$said" ||
        fail "$mpi: a rank without a group of its own, or with a terminal: $said"

    abi=$(abi_of "$mpi")
    said=$("$mpi_env" "$mpi" "${launch[@]}" mpiexec -n 2 "$truerma" run "$programs/$mpi/launcher_hello" 2>&1) || fail "$mpi: exit code $?: $said"
    [ "$(grep -c "^loaded $abi\$" <<<"$said")" -eq 2 ] && [ "$(grep -c '^ *rank . of 2$' <<<"$said")" -eq 2 ] ||
        fail "$mpi: not two ranks with TrueRMA: $said"

    : >pids
    "$mpi_env" "$mpi" "${launch[@]}" mpiexec -n 2 sh -c 'sleep 60 & echo $$ >>pids; echo $! >>pids; wait' >/dev/null 2>&1 &
    mpiexec=$!
    until_true "$mpi: ranks begin" count_is 4 pids
    kill -TERM $mpiexec
    wait $mpiexec
    until_true "$mpi: ranks and their children end with mpiexec" all_gone pids
done

finish
