# SPDX-License-Identifier: BSD-3-Clause
"""Plots over sizes, or over the number of origins: each host alone (hollow, dashed) and with TrueRMA, and the limit by hand."""

import dataclasses
from collections.abc import Callable

from matplotlib import pyplot
from matplotlib.ticker import NullFormatter, ScalarFormatter

from plots import LIMIT_COLOUR, legend, svg_of, time_axis, variant_style
from results import FLAVOURS, numbers_of
from runner import ALONE, WITH
from shares import TOLD
from tables import MODES, size_text

OVERLAPPED_PERCENT = 100  # of the communication's time: what is computed meanwhile


def nothing(_x):
    return None


@dataclasses.dataclass
class Panel:
    """One of a plot's panels: the value of a host's variant at x, and what the limit takes there."""

    title: str
    along: list
    find: Callable  # (host, variant, x) -> Value or None
    limit: Callable = nothing  # x -> Value or None


@dataclasses.dataclass
class Curves:
    """A plot: which number of the values it shows, and how."""

    name: str
    label: str
    panels: list
    field: str
    y: str
    x: str
    text: Callable = str  # of an x
    scale: str = "linear"


def points_of(panel, value_at, field):
    """Where there is a value: its place along the axis, where all stand equally far apart, and the number."""
    return [(place, value.of(field)) for place, x in enumerate(panel.along) if (value := value_at(x))]


def draw(curves, titles):
    rows = (len(curves.panels) + 1) // 2
    figure, panels = pyplot.subplots(rows, 2, figsize=(9.6, 3.9 * rows), sharey=True, layout="constrained", squeeze=False)
    has_limit = False
    for axes, panel in zip(panels.flat, curves.panels):
        limit = points_of(panel, panel.limit, curves.field)
        if limit:
            axes.plot(*zip(*limit), color=LIMIT_COLOUR, linestyle=":", linewidth=1.8)
            has_limit = True
        for host in titles:
            for variant in (ALONE, WITH):
                points = points_of(panel, lambda x, h=host, v=variant: panel.find(h, v, x), curves.field)
                if points:
                    axes.plot(*zip(*points), **variant_style(host, variant))
        axes.set_yscale(curves.scale)
        axes.set_xticks(range(len(panel.along)), [curves.text(x) for x in panel.along],
                        rotation=45 if len(panel.along) > 6 else 0)
        axes.set_title(panel.title, loc="left")
        axes.set_xlabel(curves.x)
        if curves.field == "median_us":
            time_axis(axes.yaxis)
        elif curves.scale == "log":
            axes.yaxis.set_major_formatter(ScalarFormatter())
            axes.yaxis.set_minor_formatter(NullFormatter())
    for axes in panels[:, 0]:
        axes.set_ylabel(curves.y)
    if curves.scale == "linear":
        panels[0, 0].set_ylim(bottom=0)  # of all: they share it
    legend(figure, titles, has_limit)
    return svg_of(figure, curves.name, curves.label)


def latency_curves(results):
    sizes = numbers_of(results, "size", bench="latency", op="put")
    found = []
    for flavour, flavour_title in FLAVOURS:
        panels = []
        for mode in ("pscw", "fence", "lock", "lock_all"):
            def find(host, variant, size, mode=mode, flavour=flavour):
                return results.find(host, variant, bench="latency", mode=mode, op="put", flavour=flavour, size=size)

            def limit(size, mode=mode):
                return results.limit(mode="exchange" if mode in TOLD else "memcpy", op="put", size=size)
            panels.append(Panel(f"{MODES[mode]}, {flavour_title} window", sizes, find, limit))
        found.append(Curves(f"latency-{flavour}", f"Time of a put with its synchronisation over its size, {flavour_title} windows",
                            panels, "median_us", "put and synchronisation", "bytes", size_text, "log"))
    return found


def by_flavour(results, limit=nothing, along=(), **wanted):
    return [Panel(f"{title} window", along, lambda host, variant, x, flavour=flavour: results.find(
        host, variant, flavour=flavour, **wanted, **x_of(wanted, x)), limit) for flavour, title in FLAVOURS]


def x_of(wanted, x):
    """Panels are along sizes, unless the size is given: then along the number of origins."""
    return {"others": x} if "size" in wanted else {"size": x}


def rate_curves(results):
    bursts = numbers_of(results, "burst", bench="rate", mode="lock_all", op="put")
    if not bursts:
        return []
    sizes = numbers_of(results, "size", bench="rate", mode="lock_all", op="put", burst=bursts[0])
    panels = by_flavour(results, lambda size: results.limit(mode="memcpy", op="put", size=size), sizes,
                        bench="rate", mode="lock_all", op="put", burst=bursts[0])
    return [Curves("rate", f"Bandwidth of {bursts[0]:.0f} puts and a flush over their size", panels, "gb_s", "GB/s", "bytes of a put",
                   size_text)]


def contend_curves(results):
    panels = []
    for mode, title in (("same", "all the same word"), ("distinct", "each its own")):
        along = numbers_of(results, "others", bench="contend", mode=mode, op="fetch_and_op")

        def find(host, variant, others, mode=mode):
            return results.find(host, variant, bench="contend", mode=mode, op="fetch_and_op", flavour="allocate", others=others)

        def limit(others, mode=mode):
            return results.limit(mode=mode, op="fetch_and_op", others=others)
        panels.append(Panel(title, along, find, limit))
    return [Curves("contend", "Fetch_and_op with a flush, all origins together, over their number", panels, "mops",
                   "million a second", "origins", "{:.0f}".format, "log")]


def overlap_curves(results):
    panels = []
    for side in ("origin", "target"):
        sizes = numbers_of(results, "size", bench="overlap", side=side)

        def find(host, variant, size, side=side):
            return results.find(host, variant, bench="overlap", mode="pscw", op="put", side=side, flavour="allocate", size=size,
                                comp_percent=OVERLAPPED_PERCENT)

        def limit(size, side=side):
            return results.limit(mode="overlap", side=side, size=size, comp_percent=OVERLAPPED_PERCENT)
        panels.append(Panel(f"the {side} computes as long as it communicates", sizes, find, limit))
    return [Curves("overlap", "The part of the communication that is hidden behind a computation as long", panels, "overlap",
                   "hidden", "bytes of the epoch's put", size_text)]


def aggregate_curves(results):
    found = []
    for size in numbers_of(results, "size", bench="aggregate"):
        along = numbers_of(results, "others", bench="aggregate", size=size)
        found.append(Curves(f"aggregate-{size}", f"Bandwidth of k origins that put 16 pieces of {size_text(size)} each into one target",
                            by_flavour(results, along=along, bench="aggregate", size=size), "gb_s", "GB/s", "origins",
                            "{:.0f}".format))
    return found


CURVES = {"latency": latency_curves, "rate": rate_curves, "contend": contend_curves, "overlap": overlap_curves,
          "aggregate": aggregate_curves}


def curves_of(name, results, titles):
    """The curves of an experiment: [(name, label, SVG)]."""
    found = CURVES[name](results) if name in CURVES else []
    return [(curves.name, curves.label, draw(curves, titles)) for curves in found
            if any(panel.find(host, variant, x) for panel in curves.panels for x in panel.along
                   for host in titles for variant in (ALONE, WITH))]
