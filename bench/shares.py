# SPDX-License-Identifier: BSD-3-Clause
"""How TrueRMA compares, cell by cell: with the best of all MPIs alone on allocated windows, and with the limits that were
sampled in turns with it."""

import dataclasses
import math
import statistics

from results import BESIDE, FLAVOURS, cells_with, fits, share
from runner import ALONE, ITSELF, WITH

TOLD = ("pscw", "fence")  # the synchronisations that tell the target
BENCHES = ("latency", "rate", "contend", "sync", "aggregate")  # in which less time is better


def near(value):
    """Whether there is a value that can be compared with others."""
    return value is not None and (value.in_turns or not value.far)


@dataclasses.dataclass
class Cell:
    """TrueRMA against all MPIs alone."""

    fields: dict
    alone: dict  # value by host, of those that can be compared with; at least one
    ours: dict  # TrueRMA's value by host and flavour

    @property
    def best(self):
        """The host that takes least time alone, over all launches."""
        return min(self.alone, key=lambda host: self.alone[host].of())

    def share(self, column):
        """What part of the best one's time TrueRMA takes. Who that is may be another one in each launch: it is the one that is hardest
        to beat."""
        return max(share(self.ours[column], value) for value in self.alone.values())


def alone_values(results, hosts, fields):
    """By host: the values without TrueRMA that can be compared with."""
    return {host: value for host in hosts if near(value := results.exactly(host, ALONE, fields))}


def cells_of(results, hosts):
    """All that can be compared on allocated windows."""
    cells = []
    seen = dict.fromkeys(identity for _, _, identity in results.values)
    for fields in map(dict, seen):
        if fields["bench"] not in BENCHES or fields.get("flavour") != "allocate" or not fits(fields, {}):
            continue
        if fields.get("mode") == "barrier":
            continue  # not one-sided, and not of a window
        alone = alone_values(results, hosts, fields)
        if not alone:
            continue
        ours = {(host, flavour): value for host in hosts for flavour, _ in FLAVOURS
                if near(value := results.exactly(host, WITH, dict(fields, flavour=flavour)))}
        cells.append(Cell(fields, alone, ours))
    return cells


def allocated_shares(results):
    """TrueRMA's time on an allocated window as a share of that of the best MPI alone: by host, of each cell by its identity."""
    return {tuple(cell.fields.items()): {host: cell.share((host, flavour)) for host, flavour in cell.ours if flavour == "allocate"}
            for cell in cells_of(results, results.hosts())}


def missed_cells(results, hosts):
    """The cells in which TrueRMA on one of the hosts takes longer, on an allocated window, than the best MPI alone: the worst
    first."""
    worst = {identity: max((share for host, share in shares.items() if host in hosts), default=0)
             for identity, shares in allocated_shares(results).items()}
    return [dict(identity) for identity in sorted(worst, key=worst.get, reverse=True) if worst[identity] > 1]


def limit_us(results, hosts, fields):
    """What a cell takes by hand, or within one process, as it was sampled in turns with it: the median over the launches of
    all programs that did; where none did, and the target is told, the median over the places of cache lines; else None. An
    epoch between fences is the same by hand as one of post and start, so its limit is what that took, at another time; that of
    k origins' puts is also of another time."""
    if fields["bench"] == "aggregate":
        crowd = results.limit(mode="aggregate", **{name: fields[name] for name in ("op", "size", "others")})
        return crowd.of() if crowd else None
    where = dict(fields, mode="pscw") if fields.get("mode") == "fence" else fields
    values = (results.exactly(host, variant, dict(where, flavour=flavour))
              for host in hosts for variant in (ALONE, WITH) for flavour in BESIDE)
    times = [cell["median_us"] for value in values if value for cell in value.launches]
    if times:
        return statistics.median(times)
    if fields["bench"] != "latency" or fields["mode"] not in TOLD:
        return None
    places = results.limit(mode="exchange_places", op=fields["op"], size=fields["size"])
    return places.of() if places else None


def chances(results, host, fields):
    """By what factor two runs of the host alone differ in a cell, the first of them over the second; None where that was not
    measured."""
    own = fields if fields["bench"] == "itself" else dict(fields, bench="itself", of=fields["bench"])
    once, again = (results.exactly(host, variant, own) for variant in ITSELF)
    return share(once, again) if near(once) and near(again) else None


def beside(value):
    """How many times the limit's time a value takes that was sampled in turns with it, or None."""
    times = [cell["beside"] for cell in value.launches if "beside" in cell]
    return statistics.median(times) if times else None


def beside_cells(results, hosts, modes, operations, sizes):
    """Of cells of latency: their fields, and how many times the limit's time TrueRMA takes, by host and flavour."""
    cells = []
    for fields in cells_with(results, bench="latency", flavour="allocate"):
        if fields["mode"] in modes and fields["op"] in operations and sizes(fields["size"]):
            values = {(host, flavour): results.exactly(host, WITH, dict(fields, flavour=flavour))
                      for host in hosts for flavour, _ in FLAVOURS}
            cells.append((fields, {column: times for column, value in values.items() if value and (times := beside(value))}))
    return cells


def geometric(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))
