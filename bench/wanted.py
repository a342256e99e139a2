# SPDX-License-Identifier: BSD-3-Clause
"""The figures that were set for the library, and what was measured of each: the worst cell, and how many meet the figure."""

import dataclasses
import statistics
from collections.abc import Callable

from machine import from_pypi
from results import FLAVOURS, Table, cells_with
from results import share as share_of
from runner import ALONE, WITH
from shares import Cell, alone_values, beside_cells, cells_of, geometric, limit_us, near
from tables import BY_LOCKS, COPIES, LARGE


@dataclasses.dataclass(frozen=True)
class Measured:
    """What the numbers come from."""

    results: object
    hosts: list  # all MPIs: the best alone is one of them
    cells: list  # as of cells_of


@dataclasses.dataclass(frozen=True)
class Figure:
    """`numbers(measured, column)`: one for each cell that the figure speaks of."""

    title: str
    limit: float
    numbers: Callable
    least: bool = False  # the limit is the least that is wanted, not the most
    form: str = "{:.2f}"
    by_hand: Callable = None  # by_hand(measured): likewise, of the plainest exchange without any MPI

    def meets(self, number):
        return number >= self.limit if self.least else number <= self.limit

    def limit_text(self):
        return f"at {'least' if self.least else 'most'} {self.form.format(self.limit)}"

    def text(self, numbers):
        if not numbers:
            return "–"
        worst = self.form.format(min(numbers) if self.least else max(numbers))
        met = sum(map(self.meets, numbers))
        if len(numbers) == 1:
            return f"{worst}, {'met' if met else 'missed'}"
        return f"worst {worst}, median {self.form.format(statistics.median(numbers))}, {met} of {len(numbers)}"


def pairs(measured, column, peer, **wanted):
    """Of all cells with these fields in which both can be compared, the value of `peer(fields)` and TrueRMA's."""
    host, flavour = column
    both = ((peer(fields), measured.results.exactly(host, WITH, dict(fields, flavour=flavour)))
            for fields in cells_with(measured.results, **wanted))
    return [(other, ours) for other, ours in both if near(other) and near(ours)]


def shares(**wanted):
    """TrueRMA's time as a share of the best MPI's."""
    def numbers(measured, column):
        return [cell.share(column) for cell in measured.cells if wanted.items() <= cell.fields.items() and column in cell.ours]
    return numbers


def speeds(**wanted):
    """How many times as fast as the best MPI."""
    def numbers(measured, column):
        return [1 / share for share in shares(**wanted)(measured, column)]
    return numbers


def shares_by_hand(**wanted):
    """The time by hand, or within one process, as a share of the best MPI's, where it was measured."""
    def numbers(measured):
        limits = ((limit_us(measured.results, measured.hosts, cell.fields), cell.alone[cell.best]) for cell in measured.cells
                  if wanted.items() <= cell.fields.items())
        return [limit / best.of() for limit, best in limits if limit]
    return numbers


def share(title, limit, **wanted):
    return Figure(f"share of the best MPI's time: {title}", limit, shares(**wanted), by_hand=shares_by_hand(**wanted))


def mean_share(measured, column):
    found = shares()(measured, column)
    return [geometric(found)] if found else []


def times_by_hand(measured, column):
    cells = beside_cells(measured.results, [column[0]], ["pscw"], COPIES, lambda size: size <= 8 << 10)
    return [times[column] for _, times in cells if column in times]


def memcpy_shares(measured, column):
    """Of memcpy's bandwidth."""
    cells = beside_cells(measured.results, [column[0]], BY_LOCKS, COPIES, lambda size: size >= LARGE)
    return [1 / times[column] for _, times in cells if column in times]


def own_speeds(smallest, largest):
    """How many times as fast as the host alone on created windows, from one size to another."""
    def numbers(measured, column):
        def alone(fields):
            inside = smallest <= fields["size"] <= largest
            return measured.results.exactly(column[0], ALONE, fields) if inside else None
        found = pairs(measured, column, alone, bench="latency", flavour="create")
        return [1 / share_of(ours, created) for created, ours in found]
    return numbers


def overlaps(measured, column):
    host, flavour = column
    values = [measured.results.exactly(host, WITH, fields)
              for fields in cells_with(measured.results, bench="overlap", side="target", flavour=flavour)]
    return [value.of("overlap") for value in values if value]  # by hand it is not known how near the CPUs were either


def overlaps_by_hand(measured):
    cells = {(fields["size"], fields["comp_percent"]) for fields in cells_with(measured.results, bench="overlap", side="target")}
    values = [measured.results.limit(mode="overlap", side="target", size=size, comp_percent=percent)
              for size, percent in sorted(cells)]
    return [value.of("overlap") for value in values if value]


def skew_shares(measured, column):
    def ours(fields):
        return measured.results.exactly(column[0], WITH, dict(fields, flavour=column[1]))
    cells = (Cell(fields, alone_values(measured.results, measured.hosts, fields), {column: value})
             for fields in cells_with(measured.results, bench="skew", side="origin", flavour="allocate", n=512)
             if near(value := ours(fields)))
    return [cell.share(column) for cell in cells if cell.alone]


