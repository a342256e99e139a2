#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the program `statistics` with TRUERMA_STATS=FILE and compares the JSON lines with what the program did.

usage: statistics.py MPI_ENV LAUNCHER PROGRAM MPI RANKS FILE
"""
import json
import os
import pathlib
import subprocess
import sys

FLAVOURS = ["create", "allocate", "allocate_shared", "create", "dynamic", "create"]
# What statistics.c does on every window towards the next rank: (operations, bytes).
EXPECTED = {"put": (3, 24), "get": (2, 200), "accumulate": (1, 8), "get_accumulate": (1, 16),
            "fetch_and_op": (4, 32), "compare_and_swap": (5, 40)}
WAITS = {"fence": 3, "lock": 1, "unlock": 1, "lock_all": 1, "unlock_all": 1, "post": 1, "wait": 1, "start": 1,
         "complete": 1}


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def check_window(line, flavour_index, ranks):
    rank, window = line["rank"], line["window"]
    where = f"window {window} of rank {rank}"
    check(line["flavour"] == FLAVOURS[flavour_index], f"{where} is said to be '{line['flavour']}'")
    check(line["name"] == f"window_{flavour_index}", f"{where} has the name '{line['name']}'")
    check([t["rank"] for t in line["targets"]] == list(range(ranks)), f"{where} does not list every target once")
    following = (rank + 1) % ranks
    for target in line["targets"]:
        counted = {k: (v["operations"], v["bytes"]) for k, v in target["operations"].items()}
        expected = EXPECTED if target["rank"] == following else {}
        check(counted == expected, f"{where} to {target['rank']}: {counted}, expected {expected}")
        path = target["path"]
        if line["flavour"] == "dynamic":
            allowed = {"dynamic"}
        elif target["rank"] == rank:
            allowed = {"self"}
        elif flavour_index in (1, 2, 3):
            allowed = {"mapped"}
        else:
            allowed = {"mapped", "cma", "mapped + cma"}
        check(path in allowed, f"{where} to {target['rank']}: path '{path}', expected one of {sorted(allowed)}")
    for kind, calls in WAITS.items():
        got = line["waits"].get(kind, {"calls": 0})
        check(got["calls"] == calls, f"{where}: {kind} was called {got['calls']} times, expected {calls}")
        check(got["seconds"] >= 0, f"{where}: {kind} waited for {got['seconds']} s")


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    mpi_env, launcher, program, mpi, ranks, file = sys.argv[1:]
    ranks = int(ranks)
    path = pathlib.Path(file)
    path.unlink(missing_ok=True)
    subprocess.run([mpi_env, mpi, "mpiexec", "-n", str(ranks), launcher, "run", program], check=True,
                   env=os.environ | {"TRUERMA_STATS": str(path)})
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    check(len(lines) == ranks * len(FLAVOURS), f"{len(lines)} windows are told, expected {ranks * len(FLAVOURS)}")
    for rank in range(ranks):
        mine = sorted((line for line in lines if line["rank"] == rank), key=lambda line: line["window"])
        check(len({line["pid"] for line in mine}) == 1, f"rank {rank} has several process numbers")
        for index, line in enumerate(mine):
            check_window(line, index, ranks)
    text = subprocess.run([mpi_env, mpi, "mpiexec", "-n", str(ranks), launcher, "run", program], check=True,
                          env=os.environ | {"TRUERMA_STATS": "1"}, capture_output=True, text=True).stderr
    check(text.count("put 3 (24 bytes)") == ranks * len(FLAVOURS), "the report on stderr has not all windows")
    print(f"{len(lines)} windows as expected")


if __name__ == "__main__":
    main()
