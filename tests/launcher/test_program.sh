#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that start others: scripts, interpreters, wrappers; and the launcher's environment for what links no MPI.
. "$(dirname "$0")/common.sh"
explain=("$truerma" run --explain)
library libmpi.so.12
library libmpi.so.40
program mpich_app lib/libmpi.so.12
program openmpi_app lib/libmpi.so.40
mkdir -p "$work/path"
cp mpich_app "$work/path/on_path"

# Scripts: by their interpreter, through a chain of scripts, through env.
script direct "#!$PWD/mpich_app"
expect 0 '^mpich: .*/mpich_app links' "${explain[@]}" ./direct
script spaced "#!  $PWD/openmpi_app   -x y"
expect 0 '^openmpi: ' "${explain[@]}" ./spaced
script chained "#!$PWD/direct"
expect 0 '^mpich: ' "${explain[@]}" ./chained
script by_env '#!/usr/bin/env on_path'
expect 0 '^mpich: .*/path/on_path links' "${explain[@]}" ./by_env
script by_env_s '#!/usr/bin/env -S A=b on_path -u'
expect 0 '^mpich: ' "${explain[@]}" ./by_env_s
script endless "#!$PWD/endless"
expect_refused 2 'cannot tell' "${explain[@]}" ./endless
script shell '#!/bin/sh'
expect_refused 2 'cannot tell which MPI /bin/sh uses' "${explain[@]}" ./shell
script no_line 'exit 3'
expect_refused 2 'cannot tell which MPI /bin/sh uses' "${explain[@]}" ./no_line
: >empty && chmod +x empty
expect_refused 2 'cannot tell' "${explain[@]}" ./empty

# Wrappers: a program among the arguments.
expect 0 '^mpich: ./mpich_app links' "${explain[@]}" env A=b ./mpich_app
expect 0 '^openmpi: ./openmpi_app links' "${explain[@]}" taskset -c 0 ./openmpi_app --option
expect 0 '^mpich: .*on_path links' "${explain[@]}" env on_path
expect 0 '^openmpi: ' env PMI_RANK=0 "${explain[@]}" env ./openmpi_app

# The launcher's environment, for what tells nothing itself.
for variable in PMI_RANK PMI_SIZE PMI_FD MPI_LOCALNRANKS HYDI_CONTROL_FD; do
    expect 0 "^mpich: $variable is set by MPICH's mpiexec" env $variable=1 "${explain[@]}" sh -c :
done
for variable in OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_UNIVERSE_SIZE; do
    expect 0 "^openmpi: $variable is set by Open MPI's mpiexec" env $variable=1 "${explain[@]}" ./shell
done
expect_refused 2 'cannot tell' env PMI_RANK=0 OMPI_COMM_WORLD_RANK=0 "${explain[@]}" sh
expect_refused 2 'cannot tell' env PMIX_RANK=0 "${explain[@]}" sh
# What the program links is stronger.
expect 0 '^openmpi: ' env PMI_RANK=0 "${explain[@]}" ./openmpi_app

# TRUERMA_ABI is stronger than all, and says so when it contradicts the program.
expect 0 '^mpich: TRUERMA_ABI is mpich' env TRUERMA_ABI=mpich OMPI_COMM_WORLD_RANK=0 "${explain[@]}" sh
expect 0 '^openmpi: ' env TRUERMA_ABI=openmpi "${explain[@]}" ./openmpi_app
expect 0 'TRUERMA_ABI is openmpi although ./mpich_app links .*libmpi.so.12' env TRUERMA_ABI=openmpi "${explain[@]}" ./mpich_app
expect 0 '^openmpi: ' env TRUERMA_ABI=openmpi PMI_RANK=1 "${explain[@]}" ./mpich_app
expect 0 '^abi: TRUERMA_ABI is abi' env TRUERMA_ABI=abi PMI_RANK=0 "${explain[@]}" sh
expect 0 'TRUERMA_ABI is abi although ./openmpi_app links .*libmpi.so.40' env TRUERMA_ABI=abi "${explain[@]}" ./openmpi_app
expect_refused 2 'TRUERMA_ABI=mpic is not allowed: it may be mpich, openmpi or abi' env TRUERMA_ABI=mpic "${explain[@]}" ./mpich_app

finish
