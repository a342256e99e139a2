# SPDX-License-Identifier: BSD-3-Clause
"""From the outcomes of many launches to one value per cell, and to tables."""

import dataclasses
import statistics

from runner import ALONE, FAR, ITSELF, LIMIT, SLOW, WITH, best_of

# What distinguishes cells; all other numbers of a cell are results.
IDENTITY = ("bench", "mode", "op", "flavour", "side", "size", "ranks", "n", "others", "busy_ms", "burst",
            "comp_percent", "puts", "calls", "threads", "of", "offset")
FLAVOURS = (("create", "created"), ("allocate", "allocated"))


def fits(fields, wanted):
    """Whether a cell's identity has the wanted fields; without a placement among them, that of --pin auto, and without
    threads, without."""
    return (wanted.items() <= fields.items() and
            all(wanted.get(name) == fields.get(name) for name in ("placement", "threads")))


# Where no rank waits for another one's word the distance of the CPUs matters for large transfers alone: the other rank has
# looked at the data between samples, and what it has in its caches must be fetched.
PASSIVE = ("lock", "lock_shared", "lock_all", "same", "distinct")
PASSIVE_FAR_BYTES = 32 << 10
BESIDE = ("exchange", "memcpy", "update")  # cells that are a limit, sampled in turns with others of the same launch


def bench_of(job):
    """What the cells of a stored job are called: a profile counts as one, whatever program it is of, and so does what is
    compared with itself."""
    return "profile" if job.get("under") == "perf" else "itself" if job["variant"] in ITSELF else job["program"]


@dataclasses.dataclass
class Value:
    """The median over launches of each launch's median, with the lowest and the highest launch."""

    launches: list = dataclasses.field(default_factory=list)  # cells as printed
    busy: bool = False  # no launch was undisturbed
    far: bool = False  # most launches were while the two CPUs were far from one another
    in_turns: bool = False  # with all that it is compared with: they were as far
    slow: bool = False  # so, or while other tenants used the cores

    def of(self, name="median_us"):
        return statistics.median(cell[name] for cell in self.launches)

    def spread(self, name="median_us"):
        numbers = [cell[name] for cell in self.launches]
        return min(numbers), max(numbers)


class Results:
    """Values by (host, variant) and identity; launches on a busy machine count only where there is no other."""

    def __init__(self, runs):
        self.values, self.mishaps, self.attempted = {}, {}, set()
        cells = {}
        for run in runs:
            cells.setdefault(run["job"].get("placement", ""), []).extend(run["outcome"]["cells"])
        best = {placement: best_of(measured) for placement, measured in cells.items()}
        ordered = sorted(runs, key=lambda run: run["outcome"]["busy"])
        for run in ordered:
            self._add(run["job"], run["outcome"])
        for (_, _, identity), value in self.values.items():
            self._choose(value, *best[dict(identity).get("placement", "")])

    @staticmethod
    def _choose(value, nearest, fastest):
        """Of a limit the lowest launch counts; of what was measured in turns every launch: what it is compared with saw the same
        machine in each, and how long a word takes is chance as well, by the line that it lies in; its median is far when most
        launches were. Of others those count that were measured while the CPUs were near, and of these those with the cores to
        themselves. Slow ones are still compared: left out, a fast peer would be missed."""
        if value.launches[0]["bench"] == "limit":
            value.launches = [min(value.launches, key=lambda cell: cell["median_us"])]
            return
        some = value.launches[0]
        unmoved = some.get("mode") in PASSIVE and some.get("size", 0) * some.get("burst", 1) < PASSIVE_FAR_BYTES
        value.in_turns = all(cell.get("in_turns") for cell in value.launches)
        near = [cell for cell in value.launches if unmoved or cell.get("ping_ns", 0) <= FAR * nearest]
        quiet = [cell for cell in near or value.launches if cell.get("pace_ns", 0) <= SLOW * fastest]
        if value.in_turns:
            value.far, value.slow = (2 * len(kept) < len(value.launches) for kept in (near, quiet))
        else:
            value.far, value.slow = not near, not quiet
            value.launches = quiet or near or value.launches

    def _add(self, job, outcome):
        self.attempted.add((job["host"], bench_of(job)))
        if outcome["status"] != "ok":
            self.mishaps[(job["host"], job["variant"], bench_of(job))] = outcome["status"]
            return
        self._compare_with_limits(outcome["cells"])
        for cell in outcome["cells"]:
            cell["launch"] = job.get("launch")
            key = (job["host"], job["variant"], self._identity(cell, job.get("placement", "")))
            value = self.values.setdefault(key, Value(busy=outcome["busy"]))
            if value.busy == outcome["busy"]:
                value.launches.append(cell)

    @staticmethod
    def _compare_with_limits(cells):
        """Notes in cells how many times the limit's time they took in the same launch."""
        def transfer(cell):
            return tuple(cell.get(name) for name in ("bench", "mode", "op", "size", "burst"))

        limits = {transfer(cell): cell["median_us"] for cell in cells if cell.get("flavour") in BESIDE}
        for cell in cells:
            if transfer(cell) in limits:
                cell["beside"] = cell["median_us"] / limits[transfer(cell)]

    @staticmethod
    def _identity(cell, placement):
        where = (("placement", placement),) if placement else ()
        return tuple((name, cell[name]) for name in IDENTITY if name in cell) + where

    def find(self, host, variant, **wanted):
        """The value of the one cell that has all `wanted` fields, or None; see fits."""
        found = [value for (h, v, identity), value in self.values.items()
                 if h == host and v == variant and fits(dict(identity), wanted)]
        if len(found) > 1:
            raise ValueError(f"{len(found)} cells match {wanted}")
        return found[0] if found else None

    def exactly(self, host, variant, fields):
        """The value of the cell that has these fields and no other, or None."""
        return self.values.get((host, variant, tuple(fields.items())))

    def hosts(self):
        return list(dict.fromkeys(host for host, _, _ in self.values if host))

    def pair(self, host, **wanted):
        return self.find(host, ALONE, **wanted), self.find(host, WITH, **wanted)

    def limit(self, **wanted):
        return self.find("", LIMIT, bench="limit", **wanted)

    def mishap(self, host, variant, program):
        """How a program ended that did not end well (wrong, failed, crash, hang), or a dash."""
        return self.mishaps.get((host, variant, program), "–")

    def any_busy(self):
        return any(value.busy for value in self.values.values())