def skew_shares_by_hand(measured):
    """The epoch by hand as a share of the best MPI's."""
    limit = measured.results.limit(mode="skew", side="origin", n=512)
    alone = [value for fields in cells_with(measured.results, bench="skew", side="origin", flavour="allocate", n=512)
             for value in alone_values(measured.results, measured.hosts, fields).values()]
    return [limit.of() / min(value.of() for value in alone)] if limit and alone else []


def making_us(measured, column):
    """What making a window takes above the host's own."""
    host, flavour = column

    def alone(fields):
        return measured.results.exactly(host, ALONE, fields)
    found = pairs(measured, column, alone, bench="window", op="make", size=4 << 10, ranks=2, flavour=flavour)
    return [ours.of() - own.of() for own, ours in found]


WORD = {"op": "put", "size": 8}
RULE = None  # between groups of rows
FIGURES = (
    share("every cell", 1),
    Figure("share of the best MPI's time: geometric mean of all cells", 0.6, mean_share),
    share("post/start/complete/wait, put of 8 B", 0.5, bench="latency", mode="pscw", **WORD),
    share("lock, put of 8 B, unlock", 0.4, bench="latency", mode="lock", **WORD),
    share("put of 8 B, flush", 0.55, bench="latency", mode="lock_all", **WORD),
    Figure("times the best MPI's rate: puts of 8 B, flush", 2.5, speeds(bench="rate", mode="lock_all", **WORD), least=True),
    share("fetch_and_op", 0.5, bench="latency", op="fetch_and_op"),
    share("compare_and_swap", 0.5, bench="latency", op="compare_and_swap"),
    Figure("times the best MPI's speed: accumulate of 64 KiB", 1, speeds(bench="latency", op="accumulate", size=64 << 10), least=True),
    share("put of 8 B, fence", 0.6, bench="latency", mode="fence", **WORD),
    RULE,
    Figure("times the exchange by hand: post/start/complete/wait, put and get of 8 B to 8 KiB", 1.4, times_by_hand),
    Figure("share of memcpy's bandwidth: by locks, put and get of 64 KiB and more", 0.97, memcpy_shares, least=True, form="{:.3f}"),
    RULE,
    Figure("times as fast as the host on created windows: up to 8 KiB", 5, own_speeds(0, 8 << 10), least=True),
    Figure("times as fast as the host on created windows: 64 KiB to 1 MiB", 1.2, own_speeds(64 << 10, 1 << 20), least=True),
    RULE,
    Figure("times the best MPI's rate: fetch_and_op of 8 origins on one word", 1,
           speeds(bench="contend", mode="same", op="fetch_and_op", others=8), least=True),
    share("post and wait of a target of 7 origins", 1, bench="sync", mode="fan_in", side="target", others=7),
    Figure("overlap at the target", 0.98, overlaps, least=True, form="{:.3f}", by_hand=overlaps_by_hand),
    Figure("share of the best MPI's time: the origin's epoch, skew at n = 512", 1, skew_shares, by_hand=skew_shares_by_hand),
    Figure("time above the host's own: making a window of 4 KiB", 30, making_us, form="{:+.1f} µs"),
)


def hosts_of(results, titles):
    """Those that the figures were set for; where none of them was measured, all others."""
    measured = [host for host in titles if any(h == host and variant == WITH for h, variant, _ in results.values)]
    return [host for host in from_pypi(titles) if host in measured] or measured


def wanted_tables(results, titles):
    """A line per figure, a column for each host and each flavour."""
    hosts = hosts_of(results, titles)
    columns = [(host, flavour) for host in hosts for flavour, _ in FLAVOURS]
    measured = Measured(results, list(titles), cells_of(results, list(titles)))
    rows = [figure and [figure.title, figure.limit_text(),
                        *(figure.text(figure.numbers(measured, column)) for column in columns),
                        figure.text(figure.by_hand(measured) if figure.by_hand else [])] for figure in FIGURES]
    if all(text == "–" for row in rows if row for text in row[2:]):
        return []
    return [Table("The figures that were set", "best MPI: in each cell that of all alone on allocated windows by which TrueRMA's share is the highest, median over launches; of figures "
                  "for several cells the worst one, the median, and how many meet the figure; what was not measured in turns, and only while the "
                  "machine's two CPUs were far from each other, is not compared (but for overlap); last, the same by hand or within one process, where that was "
                  "measured (by post, with large transfers by locks, in turns; of fences that of post, at another time; of k origins, "
                  "fetch_and_op, compare_and_swap, skew and overlap not in turns): a measure, "
                  "not a limit, TrueRMA can take less",
                  ["figure", "wanted", *(f"{titles[host]}: {name}" for host in hosts for _, name in FLAVOURS), "by hand"], rows, 2)]
