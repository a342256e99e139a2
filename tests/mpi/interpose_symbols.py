#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what our library exports with the table it is made from, and with what a host's libmpi exports.

usage: interpose_symbols.py LIBRARY EXPORTS_MAP LIBMPI

Every call of the one-sided chapter that the host exports must be wrapped, unless it is known to need no wrapper; and
nothing may be exported that the ABI does not have (mpi4py refers to large-count calls weakly and would find ours).
"""
import re
import subprocess
import sys

# The host's window stands behind every window of ours and carries these itself.
CARRIED_BY_HOST = {
    "Win_set_name", "Win_get_name", "Win_set_attr", "Win_delete_attr", "Win_create_keyval", "Win_free_keyval",
    "Win_create_errhandler", "Win_set_errhandler", "Win_get_errhandler", "Win_call_errhandler", "Win_get_group",
    "Win_c2f", "Win_f2c", "Win_toint", "Win_fromint",
}
ONE_SIDED = re.compile(r"P?MPI_((?:Win_\w+|Put|Get|R?accumulate|Accumulate|R?get_accumulate|Get_accumulate|Fetch_and_op"
                       r"|Compare_and_swap|Rput|Rget|Raccumulate|Rget_accumulate|Alloc_mem|Free_mem)(?:_c)?)$")


def exported(path):
    lines = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines()}


def named_in_map(path):
    with open(path) as file:
        body = re.search(r"global:(.*)local:", file.read(), re.DOTALL).group(1)
    return {name for name in re.findall(r"[\w*]+", body) if "*" not in name}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    ours = {name for name in exported(sys.argv[1]) if not name.startswith("TRMA_")}
    table = named_in_map(sys.argv[2])
    host = exported(sys.argv[3])
    one_sided = {name for name in host if ONE_SIDED.match(name)}
    problems = []
    if not one_sided:
        problems.append(f"{sys.argv[3]} exports no one-sided call: is it an MPI?")
    for what, names in (
        ("in the table, but not exported", table - ours),
        ("exported, but not in the table", ours - table),
        ("one-sided calls of the host that are not wrapped",
         {name for name in one_sided - ours if ONE_SIDED.match(name).group(1) not in CARRIED_BY_HOST}),
        # One build serves all versions of its ABI, so an older host may lack calls, but not those without _c.
        ("large-count calls where the host has none",
         {name for name in ours if name.endswith("_c")} if not any(n.endswith("_c") for n in one_sided) else set()),
        ("exported without PMPI_ twin", {n for n in ours if n.startswith("MPI_") and "P" + n not in ours}),
    ):
        if names:
            problems.append(f"{what}: {' '.join(sorted(names))}")
    if problems:
        sys.exit("FAILED: " + "\nFAILED: ".join(problems))
    print(f"{len(ours)} symbols exported; all {len(one_sided)} one-sided symbols of {sys.argv[3]} are accounted for")


if __name__ == "__main__":
    main()
