#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`make bench`: every experiment of the suite in full, beneath every host MPI that is here, alone and with TrueRMA in
turns, over several launches. Results go to build/bench/<experiment>.json as they come, so that a run that is cut off
goes on where it was; what was measured on a busy machine is measured again, and never published."""

import argparse
import shutil
import signal
import sys

import campaign
import page
from best import summary_tables
from experiments import EXPERIMENTS, PROFILED, adapted, jobs, limit_jobs, with_misses
from machine import host_title, machine_facts, placements
from results import Results, text_of
from runner import BUILD, SIMULATORS, WITH_COMMAND, Benchmarks, MissingProgram, command_of
from shares import missed_cells
from tables import limit_tables, tables_of


PATIENCE_S = 30  # of each launch, with a machine that is not at its best


def number(text, least=1):
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of {least} or more")
    return int(text)


def rank_counts(text):
    return [number(count, least=2) for count in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT",
                        help="of: " + " ".join(EXPERIMENTS) + " (default: all)")
    parser.add_argument("--hosts", help="comma-separated names of tools/mpi-env (default: all that are here)")
    parser.add_argument("--launches", type=int, default=5, help="of each program (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="the demo's short form of an experiment, where it has one")
    parser.add_argument("--reps", type=number, help="samples per cell (default: the experiment's)")
    parser.add_argument("--budget-ms", type=number, help="time for a cell's samples, by which their length is chosen (likewise)")
    parser.add_argument("--ranks", type=rank_counts,
                        help="comma-separated numbers of ranks, 2 and more, of experiments with more than two (likewise)")
    parser.add_argument("--pin", default="auto", help="CPUs of the ranks: auto, or a list such as 0,1")
    parser.add_argument("--with-command", default=WITH_COMMAND, help="what stands before the program with TrueRMA")
    parser.add_argument("--output", default=str(BUILD / "bench"), help="folder for the results (default %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured before")
    parser.add_argument("--list", action="store_true", help="name the experiments and end")
    options = parser.parse_args()
    if options.quick and (options.reps or options.budget_ms or options.ranks):
        parser.error("--quick: has samples and ranks of its own, without --reps, --budget-ms and --ranks")
    return options


def without_busy(store):
    """The runs that may be published, and how many may not."""
    runs = list(store.data["runs"].values())
    good = [run for run in runs if not run["outcome"]["busy"]]
    return good, len(runs) - len(good)


def measured_before(names, options, machine):
    """The runs of other experiments that are stored in the same folder and may be published."""
    stores = [campaign.Store(f"{options.output}/{name}.json", machine, keep=True) for name in names]
    return [run for store in stores for run in without_busy(store)[0]]


def unwanted_keys(store, pending, hosts, benchmarks):
    """What is stored of the hosts' jobs that are no longer among those to be run."""
    wanted = {benchmarks.fingerprint(job) for job in pending}
    return [key for key, run in store.data["runs"].items() if run["job"]["host"] in hosts and key not in wanted]


def run_experiment(experiment, options, benchmarks, hosts, machine, titles):
    """Measures, prints and writes one experiment. Returns its failures as sentences."""
    profiles = experiment.name == "profile"
    others = measured_before(PROFILED, options, machine) if profiles else []
    if profiles:
        experiment = with_misses(experiment, missed_cells(Results(others), hosts))
    store = campaign.Store(f"{options.output}/{experiment.name}.json", machine, keep=not options.fresh)
    runs = campaign.Campaign(store, benchmarks, retries=3, quiet_wait_s=60)

    places = {"": options.pin, **(placements() if experiment.placements and options.pin == "auto" else {})}

    def jobs_of(host, variant, launch):
        return [job for place, pin in places.items()
                for job in jobs(experiment, host, variant, launch, options.quick, pin, place)]

    parts = []  # lists of jobs that are compared with each other
    for launch in range(1 if experiment.under else options.launches):
        for place, pin in places.items():
            parts += [[job] for job in limit_jobs(experiment, launch, options.quick, pin, place)]
        parts += campaign.alternate(hosts, (launch,), jobs_of, experiment.variants)
    runs.pending = [job for part in parts for job in part]
    for job in runs.pending:
        command_of(job, options.with_command)
    if profiles:  # of what missed once and does no more no profile is kept
        store.forget(unwanted_keys(store, runs.pending, hosts, benchmarks))
    for part in parts:
        if experiment.in_turns and len(part) > 1:
            runs.execute_in_turns(part)
        else:
            for job in part:
                runs.execute(job)
    runs.progress.clear()
    good, busy = without_busy(store)
    results = Results(good + others)
    for table in (tables_of(experiment.name, results, titles) + summary_tables(results, titles)
                  + limit_tables(results)):
        print(text_of(table), flush=True)
    if busy:
        print(f"  {busy} launches are not published: other processes used the machine; run it again when it is quiet")
    failures = [f"{job.name()}: {outcome.message}" for job, outcome in runs.failures]
    page.write(f"{options.output}/{experiment.name}.html", experiment.title, good + others, machine, titles, [experiment.name],
               options.with_command, failures)
    print(f"  wrote {store.path} and {experiment.name}.html", flush=True)
    return failures + ([f"{experiment.name}: {busy} launches on a busy machine"] if busy else [])


def main():
    options = arguments()
    if options.list:
        for experiment in EXPERIMENTS.values():
            print(f"{experiment.name:15} {experiment.title}")
        return 0
    names = options.experiments or list(EXPERIMENTS)
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        sys.exit(f"bench: no experiment '{unknown[0]}'; there are: {' '.join(EXPERIMENTS)}")
    machine = machine_facts()
    hosts = options.hosts.split(",") if options.hosts else list(machine["hosts"])
    missing = [host for host in hosts if host not in machine["hosts"]]
    if missing or not hosts:
        sys.exit(f"bench: host MPI '{''.join(missing[:1])}' is not here; here are: {' '.join(machine['hosts']) or 'none'}")
    titles = {host: host_title(host, machine["hosts"][host]) for host in hosts}
    benchmarks = Benchmarks(options.with_command, 0 if options.quick else PATIENCE_S)
    failures = []
    try:
        for name in names:
            if options.quick and not EXPERIMENTS[name].quick:
                print(f"{name}: has no short form, left out")
                continue
            tool = SIMULATORS[EXPERIMENTS[name].under][0] if EXPERIMENTS[name].under else ""
            if tool and not shutil.which(tool):
                print(f"{name}: {tool} is not installed, left out")
                continue
            experiment = adapted(EXPERIMENTS[name], options.reps, options.budget_ms, options.ranks)
            failures += run_experiment(experiment, options, benchmarks, hosts, machine, titles)
    except MissingProgram as error:
        sys.exit(f"bench: {error}")
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what runs is ended, and no pipes are left behind
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\ninterrupted")
