#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is computed from launches: a host against itself, the line for latency and bursts, and what lies elsewhere apart."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from best import best_tables  # pylint: disable=wrong-import-position
from results import Results  # pylint: disable=wrong-import-position
from shares import chances  # pylint: disable=wrong-import-position
from tables import offset_tables  # pylint: disable=wrong-import-position

HOST = "some-host"
TRANSFER = {"bench": "latency", "mode": "lock_all", "op": "put", "flavour": "allocate", "size": 8}
BURST = {"bench": "rate", "mode": "lock_all", "op": "put", "flavour": "allocate", "size": 8, "burst": 32}
CROWD = {"bench": "contend", "mode": "same", "op": "fetch_and_op", "flavour": "allocate", "others": 2}


def run(variant, fields, us):
    """A stored launch of one cell."""
    cell = dict(fields, median_us=us, min=us, in_turns=1)
    return {"job": {"host": HOST, "variant": variant, "program": fields["bench"]},
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


if __name__ == "__main__":
    unittest.main()
