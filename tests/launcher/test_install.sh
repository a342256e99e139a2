#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An installed TrueRMA: its files, also after the tree was moved; programs built with it by pkg-config and by CMake.
# Arguments: launcher, compiler, working folder, build folder, tools/mpi-env, libdir, folder of this test, host MPIs...
. "$(dirname "$0")/common.sh"
build=$4
mpi_env=$5
libdir=$6
sources=$7
shift 7

check() { # WHAT command... : the command must succeed
    local what=$1 output
    shift
    output=$("$@" 2>&1) || {
        echo "FAILED: $what: $*: $output"
        failures=$((failures + 1))
    }
}

cmake --install "$build" --prefix "$work/first" >/dev/null || exit 1
mv "$work/first" "$work/prefix"
prefix=$work/prefix
for file in bin/truerma "$libdir/libtruerma-session.so" include/truerma.h "$libdir/cmake/TrueRMA/TrueRMAConfig.cmake" share/man/man1/truerma.1; do
    check "$file is installed" test -f "$prefix/$file"
done
for mpi in mpich-debian openmpi-debian "$@"; do
    abi=$(abi_of "$mpi")
    for file in "libtruerma-$abi.so" "pkgconfig/truerma-$abi.pc"; do
        check "$libdir/$file is installed" test -f "$prefix/$libdir/$file"
    done
done
check "nothing points to the build folder" sh -c "! grep -rlIF '$build' '$prefix'"
command -v man >/dev/null && check "the manual page is clean" sh -c "! LC_ALL=C man --warnings -l '$prefix/share/man/man1/truerma.1' 2>&1 >/dev/null | grep ."

# The installed launcher finds the libraries that it was installed with.
library libmpi.so.12
program app lib/libmpi.so.12
expect 0 '^mpich: ' "$prefix/bin/truerma" run --explain ./app
check "the library beside it is taken" sh -c "'$prefix/bin/truerma' run --explain ./app | grep -x '$prefix/$libdir/libtruerma-mpich.so'"

# By pkg-config, in front of each MPI: the library is linked, and the program runs.
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
for mpi in "$@"; do
    abi=$(abi_of "$mpi")
    check "pkg-config with $mpi" "$mpi_env" "$mpi" mpicc -o "linked-$mpi" "$sources/launcher_hello.c" \
        $(pkg-config --cflags --libs "truerma-$abi") "-Wl,-rpath,$prefix/$libdir"
    check "$mpi: the program links TrueRMA" sh -c "readelf -d linked-$mpi | grep -q 'NEEDED.*libtruerma-$abi.so'"
    check "$mpi: the program runs" sh -c "'$mpi_env' $mpi mpiexec -n 2 ./linked-$mpi | grep -q 'rank 1 of 2'"
done

# By CMake, as a user of each MPI would: with that MPI's compiler wrapper.
mkdir -p consumer
cat >consumer/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(TrueRMA 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE TrueRMA::${ABI})
END
cat >consumer/user.c <<'END'
#include <truerma.h>
int main(int argc, char **argv) {
    int version[3];
    MPI_Init(&argc, &argv);
    int code = TRMA_Get_version(&version[0], &version[1], &version[2]);
    MPI_Finalize();
    return code != MPI_SUCCESS || version[0] != TRMA_VERSION_MAJOR;
}
END
for mpi in "$@"; do
    case $mpi in *-pypi) continue ;; esac # one MPI for each ABI
    abi=$(abi_of "$mpi")
    consumer=consumer/build-$abi
    check "find_package for $abi" "$mpi_env" "$mpi" sh -c "cmake -S consumer -B $consumer -DCMAKE_PREFIX_PATH='$prefix' -DABI=$abi -DCMAKE_C_COMPILER=\$(command -v mpicc)"
    check "a build with the package for $abi" cmake --build $consumer
    check "TrueRMA::$abi is linked" sh -c "readelf -d $consumer/user | grep -q 'NEEDED.*libtruerma-$abi.so'"
    check "a program that calls TRMA_Get_version runs on $abi" "$mpi_env" "$mpi" mpiexec -n 1 $consumer/user
done

finish
