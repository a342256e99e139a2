# SPDX-License-Identifier: BSD-3-Clause
"""Runs one application (apps/) beneath a host MPI, alone or with TrueRMA, and takes its verdict from its JSON report.

A run ends in one of these ways: ok (verified, exit status 0); failed (wrong result); crash (ended in another way, without
a verdict); hang (it was ended after its time limit)."""

import dataclasses
import json
import pathlib
import subprocess
import tempfile

import runner
from runner import ALONE, WITH

APPS = ("mg", "cg", "summa", "ljmd", "quake", "lu", "bfs")
COMMS = ("p2p", "rma", "rma-nb")
WINDOWS = ("create", "allocate")


@dataclasses.dataclass(frozen=True)
class Run:
    """One launch of an application. `pins`: CPUs that the ranks are pinned to, one each; none: not pinned."""

    host: str
    app: str
    variant: str  # ALONE or WITH
    comm: str
    window: str = "create"
    ranks: int = 2
    problem_class: str = "S"
    pins: tuple = ()
    launch: int = 0
    stats: bool = False  # have TrueRMA write its statistics
    args: tuple = ()  # the application's own options
    timeout_s: float = 60.0
    estimate_s: float = 1.0

    def name(self):
        with_ = " with TrueRMA" if self.variant == WITH else " alone"
        return f"{self.app} {self.comm} {self.window} class {self.problem_class}, {self.ranks} ranks, {self.host}{with_}"


@dataclasses.dataclass
class Outcome:
    status: str  # ok, failed, crash, hang
    seconds: float  # of the whole launch
    other_cores: float  # what other processes used meanwhile, in cores
    busy: bool
    report: dict  # as the application printed it; empty without one
    stats: list = dataclasses.field(default_factory=list)  # TrueRMA's statistics, one entry per window and rank
    message: str = ""


def program_path(run, build):
    return build / "apps" / run.host / run.app


def launcher_path(build):
    return build / "bin" / "truerma"


def missing_file(run, build):
    """What the run needs and is not there, or None."""
    needed = [program_path(run, build)] + ([launcher_path(build)] if run.variant == WITH else [])
    return next((path for path in needed if not path.exists()), None)


def command_of(run, build):
    launched = [str(launcher_path(build)), "launch"] if run.variant == WITH and runner.is_crowded(run.ranks) else []
    command = [str(runner.MPI_ENV), run.host, *launched, "mpiexec", "-n", str(run.ranks)]
    if run.pins:
        command += [str(runner.ROOT / "bench" / "pin"), ",".join(map(str, run.pins))]
    if run.variant == WITH:
        command += [str(launcher_path(build)), "run"]
    return command + [str(program_path(run, build)), f"--comm={run.comm}", f"--window={run.window}",
                      f"--class={run.problem_class}", "--json", *run.args]


def parse_report(text):
    """The JSON report within the output, or {}: an MPI may print around it."""
    start = text.find('{"application"')
    if start < 0:
        return {}
    try:
        return json.JSONDecoder().raw_decode(text[start:])[0]
    except json.JSONDecodeError:
        return {}


def read_stats(path):
    """TrueRMA's statistics: one JSON object per line, window and rank; [] when there are none."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def last_words(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()]
    return (telling or lines or ["no output"])[-1][:300]


def judge(run, returncode, output, errors):
    """(status, message, report) of a run that ended by itself."""
    report = parse_report(output)
    if returncode != 0 and report.get("verified") is False:
        wrong = [name for name, check in report["checks"].items() if not check["good"]]
        return "failed", f"wrong result: {', '.join(wrong)}", report
    if returncode != 0:
        return "crash", f"exit status {returncode}: {last_words(errors + output)}", report
    asked = {"application": run.app, "class": run.problem_class, "ranks": run.ranks, "comm": run.comm,
             "window": run.window, "verified": True}
    unlike = [name for name, value in asked.items() if report.get(name) != value]
    if unlike:
        return "failed", f"exit status 0, but the report does not say {', '.join(unlike)} as asked", report
    return "ok", "", report


def execute(run, build=runner.BUILD):
    """Runs it to its end or its time limit."""
    with tempfile.TemporaryDirectory(prefix="truerma-stats-") as folder:
        stats_file = pathlib.Path(folder) / "stats.jsonl"
        variables = {"TRUERMA_STATS": str(stats_file)} if run.stats else {}
        ended = runner.run_command(command_of(run, build), run.timeout_s, subprocess.PIPE, **variables)
        stats = read_stats(stats_file)
    if ended.hang:
        status, message, report = "hang", f"ended after {run.timeout_s:.0f} s", {}
    else:
        status, message, report = judge(run, ended.returncode, ended.output, ended.errors)
    return Outcome(status, ended.seconds, ended.other_cores, ended.busy, report, stats, message)
