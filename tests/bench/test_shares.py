#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is computed from launches: a host against itself, the line for latency and bursts, and what lies elsewhere apart;
experiments with other samples or ranks than the suite's; what ranks run under whose instructions are counted; and which
launches are kept when one library is replaced."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from best import best_tables  # pylint: disable=wrong-import-position
from campaign import Store  # pylint: disable=wrong-import-position
from experiments import EXPERIMENTS, adapted, is_adapted, jobs, launched_line, launches_line, ranks_left_out  # pylint: disable=wrong-import-position
from results import Results, share  # pylint: disable=wrong-import-position
from runner import ALONE, BUILT_WITH, LIMIT, PEERS, WITH, Job, Outcome, command_of  # pylint: disable=wrong-import-position
from shares import cells_of, chances, limit_us  # pylint: disable=wrong-import-position
from tables import generic_tables, offset_tables  # pylint: disable=wrong-import-position
from wanted import wanted_tables  # pylint: disable=wrong-import-position

HOST = "some-host"
TRANSFER = {"bench": "latency", "mode": "lock_all", "op": "put", "flavour": "allocate", "size": 8}
BURST = {"bench": "rate", "mode": "lock_all", "op": "put", "flavour": "allocate", "size": 8, "burst": 32}
CROWD = {"bench": "contend", "mode": "same", "op": "fetch_and_op", "flavour": "allocate", "others": 2}


def run(variant, fields, us, launch=0, host=HOST):
    """A stored launch of one cell."""
    cell = dict(fields, median_us=us, min=us, in_turns=1)
    return {"job": {"host": host, "variant": variant, "program": fields["bench"], "launch": launch},
            "outcome": {"status": "ok", "busy": False, "cells": [cell]}}