def cells_with(results, **wanted):
    """Identities that any host or variant has, as dicts, in the order of their first appearance."""
    seen = {}
    for _host, _variant, identity in results.values:
        fields = dict(identity)
        if fits(fields, wanted):
            seen.setdefault(identity, fields)
    return list(seen.values())


def numbers_of(results, field, **wanted):
    return sorted({fields[field] for fields in cells_with(results, **wanted) if field in fields})


def time_text(us, busy=False, far=False):
    """Microseconds in three digits with their unit."""
    mark = ("~" if busy else "") + ("≈" if far else "")
    for limit, factor, unit in ((1, 1e3, "ns"), (1e3, 1, "µs"), (1e6, 1e-3, "ms")):
        if us < limit * 0.9995:
            return f"{mark}{three_digits(us * factor)} {unit}"
    return f"{mark}{three_digits(us * 1e-6)} s"


def three_digits(number):
    decimals = 2 if abs(number) < 9.995 else 1 if abs(number) < 99.95 else 0
    return f"{number:.{decimals}f}"


def value_text(value, otherwise="–"):
    if value is None:
        return otherwise
    return time_text(value.of(), value.busy, value.far or value.slow)


def share(value, other):
    """What part of the other one's time a value takes. Where they ran in turns, the median over the launches of what it is in each:
    a machine that is another one in the next launch is so for both."""
    if value.in_turns and other.in_turns:
        others = {cell["launch"]: cell["median_us"] for cell in other.launches}
        parts = [cell["median_us"] / others[cell["launch"]] for cell in value.launches if cell["launch"] in others]
        if parts:
            return statistics.median(parts)
    return value.of() / other.of()


def ratio(alone, with_):
    """How many times faster with TrueRMA, or None."""
    return 1 / share(with_, alone) if alone and with_ else None


def ratio_text(alone, with_):
    times = ratio(alone, with_)
    if times is None:
        return "–"
    return f"{times:.0f}×" if times >= 99.5 else f"{times:.1f}×" if times >= 9.95 else f"{times:.2f}×"


@dataclasses.dataclass
class Table:
    title: str
    note: str
    head: list
    rows: list  # of lists of texts; a row that is None is a rule
    left: int = 1  # columns from the left that are names


def text_of(table):
    """The table for a terminal."""
    rows = [row for row in table.rows if row is not None]
    widths = [max(len(row[c]) for row in [table.head, *rows]) for c in range(len(table.head))]

    def line(row):
        cells = [cell.ljust(width) if c < table.left else cell.rjust(width)
                 for c, (cell, width) in enumerate(zip(row, widths))]
        return "  " + "  ".join(cells).rstrip()

    rule = "  " + "─" * (sum(widths) + 2 * (len(widths) - 1))
    body = [rule if row is None else line(row) for row in table.rows]
    return "\n".join(["", table.title, "  " + table.note, rule, line(table.head), rule, *body, rule])


def markdown_of(table):
    """The table for a Markdown document."""
    def row_of(cells):
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    align = ["---" if column < table.left else "---:" for column in range(len(table.head))]
    rows = [row_of(row) for row in table.rows if row is not None]
    return "\n".join([f"## {table.title}", "", f"{table.note}.", "", row_of(table.head),
                      "|" + "|".join(align) + "|", *rows])
