# SPDX-License-Identifier: BSD-3-Clause
"""Runs many jobs one after the other: alternating, resumable, with a progress bar, and again where the machine was
busy."""

import dataclasses
import json
import pathlib
import sys
import time

import runner
from machine import same_machine, with_hosts_of
from runner import ALONE, ITSELF


BUSY = "the machine was busy"
HOSTS_OWN = (ALONE, *ITSELF)  # variants without TrueRMA: what goes wrong is a fact about the host


def alternate(hosts, launches, jobs_of, variants):
    """The jobs of every launch, part by part of the experiment, host by host, variant by variant (alone, with TrueRMA): peers
    run as near to each other as can be. `jobs_of(host, variant, launch)` gives a list, as long for all. A list of jobs for each
    part of each launch."""
    return [list(part) for launch in launches
            for part in zip(*(jobs_of(host, variant, launch) for host in hosts for variant in variants))]


def wait_for_quiet(limit_s):
    """Waits until other processes leave the machine alone, at most `limit_s`."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        before = runner.busy_seconds()
        time.sleep(0.5)
        if runner.busy_seconds() - before <= runner.BUSY_SHARE * 0.5 + runner.BUSY_TICKS_S:
            return True
    return False


def same_apart_from_launch(job, kept):
    """Whether `kept`, a job as it is stored, is of the same program in the same place."""
    of_the_launch = ("launch", "args", "timeout_s", "estimate_s")
    now = dataclasses.asdict(job)
    return all(kept.get(name) == now[name] for name in now if name not in of_the_launch)


def is_current(key, job, kept, fingerprint):
    """Whether `kept` has the key that it would have now; `job` is one like it."""
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
    try:
        return fingerprint(type(job)(**fields)) == key
    except TypeError:  # it was stored by another version of the suite
        return False


class Store:
    """Outcomes by fingerprint, in a file that is always whole: what was cut off goes on where it was."""

    def __init__(self, path, machine, keep):
        self.path = pathlib.Path(path)
        self.data = {"machine": machine, "runs": {}}
        if keep and self.path.exists():
            old = json.loads(self.path.read_text())
            if same_machine(old["machine"], machine):
                self.data = {"machine": with_hosts_of(machine, old["machine"]), "runs": old["runs"]}

    def get(self, key):
        return self.data["runs"].get(key)

    def put(self, key, job, outcome, fingerprint, beside=()):
        """What is kept of another program or library goes: all launches of the job, whatever their arguments were, and what ran
        in turns with them, but for the keys in `beside`, which have run in turns with this one: medians over other launches are
        of other minutes, and not to be compared."""
        outdated = {old for old, run in self.data["runs"].items()
                    if same_apart_from_launch(job, run["job"]) and not is_current(old, job, run["job"], fingerprint)}
        partners = {partner for old in outdated for partner in self.data["runs"][old].get("beside", ())}
        for old in outdated | (partners - set(beside)) & self.data["runs"].keys():
            del self.data["runs"][old]
        self.data["runs"][key] = {"job": dataclasses.asdict(job), "outcome": dataclasses.asdict(outcome),
                                  "date": time.strftime("%Y-%m-%d %H:%M:%S %z"), "beside": list(beside)}
        self._write()

    def forget(self, keys):
        for key in keys:
            del self.data["runs"][key]
        if keys:
            self._write()

    def _write(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.data, indent=1))
        new.replace(self.path)


class Progress:
    """A bar with the time left on a terminal, a line per job elsewhere."""

    WIDTH = 28

    def __init__(self, stream=sys.stderr):
        self.begin, self.stream = time.monotonic(), stream
        self.bar = stream.isatty()

    def show(self, text, left_s):
        done = time.monotonic() - self.begin
        part = done / max(done + left_s, 0.001)
        left = round(left_s)
        clock = f"{left // 60}:{left % 60:02d} left"
        if self.bar:
            filled = round(part * self.WIDTH)
            self.stream.write(f"\r\x1b[K[{'#' * filled}{'.' * (self.WIDTH - filled)}] {clock}  {text}")
        else:
            self.stream.write(f"[{part:4.0%}] {clock}  {text}\n")
        self.stream.flush()

    def clear(self):
        if self.bar:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


class Campaign:
    """`programs` runs jobs: run(job), fingerprint(job), outcome(**kept). `pending` is what is still to come, in order; it
    decides what the progress bar says."""

    def __init__(self, store, programs, retries, quiet_wait_s):
        self.store, self.programs = store, programs
        self.retries, self.quiet_wait_s = retries, quiet_wait_s
        self.retry_until = float("inf")  # by the monotonic clock: no job is repeated that would end later
        self.progress = Progress()
        self.pending = []
        self.measured = {}  # seconds of the last job of a kind
        self.failures = []
        self.crashes = {}  # how often, of a host's program

    def estimate(self, job):
        """Seconds that a job takes: as the last one like it did, else as its experiment says."""
        return self.measured.get(dataclasses.replace(job, launch=0), job.estimate_s)

    def left(self):
        return sum(self.estimate(job) for job in self.pending)

    def drop(self, job):
        """A pending job that is not going to be run."""
        self.pending.remove(job)

    def execute(self, job):
        """Runs a job, or takes its outcome from the store. Runs it again, as often as allowed, while the machine was busy
        or the host alone crashed."""
        return self._execute([job], lambda jobs: list(map(self.programs.run, jobs)))[0]

    def execute_in_turns(self, jobs):
        """The same with jobs that are compared with each other: all at the same time, in turns, and all again."""
        return self._execute(jobs, self.programs.run_in_turns)

    def _execute(self, jobs, run):
        keys = {job: self.programs.fingerprint(job) for job in jobs}
        kept = [self.store.get(key) for key in keys.values()]
        if all(one and self._is_settled(job, self.programs.outcome(**one["outcome"])) for job, one in zip(jobs, kept)):
            for job in jobs:
                self.pending.remove(job)
            return [self.programs.outcome(**one["outcome"]) for one in kept]
        outcomes, left, reason = {}, list(jobs), ""
        for attempt in range(self.retries + 1):
            again = f" (again: {reason})" if attempt else ""
            name = left[0].name() if len(left) == 1 else f"{len(left)} times {left[0].program} in turns"
            self.progress.show(f"{name}, launch {left[0].launch + 1}{again}", self.left())
            outcomes.update(zip(left, run(left)))
            left, reason = self._to_be_repeated({job: outcomes[job] for job in left})
            if not left:
                break
            if reason == BUSY and attempt < self.retries:
                self.progress.show("waiting until other processes leave the machine alone", self.left())
                wait_for_quiet(self.quiet_wait_s)
        for job, key in keys.items():
            self.pending.remove(job)
            self.store.put(key, job, outcomes[job], self.programs.fingerprint, list(keys.values()))
            self._note_failure(job, outcomes[job])
        return [outcomes[job] for job in jobs]

    @staticmethod
    def _is_settled(job, outcome):
        """Whether an outcome need not be measured again: what goes wrong with a host alone is a fact about it."""
        return not outcome.busy and (outcome.status == "ok" or job.variant in HOSTS_OWN)

    def _to_be_repeated(self, outcomes):
        """Of jobs that ran at the same time, those to be run again, and why: all but hosts that crash every time."""
        for job, outcome in outcomes.items():
            self.measured[dataclasses.replace(job, launch=0)] = outcome.seconds
        crashed = [job for job, outcome in outcomes.items() if outcome.status == "crash" and job.variant in HOSTS_OWN]
        for job in crashed:
            self.crashes[job.name()] = self.crashes.get(job.name(), 0) + 1
        once = [job for job in crashed if self.crashes[job.name()] == 1]
        late = time.monotonic() + self.quiet_wait_s + sum(outcome.seconds for outcome in outcomes.values()) > self.retry_until
        busy = not late and any(outcome.status == "ok" and outcome.busy for outcome in outcomes.values())
        reason = "the host crashed" if once else BUSY if busy else ""
        return [job for job in outcomes if reason and (job not in crashed or job in once)], reason

    def _note_failure(self, job, outcome):
        """A host that is wrong, hangs or crashes by itself is a fact about it; everything else that goes wrong is an error."""
        if outcome.status == "failed" or (outcome.status != "ok" and job.variant not in HOSTS_OWN):
            self.failures.append((job, outcome))
            self.progress.clear()
            print(f"FAILED: {job.name()}: {outcome.message}", file=sys.stderr)
