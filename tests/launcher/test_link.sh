#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a program links decides: each library name, through other libraries, by every way the loader finds them.
. "$(dirname "$0")/common.sh"
explain=("$truerma" run --explain)

for name in libmpi.so.12 libmpich.so.12 libmpifort.so.12 libmpichfort.so.12 libmpicxx.so.12 libmpi_cray.so.12; do
    library $name
    program direct lib/$name
    expect 0 "^mpich: ./direct links (lib/)?$name\$" "${explain[@]}" ./direct
done
for name in libmpi.so.40 libmpi_mpifh.so.40 libmpi_usempif08.so.40 libmpi_usempi_ignore_tkr.so.40 libmpi_cxx.so.40; do
    library $name
    program direct lib/$name
    expect 0 "^openmpi: ./direct links (lib/)?$name\$" "${explain[@]}" ./direct
done

# Names that only look alike.
for name in libmpiwrap.so.12 libmpir.so.40 libmpfr.so.12 libmpi.so.12.old; do
    library $name
done
program alike lib/libmpiwrap.so.12 lib/libmpir.so.40 lib/libmpfr.so.12
expect_refused 2 'cannot tell which MPI .*alike.* TRUERMA_ABI to mpich, openmpi or abi' "${explain[@]}" ./alike

# The MPI standard's own ABI, whoever's library has it.
library libmpi_abi.so.1
program standard lib/libmpi_abi.so.1
expect 0 '^abi: ./standard links (lib/)?libmpi_abi.so.1$' "${explain[@]}" ./standard
program standard_too lib/libmpi_abi.so.1 lib/libmpi.so.12
expect_refused 2 'links both .*libmpi.so.12 .* and .*libmpi_abi.so.1' "${explain[@]}" ./standard_too

# Other versions are recognised, not served.
library libmpi.so.20
program old lib/libmpi.so.20
expect_refused 2 'libmpi.so.20: an MPI that TrueRMA does not serve' "${explain[@]}" ./old

# Two MPIs: no guess.
program both lib/libmpi.so.12 lib/libmpi.so.40
expect_refused 2 'links both .*libmpi.so.12 .* and .*libmpi.so.40' "${explain[@]}" ./both

# Through libraries: two steps away, found by RUNPATH with $ORIGIN, by the program's RPATH, by LD_LIBRARY_PATH.
library libinner.so.1 lib/libmpi.so.40
library libouter.so.1 -Llib -l:libinner.so.1 -Wl,--enable-new-dtags,-rpath,'$ORIGIN'
program by_runpath -Llib -l:libouter.so.1 -Wl,--enable-new-dtags,-rpath,'$ORIGIN/lib'
expect 0 '^openmpi: ./by_runpath links .*libmpi.so.40 \(through .*/lib/libinner.so.1\)$' "${explain[@]}" ./by_runpath
library libouter.so.1 -Llib -l:libinner.so.1
program by_rpath -Llib -l:libouter.so.1 -Wl,--disable-new-dtags,-rpath,'${ORIGIN}/lib'
expect 0 '^openmpi: .*through .*libinner.so.1' "${explain[@]}" ./by_rpath
program by_variable -Llib -l:libouter.so.1
expect_refused 2 'cannot tell' "${explain[@]}" ./by_variable
expect 0 '^openmpi: .*through .*libinner.so.1' env LD_LIBRARY_PATH="/nonexistent:$PWD/lib" "${explain[@]}" ./by_variable
# RUNPATH, unlike RPATH, says nothing about the libraries of libraries.
program by_runpath_only -Llib -l:libouter.so.1 -Wl,--enable-new-dtags,-rpath,"$PWD/lib"
expect_refused 2 'cannot tell' "${explain[@]}" ./by_runpath_only
# Linked by the linker's name: the library's own name tells.
library libplain.so.1
cp lib/libmpi.so.12 lib/libmpi.so
program unversioned ./lib/libplain.so.1 -Wl,-rpath,"$PWD/lib"
sed 's/libplain\.so\.1/libmpi.so\x00\x00\x00\x00/' unversioned >patched && chmod +x patched
expect 0 '^mpich: ./patched links libmpi.so' "${explain[@]}" ./patched
# A link to the program: $ORIGIN is the program's folder.
mkdir -p elsewhere
ln -sf ../by_rpath elsewhere/app
expect 0 '^openmpi: elsewhere/app links' "${explain[@]}" elsewhere/app

# MPI inside the program, or no loader at all: nothing can stand between, whatever TRUERMA_ABI says.
printf 'int MPI_Init(void *a, void *b);\nint MPI_Init(void *a, void *b) { return a == b; }\nint main(void) { return MPI_Init(0, 0); }\n' >inside.c
"$compiler" -o inside inside.c
expect_refused 2 'inside has MPI linked statically into it.*TRUERMA=off' "${explain[@]}" ./inside
expect_refused 2 'inside has MPI linked statically' env TRUERMA_ABI=mpich PMI_RANK=0 "${explain[@]}" ./inside
program static -static
expect_refused 2 'static is linked statically.*TRUERMA=off' env PMI_RANK=0 "${explain[@]}" ./static

# Damaged files are looked at without harm: cut at every kind of place.
for size in 5 20 63 64 100 500 1000 5000; do
    head -c $size by_runpath >cut
    chmod +x cut
    expect_refused 2 'cannot tell' "${explain[@]}" ./cut
done

finish