class Shares(unittest.TestCase):
    def test_a_host_against_itself(self):
        own = {**TRANSFER, "bench": "itself", "of": "latency"}
        results = Results([run("once", own, 3.0), run("again", own, 2.0)])
        self.assertEqual(chances(results, HOST, own), 1.5)
        self.assertEqual(chances(results, HOST, TRANSFER), 1.5)
        self.assertIsNone(chances(results, HOST, BURST))

    def test_lines_of_sums(self):
        runs = [run(variant, fields, us) for fields, ours in ((TRANSFER, 2.0), (BURST, 8.0), (CROWD, 0.5))
                for variant, us in (("alone", 8.0), ("with", ours))]
        rows = {row[0]: row[-1] for row in best_tables(Results(runs), {HOST: "Some MPI"})[0].rows}
        self.assertEqual(rows["latency and rate"], "0.50 (1.00)")
        self.assertEqual(rows["all"], "0.25 (1.00)")

    def test_launch_by_launch(self):
        times = [(1.0, 2.0), (8.0, 10.0), (9.0, 10.0), (9.0, None)]  # CPUs near each other, far, far; one that the host has not
        runs = [run(variant, TRANSFER, us, launch) for launch, both in enumerate(times)
                for variant, us in zip((WITH, ALONE), both) if us]
        results = Results(runs)
        ours, alone = (results.exactly(HOST, variant, TRANSFER) for variant in (WITH, ALONE))
        self.assertEqual(share(ours, alone), 0.8)
        self.assertEqual(share(alone, ours), 1.25)
        for stored in runs:
            stored["outcome"]["cells"][0].update(in_turns=0)
        results = Results(runs)
        ours, alone = (results.exactly(HOST, variant, TRANSFER) for variant in (WITH, ALONE))
        self.assertEqual(share(ours, alone), 0.85)  # of the medians

    def test_most_launches_were_far(self):
        for pings, in_turns, far in (((50, 250, 250), 1, True), ((50, 50, 250), 1, False), ((50, 250), 1, False),
                                     ((50, 250, 250), 0, False)):
            cell = dict(TRANSFER, mode="pscw")
            runs = [run(ALONE, cell, 1.0, launch) for launch in range(len(pings))]
            for stored, ping in zip(runs, pings):
                stored["outcome"]["cells"][0].update(ping_ns=ping, in_turns=in_turns)
            value = Results(runs).exactly(HOST, ALONE, cell)
            self.assertEqual(value.far, far)
            self.assertEqual(len(value.launches), len(pings) if in_turns else 1)

    def test_against_the_one_that_is_hardest_to_beat(self):
        times = ((HOST, WITH, (3.0, 6.0, 3.0)), ("a", ALONE, (4.0, 12.0, 6.0)), ("b", ALONE, (3.75, 8.0, 12.0)))
        runs = [run(variant, TRANSFER, us, launch, host) for host, variant, all_us in times for launch, us in enumerate(all_us)]
        cell, = cells_of(Results(runs), [HOST, "a", "b"])
        self.assertEqual(cell.best, "a")
        self.assertEqual(cell.share((HOST, "allocate")), 0.75)

    def test_columns_of_the_figures_that_were_set(self):
        def columns(*hosts):
            runs = [run(variant, TRANSFER, us, host=host) for host in hosts for variant, us in ((ALONE, 4.0), (WITH, 1.0))]
            table, = wanted_tables(Results(runs), {host: host for host in hosts})
            row, = (row for row in table.rows if row and row[0].endswith("put of 8 B, flush") and row[0].startswith("share"))
            return table.head[2:-1], row[2:-1]
        set_for = ["mpich-pypi: created", "mpich-pypi: allocated"]
        self.assertEqual(columns("mpich-pypi", "mpich-debian", "intel-pypi"), (set_for, ["–", "0.25, met"]))
        self.assertEqual(columns("mpich-debian"), (["mpich-debian: created", "mpich-debian: allocated"], ["–", "0.25, met"]))

    def test_skew_by_hand(self):
        skew = {"bench": "skew", "side": "origin", "flavour": "allocate", "n": 512.0}
        limit = dict(skew, bench="limit", mode="skew")
        del limit["flavour"]
        runs = [run(ALONE, skew, 8.0, host="mpich-pypi"), run(ALONE, skew, 10.0, host="intel-pypi"), run(WITH, skew, 9.0, host="mpich-pypi"),
                run(LIMIT, limit, 6.0, host="")]
        table, = wanted_tables(Results(runs), {"mpich-pypi": "MPICH", "intel-pypi": "Intel MPI"})
        row, = (row for row in table.rows if row and "skew" in row[0])
        self.assertEqual(row[2:], ["–", "1.12, missed", "0.75, met"])

    def test_no_line_of_what_was_not_measured(self):
        runs = [run("alone", CROWD, 2.0), run("with", CROWD, 1.0)]
        self.assertNotIn("latency and rate", [row[0] for row in best_tables(Results(runs), {HOST: "Some MPI"})[0].rows])

    def test_buffers_behind_a_page_are_told_apart(self):
        cells = [{"bench": "offset", "op": "get", "size": 65536, "flavour": flavour, "offset": float(offset)}
                 for offset in (0, 16) for flavour in ("create", "allocate", "memcpy")]
        runs = [run(variant, cell, us * (10 if cell["offset"] and cell["flavour"] != "create" else 1))
                for cell in cells for variant, us in (("alone", 8.0), ("with", 2.0))]
        rows = offset_tables(Results(runs), {HOST: "Some MPI"})[0].rows
        self.assertEqual([row[3:] for row in rows],
                         [["0 B", "8.00 µs", "2.00 µs", "4.00×", "8.00 µs", "2.00 µs", "4.00×", "2.00 µs"],
                          ["16 B", "8.00 µs", "2.00 µs", "4.00×", "80.0 µs", "20.0 µs", "4.00×", "20.0 µs"]])

    def test_origins_by_hand(self):
        puts = {"bench": "aggregate", "mode": "pscw", "op": "put", "size": 65536, "others": 2, "burst": 16}
        by_hand = [{"bench": "limit", "mode": mode, "op": "put", "size": 65536, "others": others, "gb_s": speed}
                   for mode, others, speed in (("aggregate", 2, 80.0), ("aggregate_sessions", 2, 45.0), ("aggregate", 3, 60.0))]
        memcpy = {"bench": "limit", "mode": "memcpy", "op": "put", "size": 65536, "gb_s": 50.0}
        runs = [run(variant, dict(puts, flavour=flavour, gb_s=speed), us) for flavour in ("create", "allocate")
                for variant, us, speed in ((ALONE, 40.0, 52.0), (WITH, 32.0, 64.0))]
        runs += [run(LIMIT, cell, 1000 * cell["others"] / cell["gb_s"], host="") for cell in by_hand] + [run(LIMIT, memcpy, 1.3, host="")]
        results = Results(runs)
        self.assertEqual(limit_us(results, [HOST], dict(puts, flavour="allocate")), 25.0)
        self.assertIsNone(limit_us(results, [HOST], dict(puts, flavour="allocate", others=7)))
        row, = generic_tables(results, {HOST: "Some MPI"}, "aggregate")[0].rows
        self.assertEqual(row[-7:], ["52", "64", "52", "64", "80", "45", "50"])


