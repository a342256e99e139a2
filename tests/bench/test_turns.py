#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turns between benchmark programs: their order, programs that end or hang in the middle, and real ones beneath the host MPI
that the command line names."""

import collections
import itertools
import os
import pathlib
import random
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import runner  # pylint: disable=wrong-import-position
from turns import Order  # pylint: disable=wrong-import-position

HOST = sys.argv.pop()

# A program of one rank that speaks as bench/common/turn.c does: its steps are given by the first argument, and each is noted in
# a file that all programs write to. "x": it ends in the middle of its turn; "h": it keeps its turn.
PROGRAM = """
import os, signal, sys
steps, log = sys.argv[1:3]
folder, number = sys.argv[-1].rsplit(",", 1)
turns = open(f"{folder}/turn-{int(number):03}", "rb", buffering=0)
said = os.open(f"{folder}/said", os.O_WRONLY)
os.write(said, f"{int(number):03}a".encode())
for step in steps:
    assert turns.read(1) == b"."
    with open(log, "a") as file:
        file.write(number + step)
    if step == "x":
        os.kill(os.getpid(), signal.SIGKILL)
    if step == "h":
        signal.pause()
    os.write(said, f"{int(number):03}{step}".encode())
assert turns.read(1) == b"."
print('{"bench":"' + number + '"}')
"""


class Orders(unittest.TestCase):
    def rounds(self, count, cells, live, rounds):
        order = Order(count, random.Random(7))
        return [[order.next(cells, live) for _ in live] for _ in range(rounds)]

    def test_each_once_in_a_round(self):
        for turns in self.rounds(3, [0, 0, 0], {0, 1, 2}, 50):
            self.assertEqual(sorted(turns), [0, 1, 2])

    def test_none_follows_the_same_one_each_time(self):
        turns = sum(self.rounds(3, [0, 0, 0], {0, 1, 2}, 500), [])
        after = collections.Counter(zip(turns, turns[1:]))
        self.assertEqual(set(after), {(a, b) for a in range(3) for b in range(3) if a != b})  # nor itself
        self.assertGreater(min(after.values()), max(after.values()) / 2)

    def test_the_dead_are_left_out(self):
        for turns in self.rounds(3, [0, 0, 0], {0, 2}, 50):
            self.assertEqual(sorted(turns), [0, 2])
        self.assertEqual(self.rounds(3, [0, 0, 0], {1}, 2), [[1], [1]])

    def test_nobody_is_a_cell_ahead(self):
        self.assertEqual(self.rounds(3, [1, 1, 0], {0, 1, 2}, 1), [[2, 2, 2]])
        for turns in self.rounds(3, [1, 1, 0], {0, 1}, 50):
            self.assertEqual(sorted(turns), [0, 1])


class Programs(unittest.TestCase):
    def run_all(self, *steps, timeout_s=60):
        """Runs programs with these steps; how each ended, and what they noted."""
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            commands = [[sys.executable, "-c", PROGRAM, text, str(log)] for text in steps]
            ended = runner.run_in_turns(commands, [1] * len(steps), timeout_s)
            text = log.read_text(encoding="ascii") if log.exists() else ""
        return ended, [text[at:at + 2] for at in range(0, len(text), 2)]

    def test_they_go_from_cell_to_cell_together(self):
        ended, noted = self.run_all("..+.+", ".+.+", ".+..+")
        self.assertEqual([one.returncode for one in ended], [0, 0, 0])
        first, second = noted[:7], noted[7:]  # nobody begins the second cell while another one is in the first
        self.assertEqual(sorted(first[:3]), ["0.", "1.", "2."])
        self.assertEqual(sorted(first[3:]), ["0+", "0.", "1+", "2+"])
        self.assertLess(first.index("0."), first.index("0+"))
        self.assertEqual(sorted(second), ["0+", "0.", "1+", "1.", "2+", "2.", "2."])
        self.assertEqual([runner.parse_cells(one.output)[0]["bench"] for one in ended], ["0", "1", "2"])

    def test_one_ends_in_its_turn(self):
        ended, noted = self.run_all(".+.+", ".x", ".+.+")
        self.assertEqual([one.returncode for one in ended], [0, -signal.SIGKILL, 0])
        self.assertEqual(noted.count("0+") + noted.count("2+"), 4)

    def test_one_ends_before_its_first_turn(self):
        ended, noted = self.run_all("+", "", "+")
        self.assertEqual([one.returncode for one in ended], [0, 0, 0])
        self.assertEqual(sorted(noted), ["0+", "2+"])

    def test_one_keeps_its_turn(self):
        ended, noted = self.run_all("+", "h", "+.+", timeout_s=1)
        self.assertEqual([one.hang for one in ended], [False, True, False])
        self.assertEqual([one.returncode for one in ended][::2], [0, 0])
        self.assertEqual(noted[-2:], ["2.", "2+"])


class Benchmarks(unittest.TestCase):
    def test_real_programs(self):
        args = ("--mode", "pscw,lock_all", "--op", "put", "--size", "8", "--reps", "3", "--budget-ms", "3", "--pin", "auto")
        jobs = [runner.Job(HOST, runner.WITH, "latency", args, 2, launch) for launch in range(2)]  # some hosts alone are wrong
        outcomes = runner.Benchmarks(runner.WITH_COMMAND).run_in_turns(jobs)
        for outcome in outcomes:
            self.assertEqual(outcome.status, "ok", outcome.message)
            self.assertFalse(outcome.is_launched)
            self.assertEqual({(cell["mode"], cell["in_turns"]) for cell in outcome.cells}, {("pscw", True), ("lock_all", True)})

    def test_more_ranks_than_cores(self):
        """Only the variant with TrueRMA is launched by it, and only then."""
        cores = len(os.sched_getaffinity(0))
        launched = {}
        for variant, ranks, with_command in itertools.product((runner.ALONE, runner.WITH), (cores, cores + 1),
                                                              (runner.WITH_COMMAND, "", "env A=B")):
            command = runner.command_of(runner.Job(HOST, variant, "sync", (), ranks), with_command)
            before = command[2:command.index("mpiexec")]
            launched[variant, ranks - cores, with_command] = before
        wanted = {key: [str(runner.BUILD / "bin" / "truerma"), "launch"] if key == (runner.WITH, 1, runner.WITH_COMMAND) else []
                  for key in launched}
        self.assertEqual(launched, wanted)
        self.assertIn("truerma launch mpiexec", runner.told_of(runner.WITH_COMMAND))
        self.assertNotIn("truerma launch", runner.told_of(""))

    def test_crowded_programs(self):
        args = ("--mode", "fan_in", "--reps", "3", "--budget-ms", "3", "--pin", "auto")
        ranks = len(os.sched_getaffinity(0)) + 1
        jobs = [runner.Job(HOST, variant, "sync", args, ranks) for variant in (runner.ALONE, runner.WITH)]
        outcomes = runner.Benchmarks(runner.WITH_COMMAND).run_in_turns(jobs)
        self.assertEqual([outcome.is_launched for outcome in outcomes], [False, True])
        self.assertEqual(outcomes[1].status, "ok", outcomes[1].message)  # some hosts alone are wrong

    def test_a_place_that_is_none(self):
        job = runner.Job(HOST, runner.ALONE, "latency", ("--turns", "/nowhere,0"), 1)
        ended = runner.run_command(runner.command_of(job, ""), 60)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("--turns: '/nowhere,0' is not FOLDER,NUMBER", ended.output)


if __name__ == "__main__":
    unittest.main()
