#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Python: what could be imported decides, found without starting the interpreter (those here are stand-ins).
. "$(dirname "$0")/common.sh"
explain=("$truerma" run --explain)
library libmpi.so.12
library libmpi.so.40

# prefix FOLDER : an installation of Python that holds nothing yet.
prefix() {
    mkdir -p "$1/bin" "$1/lib/python3.11/site-packages"
    program "$1/bin/python3.11"
    ln -sf python3.11 "$1/bin/python3"
}
# venv FOLDER : a virtual environment of `base`.
venv() {
    mkdir -p "$1/bin" "$1/lib/python3.11/site-packages"
    ln -sf "$PWD/base/bin/python3" "$1/bin/python3"
    : >"$1/pyvenv.cfg"
}
# mpi4py FOLDER abi... : mpi4py in a folder of modules, with an extension module for each ABI.
mpi4py() {
    local folder=$1/mpi4py abi
    mkdir -p "$folder"
    shift
    for abi in "$@"; do
        case $abi in
        mpich) library MPI.mpich.so -Llib -l:libmpi.so.12 ;;
        openmpi) library MPI.openmpi.so -Llib -l:libmpi.so.40 ;;
        esac
        mv "lib/MPI.$abi.so" "$folder/"
    done
}

prefix base
expect_refused 2 'cannot tell .*no mpi4py with an MPI is importable.*TRUERMA_ABI' "${explain[@]}" base/bin/python3 app.py

# The wheels put libmpi into the environment's lib.
venv with_mpich && cp lib/libmpi.so.12 with_mpich/lib/
expect 0 '^mpich: with_mpich/lib/libmpi.so.12 lies beside' "${explain[@]}" with_mpich/bin/python3 app.py
venv with_openmpi && cp lib/libmpi.so.40 with_openmpi/lib/
expect 0 '^openmpi: with_openmpi/lib/libmpi.so.40 lies beside' "${explain[@]}" with_openmpi/bin/python3 app.py
# Both: mpi4py takes libmpi.so first, whose own name tells.
venv with_both && cp lib/libmpi.so.12 with_both/lib/ && cp lib/libmpi.so.40 with_both/lib/
expect 0 '^mpich: ' "${explain[@]}" with_both/bin/python3 app.py
cp lib/libmpi.so.40 with_both/lib/libmpi.so
expect 0 '^openmpi: with_both/lib/libmpi.so lies' "${explain[@]}" with_both/bin/python3 app.py
# A link to an interpreter from outside of an environment is that installation's, not the link's folder's.
mkdir -p tools/bin tools/lib && ln -sf "$PWD/base/bin/python3" tools/bin/python3 && cp lib/libmpi.so.12 tools/lib/
expect_refused 2 'cannot tell' "${explain[@]}" tools/bin/python3 app.py

# Without such a libmpi: the MPI that the one mpi4py links.
venv built && mpi4py built/lib/python3.11/site-packages openmpi
expect 0 '^openmpi: .*/mpi4py/MPI.openmpi.so links it' "${explain[@]}" built/bin/python3 app.py
mpi4py modules mpich
expect 0 '^mpich: modules/mpi4py/MPI.mpich.so links it' env PYTHONPATH=/nonexistent:modules "${explain[@]}" base/bin/python3 app.py
# The wheels' modules serve both: the loader's libmpi decides.
venv wheel && mpi4py wheel/lib/python3.11/site-packages mpich openmpi
mkdir -p found && cp lib/libmpi.so.40 found/libmpi.so
expect 0 "^openmpi: mpi4py would load the system's libmpi.so" env LD_LIBRARY_PATH=found "${explain[@]}" wheel/bin/python3 app.py
cp lib/libmpi.so.12 found/libmpi.so
expect 0 "^mpich: mpi4py would load the system's libmpi.so" env LD_LIBRARY_PATH=found "${explain[@]}" wheel/bin/python3 app.py

# mpi4py's variables, then mpiexec's, come before what lies about.
expect 0 '^openmpi: MPI4PY_MPIABI is openmpi' env MPI4PY_MPIABI=openmpi PMI_RANK=0 "${explain[@]}" with_mpich/bin/python3 app.py
expect 0 '^mpich: MPI4PY_MPIABI is impi' env MPI4PY_MPIABI=impi "${explain[@]}" base/bin/python3 app.py
expect 0 '^openmpi: MPI4PY_LIBMPI is ' env MPI4PY_LIBMPI="$PWD/found2:$PWD/lib/libmpi.so.40" "${explain[@]}" base/bin/python3 app.py
expect 0 '^mpich: MPI4PY_LIBMPI is ' env MPI4PY_LIBMPI="$PWD/found" "${explain[@]}" base/bin/python3 app.py
expect 0 "^openmpi: OMPI_COMM_WORLD_RANK" env OMPI_COMM_WORLD_RANK=0 "${explain[@]}" with_mpich/bin/python3 app.py
expect 0 '^abi: MPI4PY_MPIABI is mpiabi' env MPI4PY_MPIABI=mpiabi PMI_RANK=0 "${explain[@]}" base/bin/python3 app.py
library libmpi_abi.so.1
expect 0 '^abi: MPI4PY_LIBMPI is ' env MPI4PY_LIBMPI="$PWD/lib/libmpi_abi.so.1" "${explain[@]}" base/bin/python3 app.py

# Scripts of an environment.
script app "#!$PWD/with_openmpi/bin/python3"
expect 0 '^openmpi: ' "${explain[@]}" ./app
script app '#!/usr/bin/env python3'
expect 0 '^mpich: ' env PATH="$PWD/with_mpich/bin:/usr/bin:/bin" "${explain[@]}" ./app

# pyenv: a shell script stands where the interpreter is looked for.
mkdir -p pyenv/shims pyenv/versions project/deep
for version in 3.1 3.2 3.3; do
    prefix pyenv/versions/$version
done
cp lib/libmpi.so.12 pyenv/versions/3.1/lib/
cp lib/libmpi.so.40 pyenv/versions/3.2/lib/
script pyenv/shims/python3 '#!/usr/bin/env bash'
pyenv=$PWD/pyenv
echo 3.1 >pyenv/version
expect 0 '^mpich: .*/versions/3.1/lib/libmpi.so.12 lies' "${explain[@]}" "$pyenv/shims/python3" app.py
expect 0 '^openmpi: .*/versions/3.2/' env PYENV_VERSION=3.2:3.1 "${explain[@]}" "$pyenv/shims/python3" app.py
expect_refused 2 'cannot tell which MPI .*/versions/3.3/' env PYENV_VERSION=3.3 "${explain[@]}" "$pyenv/shims/python3" app.py
echo 3.2 >project/.python-version
expect 0 '^openmpi: ' env -C project/deep "${explain[@]}" "$pyenv/shims/python3" app.py
expect_refused 2 'cannot tell' env PYENV_VERSION=9.9 "${explain[@]}" "$pyenv/shims/python3" app.py

finish
