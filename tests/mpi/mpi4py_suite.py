#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs mpi4py's own tests of one-sided communication beneath TrueRMA on one host MPI.

usage: mpi4py_suite.py MPI_ENV TRUERMA CACHE MPI RANKS

The tests are those of mpi4py's source distribution, fetched from PyPI into CACHE when it is not there yet. They pass
when every rank says OK, and the statistics prove that the windows were TrueRMA's: every rank has reported windows of
every flavour with operations on them, and none was left to the host MPI.
"""
import collections
import fcntl
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

VERSION = "4.1.2"
SUITES = ["test_rma", "test_rma_nb", "test_win"]
FLAVOURS = {"create", "allocate", "dynamic", "allocate_shared"}
VERDICT = re.compile(r"^OK( \(.*\))?$", re.MULTILINE)
# Each rank prints into a file of its own: what ranks print side by side, the launcher mixes within lines.
TO_FILE_OF_ITS_OWN = ["sh", "-c", 'exec "$@" >"$0/$$" 2>&1']


def fetch(mpi_env, cache):
    """The folder of mpi4py's tests; several tests may ask for it at once."""
    folder = cache / f"mpi4py-{VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".complete").exists():
            # pip asks the package for its metadata, and its build wants to see an mpicc.
            subprocess.run([mpi_env, "mpich-debian", "python3", "-m", "pip", "download", "--quiet",
                            "--disable-pip-version-check", "--no-deps", "--no-binary", "mpi4py", "--dest", cache,
                            f"mpi4py=={VERSION}"], check=True, stdout=sys.stderr)
            with tarfile.open(cache / f"mpi4py-{VERSION}.tar.gz") as archive:
                archive.extractall(cache, filter="data")
            (folder / ".complete").touch()
    return folder / "test"


def check_outputs(outputs, ranks):
    problems = []
    passed = sum(len(VERDICT.findall(output)) == 1 for output in outputs)
    if passed != ranks or len(outputs) != ranks:
        problems.append(f"{passed} of {ranks} ranks said OK, {len(outputs)} printed something")
    if any("goes to the host MPI" in output or "go to the host MPI" in output for output in outputs):
        problems.append("a window was left to the host MPI")
    return problems


def check_statistics(path, ranks):
    problems = []
    windows = collections.Counter()
    flavours = set()
    operations = 0
    for line in path.read_text().splitlines():
        report = json.loads(line)
        windows[report["pid"]] += 1
        flavours.add(report["flavour"])
        for target in report["targets"]:
            operations += sum(kind["operations"] for kind in target["operations"].values())
    if len(windows) != ranks:
        problems.append(f"statistics of {len(windows)} of {ranks} processes")
    if flavours != FLAVOURS:
        problems.append(f"windows of flavours {sorted(flavours)}, expected {sorted(FLAVOURS)}")
    if not operations:
        problems.append("no operation was counted")
    return problems, sum(windows.values()), operations


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    mpi_env, truerma, cache, mpi, ranks = sys.argv[1:]
    ranks = int(ranks)
    tests = fetch(mpi_env, pathlib.Path(cache))
    chosen = [word for suite in SUITES for word in ("-i", suite)]
    with tempfile.TemporaryDirectory() as folder:
        statistics = pathlib.Path(folder) / "statistics.json"
        printed = pathlib.Path(folder) / "printed"
        printed.mkdir()
        run = subprocess.run([mpi_env, mpi, "mpiexec", "-n", str(ranks), *TO_FILE_OF_ITS_OWN, printed, truerma, "run",
                              "python3", "main.py", "-f", *chosen], cwd=tests,
                             env=os.environ | {"TRUERMA_STATS": str(statistics)},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        outputs = [path.read_text(errors="replace") for path in sorted(printed.iterdir())]
        problems = check_outputs(outputs, ranks)
        if run.returncode:
            problems.append(f"exit code {run.returncode}")
        if statistics.exists():
            more, windows, operations = check_statistics(statistics, ranks)
            problems += more
        else:
            problems.append("no window was TrueRMA's: there are no statistics")
    if problems:
        print(run.stdout, *outputs, sep="\n")
        sys.exit("FAILED: " + "; ".join(problems))
    print(f"mpi4py {VERSION}, {mpi}, {ranks} ranks: all passed; {windows} windows, {operations} operations were TrueRMA's")


if __name__ == "__main__":
    main()
