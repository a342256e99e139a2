# SPDX-License-Identifier: BSD-3-Clause
"""Hands out turns to programs that run at the same time and are compared with each other (bench/common/turn.h): one has the
machine, the others sleep. A virtual machine is another one a second later; so it is the same for all of them."""

import os
import pathlib
import random
import select
import shutil
import tempfile

ARRIVED, SAMPLE, CELL, ENDED = "a.+e"  # what a program says, and what is said of it
WORD_BYTES = 4  # three digits and one of these


class Order:
    """Of so many programs: whose turn is next. Those that are alive and have ended fewest cells have one each, then one each again,
    every time in another order, as chance has it: what one leaves in the caches and on its way to the memory is what the next
    one finds, and none is to come after the same one each time."""

    def __init__(self, count, chance=None):
        self.count = count
        self.chance = chance or random.Random()
        self.left = set()  # who has yet to have a turn in this round
        self.last = None

    def next(self, cells, live):
        fewest = min(cells[number] for number in live)
        due = {number for number in live if cells[number] == fewest}
        if not due & self.left:
            self.left = set(range(self.count))
        others = due & self.left - {self.last} or due & self.left
        self.last = self.chance.choice(sorted(others))
        self.left.discard(self.last)
        return self.last


class Turns:
    """Of so many programs, with so many ranks each. The pipes last as long as the `with` block."""

    def __init__(self, ranks):
        self.ranks = list(ranks)
        self.cells = [0] * len(self.ranks)
        self.arrived = [0] * len(self.ranks)
        self.live = set(range(len(self.ranks)))
        self.order = Order(len(self.ranks))
        self.holder = None

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="truerma-turns-"))
        self.said = self._pipe("said")
        self.turns = [self._pipe(f"turn-{number:03}") for number in range(len(self.ranks))]
        return self

    def __exit__(self, *_):
        for pipe in (self.said, *self.turns):
            os.close(pipe)
        shutil.rmtree(self.folder)

    def _pipe(self, name):
        os.mkfifo(self.folder / name)
        return os.open(self.folder / name, os.O_RDWR)  # both ends: it never ends, and opening it never waits

    def argument(self, number):
        """What the program's --turns is."""
        return f"{self.folder},{number}"

    def ended(self, number):
        """From any thread: the program is no more."""
        os.write(self.said, f"{number:03}{ENDED}".encode())

    def hand_out(self, patience_s):
        """Hands out turns until all programs have ended, or nothing was said for `patience_s`. Returns the programs that this is
        the fault of: none at the end, the one whose turn it is, or those that have not arrived."""
        while self.live:
            if not select.select([self.said], [], [], patience_s)[0]:
                return {self.holder} if self.holder is not None else {n for n in self.live if self.arrived[n] < self.ranks[n]}
            word = os.read(self.said, WORD_BYTES).decode()
            self._hear(int(word[:-1]), word[-1])
        return set()

    def _hear(self, number, what):
        if what == ARRIVED:
            self.arrived[number] += 1
        elif what == CELL:
            self.cells[number] += 1
        elif what == ENDED:
            self.live.discard(number)
        waiting = self.holder is None and all(self.arrived[n] == self.ranks[n] for n in self.live)
        if self.live and (waiting or (number == self.holder and what != ARRIVED)):
            self.holder = self.order.next(self.cells, self.live)
            os.write(self.turns[self.holder], b"." * self.ranks[self.holder])