class Adapted(unittest.TestCase):
    @staticmethod
    def stored(experiment):
        """The experiment's jobs for one host, as they are stored."""
        return [{"host": job.host, "variant": job.variant, "program": job.program, "ranks": job.ranks, "args": list(job.args),
                 "launch": job.launch}
                for job in jobs(experiment, HOST, "alone", 0, False)]

    def test_nothing_asked_for(self):
        for name, experiment in EXPERIMENTS.items():
            self.assertEqual(adapted(experiment), experiment)
            self.assertFalse(any(is_adapted(name, job) for job in self.stored(experiment)), name)

    def test_samples(self):
        latency = adapted(EXPERIMENTS["latency"], reps=3, budget_ms=2)
        self.assertEqual(len(latency.full), len(EXPERIMENTS["latency"].full))
        for _, _, args in latency.full:
            self.assertEqual([args[args.index(name) + 1] for name in ("--reps", "--budget-ms")], ["3", "2"])
        contend = adapted(EXPERIMENTS["contend"], reps=3)  # which has no number of its own
        self.assertTrue(all(args[-2:] == ("--reps", "3") for _, _, args in contend.full))
        self.assertTrue(all(is_adapted("contend", job) for job in self.stored(contend)))

    def test_ranks(self):
        contend = adapted(EXPERIMENTS["contend"], ranks=[2, 17])
        self.assertEqual([count for _, count, _ in contend.full], [2, 17])
        self.assertEqual(contend.crowd_limit[contend.crowd_limit.index("--values") + 1], "1,16")
        self.assertEqual([is_adapted("contend", job) for job in self.stored(contend)], [False, True])
        self.assertEqual(ranks_left_out("contend", self.stored(contend)), [3, 5, 9])
        self.assertEqual(ranks_left_out("contend", self.stored(EXPERIMENTS["contend"])), [])
        misses = EXPERIMENTS["misses"]  # of several parts
        self.assertEqual(adapted(misses, ranks=[misses.full[0][1]]), misses)
        self.assertEqual(adapted(EXPERIMENTS["rate"], ranks=[4]), EXPERIMENTS["rate"])  # which is of two

    def test_launches(self):
        rate, stall = ([dict(job, launch=launch) for job in self.stored(EXPERIMENTS[name]) for launch in (1, 2)]
                       for name in ("rate", "stall"))
        cut_off = dict(rate[0], program="another")  # which has had its first launch only
        self.assertEqual(launches_line({"rate": rate, "stall": stall, "sync": [cut_off]}), "2 of rate, stall; 1 of sync")
        self.assertEqual(launches_line({"rate": [*rate, cut_off]}), "1 of rate")
        by_hand = dict(rate[0], variant=LIMIT)
        self.assertEqual(launches_line({"rate": [by_hand], "misses": self.stored(EXPERIMENTS["misses"])}), "")


class Counted(unittest.TestCase):
    @staticmethod
    def ranks_of(host, under):
        """What stands before the program of rank 0, and of the others."""
        with tempfile.TemporaryDirectory() as build:
            program = pathlib.Path(build, "mpi", BUILT_WITH.get(host, host), "bench-count")
            program.parent.mkdir(parents=True)
            program.touch()
            command = command_of(Job(host, "alone", "count", ("--mode", "lock"), 2, under=under), "", pathlib.Path(build))
        parts = " ".join(command).split(" : ")
        return parts[0], parts[1:]

    def test_all_ranks_of_a_peer_run_under_valgrind(self):
        first, others = self.ranks_of(PEERS[0], "callgrind")
        self.assertIn("--tool=callgrind", first)
        self.assertEqual(len(others), 1)
        self.assertIn("--tool=none", others[0])

    def test_other_ranks_run_as_they_are(self):
        for host, under in ((HOST, "callgrind"), (PEERS[0], "perf")):
            with self.subTest(host=host, under=under):
                _, others = self.ranks_of(host, under)
                self.assertEqual(len(others), 1)
                self.assertNotIn("valgrind", others[0])


class Launched(unittest.TestCase):
    def test_line(self):
        def run(name, **outcome):
            return {"file": pathlib.Path(f"/somewhere/{name}.json"), "outcome": outcome}

        before = [run("sync"), run("latency", is_launched=False)]
        self.assertEqual(launched_line(before), "")
        now = [run("aggregate", is_launched=True), run("sync", is_launched=True)]
        self.assertTrue(launched_line(before + now + now).endswith("`truerma launch`: aggregate, sync"))


class Kept(unittest.TestCase):
    """Launches 0 and 1 of a host alone and with TrueRMA in turns, then launch 0 again with another library."""

    def test_what_ran_in_turns_goes_together(self):
        def measure(launch, library):
            def key_of(job):
                return f"{job.variant} {job.launch}" + (f" {library}" if job.variant == WITH else "")

            jobs = [Job(HOST, variant, "latency", (), 2, launch=launch) for variant in (ALONE, WITH)]
            for job in jobs:
                store.put(key_of(job), job, Outcome("ok", 1.0, 0.0, False, []), key_of, [key_of(one) for one in jobs])

        with tempfile.TemporaryDirectory() as folder:
            store = Store(pathlib.Path(folder) / "latency.json", {}, keep=False)
            measure(0, "old")
            measure(1, "old")
            self.assertEqual(len(store.data["runs"]), 4)
            measure(0, "new")
            self.assertEqual(set(store.data["runs"]), {f"{ALONE} 0", f"{WITH} 0 new"})
            measure(1, "new")
            self.assertEqual(len(store.data["runs"]), 4)


if __name__ == "__main__":
    unittest.main()
