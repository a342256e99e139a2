#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`truerma report`: one page with plots and tables from the results of any experiments (JSON files of `make bench` or
`make demo`)."""

import argparse
import glob
import json
import pathlib
import sys

import page
from experiments import EXPERIMENTS
from machine import host_title, same_machine, with_hosts_of
from runner import APPS_FILES, BUILD, WITH_COMMAND


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="results (default: all of build/bench but those of the scientific codes)")
    parser.add_argument("--output", default=str(BUILD / "bench" / "report.html"), help="default %(default)s")
    parser.add_argument("--title", default="TrueRMA: results")
    return parser.parse_args()


def read_runs(files):
    """The undisturbed runs of all files, and the machine that they all come from."""
    runs, machine = [], None
    for name in files:
        try:
            with open(name, encoding="utf-8") as file:
                data = json.load(file)
            its_machine, its_runs = data["machine"], data["runs"].values()
        except (OSError, ValueError, KeyError, TypeError) as error:
            sys.exit(f"report: {name} holds no results of this suite: {error}")
        if machine and not same_machine(machine, its_machine):
            sys.exit(f"report: {name} comes from another machine or other MPIs than {files[0]}: give them apart")
        machine = with_hosts_of(machine, its_machine)
        runs += [run for run in its_runs if not run["outcome"]["busy"]]
    return runs, machine


def main():
    options = arguments()
    files = options.files or [path for path in sorted(glob.glob(str(BUILD / "bench" / "*.json")))
                              if pathlib.Path(path).name not in APPS_FILES]
    if not files:
        sys.exit("report: no results in build/bench: run make bench, or name files")
    runs, machine = read_runs(files)
    if not runs:
        sys.exit("report: every run was made on a busy machine: nothing to publish")
    titles = {host: host_title(host, version) for host, version in machine["hosts"].items()}
    page.write(options.output, options.title, runs, machine, titles, list(EXPERIMENTS), WITH_COMMAND)
    print(f"wrote {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
