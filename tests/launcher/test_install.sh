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
for file in bin/truerma include/truerma.h "$libdir/libtruerma-mpich.so" "$libdir/libtruerma-openmpi.so" \
    "$libdir/pkgconfig/truerma-mpich.pc" "$libdir/pkgconfig/truerma-openmpi.pc" \
    "$libdir/cmake/TrueRMA/TrueRMAConfig.cmake" share/man/man1/truerma.1; do
    check "$file is installed" test -f "$prefix/$file"
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
    abi=${mpi%-*}
    check "pkg-config with $mpi" "$mpi_env" "$mpi" mpicc -o "linked-$mpi" "$sources/launcher_hello.c" -Wl,--no-as-needed \
        $(pkg-config --cflags --libs "truerma-$abi") "-Wl,-rpath,$prefix/$libdir"
    check "$mpi: the program links TrueRMA" sh -c "readelf -d linked-$mpi | grep -q 'NEEDED.*libtruerma-$abi.so'"
    check "$mpi: the program runs" sh -c "'$mpi_env' $mpi mpiexec -n 2 ./linked-$mpi | grep -q 'rank 1 of 2'"
done

# By CMake.
mkdir -p consumer
cat >consumer/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(TrueRMA 0.1 REQUIRED)
foreach(abi mpich openmpi)
    file(WRITE ${CMAKE_BINARY_DIR}/user.c "#include <truerma.h>\nint main(void) { return 0; }\n")
    add_executable(user-${abi} ${CMAKE_BINARY_DIR}/user.c)
    target_link_options(user-${abi} PRIVATE LINKER:--no-as-needed)
    target_link_libraries(user-${abi} PRIVATE TrueRMA::${abi})
endforeach()
END
check "find_package" cmake -S consumer -B consumer/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$compiler"
check "a build with the package" cmake --build consumer/build
for abi in mpich openmpi; do
    check "TrueRMA::$abi is linked" sh -c "readelf -d consumer/build/user-$abi | grep -q 'NEEDED.*libtruerma-$abi.so'"
done

finish
