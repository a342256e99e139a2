# SPDX-License-Identifier: BSD-3-Clause
"""Plots as SVG that follow the page: texts are text, colours are the page's variables, so that they are readable on
light and dark ground."""

import io
import re

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402  (the backend comes first)
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

from results import FLAVOURS, numbers_of, time_text  # noqa: E402
from runner import ALONE, WITH  # noqa: E402
from tables import MODES, OPERATIONS  # noqa: E402

# Colours that stand for the page's variables in what matplotlib writes; no two alike, and none used otherwise.
INK, GRID, MPICH, OPENMPI, LIMIT_COLOUR, PAPER = "#010203", "#010204", "#010205", "#010206", "#010207", "#010208"
VARIABLES = {INK: "var(--ink)", GRID: "var(--grid)", MPICH: "var(--mpich)", OPENMPI: "var(--openmpi)",
             LIMIT_COLOUR: "var(--limit)", PAPER: "var(--paper)"}

pyplot.rcParams.update({
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10.5, "axes.edgecolor": GRID,
    "axes.labelcolor": INK, "axes.titlesize": 11, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "xtick.labelcolor": INK, "ytick.labelcolor": INK, "axes.grid": True, "grid.color": GRID, "grid.linewidth": 0.7,
    "axes.spines.top": False, "axes.spines.right": False, "figure.facecolor": "none", "axes.facecolor": "none",
    "savefig.facecolor": "none", "legend.frameon": False, "lines.linewidth": 2, "axes.axisbelow": True,
})


def colour_of(host):
    return {"mpich": MPICH, "openmpi": OPENMPI}.get(host.split("-")[0], LIMIT_COLOUR)


def svg_of(figure, name, label):
    """The figure as an <svg> element for a page. `name` keeps the ids of several figures apart."""
    stream = io.StringIO()
    pyplot.rcParams["svg.hashsalt"] = name
    figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    svg = stream.getvalue()
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([A-Za-z]+_\d+)"', rf'id="{name}-\1"', svg)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, variable)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return re.sub(r"<svg", f'<svg role="img" aria-label="{label}"', svg, count=1)


def time_axis(axis):
    axis.set_major_locator(LogLocator(base=10, numticks=12))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda us, _: time_label(us)))


def time_label(us):
    number, unit = time_text(us).split()
    return f"{float(number):g} {unit}"


def variant_style(host, variant):
    colour = colour_of(host)
    if variant == ALONE:
        return {"color": colour, "linestyle": (0, (4, 2.5)), "marker": "o", "markerfacecolor": PAPER, "markersize": 6}
    return {"color": colour, "linestyle": "-", "marker": "o", "markerfacecolor": colour, "markersize": 6}


def legend(figure, titles, with_limit):
    entries = []
    for host, title in titles.items():
        entries.append(Line2D([], [], label=f"{title} alone", **variant_style(host, ALONE)))
        entries.append(Line2D([], [], label=f"{title} with TrueRMA", **variant_style(host, WITH)))
    if with_limit:
        entries.append(Line2D([], [], color=LIMIT_COLOUR, linestyle=":", label="by hand, no MPI (limit)"))
    figure.legend(handles=entries, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(titles) + with_limit,
                  handlelength=3)


def skew_plot(results, titles, label):
    """The origin's time over n, one panel per flavour."""
    orders = numbers_of(results, "n", bench="skew")
    figure, panels = pyplot.subplots(1, 2, figsize=(9.6, 4.1), sharey=True, layout="constrained")
    limit = [(i, v.of()) for i, n in enumerate(orders) if (v := results.limit(mode="skew", side="origin", n=n))]
    for panel, (flavour, flavour_title) in zip(panels, FLAVOURS):
        if limit:
            panel.plot(*zip(*limit), color=LIMIT_COLOUR, linestyle=":", linewidth=1.8)
        for host in titles:
            for variant in (ALONE, WITH):
                found = [(i, results.find(host, variant, bench="skew", side="origin", flavour=flavour, n=n))
                         for i, n in enumerate(orders)]
                points = [(i, v.of()) for i, v in found if v]
                if points:
                    panel.plot(*zip(*points), **variant_style(host, variant))
        panel.set_yscale("log")
        time_axis(panel.yaxis)
        panel.set_xticks(range(len(orders)), [str(n) for n in orders])
        panel.set_title(f"{flavour_title} window", loc="left")
        panel.set_xlabel("n: the target multiplies two n × n matrices before it waits")
    panels[0].set_ylabel("origin's epoch")
    legend(figure, titles, bool(limit))
    return svg_of(figure, "skew", label)


def dumbbell(panel, rows):
    """rows: (label, host, alone, with), a line each from the hollow to the full point."""
    for y, (_label, host, alone, with_) in enumerate(rows):
        colour = colour_of(host)
        if alone and with_:
            panel.plot([alone.of(), with_.of()], [y, y], color=colour, linewidth=1.6, alpha=0.45, zorder=2)
        for value, face in ((alone, PAPER), (with_, colour)):
            if value:
                panel.plot(value.of(), y, "o", markersize=7, markeredgecolor=colour, markerfacecolor=face, zorder=3)
    panel.set_xscale("log")
    time_axis(panel.xaxis)
    panel.set_yticks(range(len(rows)), [row[0] for row in rows])
    panel.set_ylim(len(rows) - 0.4, -0.6)
    panel.grid(axis="y", visible=False)
    panel.tick_params(axis="y", length=0)


def panels_by_flavour(results, titles, name, label, rows_of, row_height=0.21):
    rows = {flavour: rows_of(flavour) for flavour, _ in FLAVOURS}
    height = 1.2 + row_height * max(len(r) for r in rows.values())
    figure, panels = pyplot.subplots(1, 2, figsize=(9.6, height), sharey=True, sharex=True, layout="constrained")
    for panel, (flavour, flavour_title) in zip(panels, FLAVOURS):
        dumbbell(panel, rows[flavour])
        panel.set_title(f"{flavour_title} window", loc="left")
        panel.tick_params(axis="x", labelrotation=0)
    entries = []
    for host, title in titles.items():
        for variant, words in ((ALONE, "alone"), (WITH, "with TrueRMA")):
            entries.append(Line2D([], [], label=f"{title} {words}", **dict(variant_style(host, variant), linestyle="")))
    figure.legend(handles=entries, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(titles))
    return svg_of(figure, name, label)


def labelled(rows):
    """The same label only on the first of the rows that share it."""
    return [("" if i and rows[i - 1][0] == row[0] else row[0], *row[1:]) for i, row in enumerate(rows)]


def stall_plot(results, titles, label):
    def rows_of(flavour):
        rows = []
        for mode, op in [("lock", "put")] + [("lock_all", op) for op in OPERATIONS]:
            words = f"lock + {op} + unlock" if mode == "lock" else f"{op} + flush"
            for host in titles:
                rows.append((words, host, *results.pair(host, bench="stall", mode=mode, op=op, flavour=flavour)))
        return labelled([row for row in rows if row[2] or row[3]])
    return panels_by_flavour(results, titles, "stall", label, rows_of)


def latency_plot(results, titles, label):
    sizes = numbers_of(results, "size", bench="latency", op="put")

    def rows_of(flavour):
        rows = []
        for mode in MODES:
            for op in OPERATIONS:
                for host in titles:
                    rows.append((f"{MODES[mode]}: {op}", host,
                                 *results.pair(host, bench="latency", mode=mode, op=op, size=sizes[0], flavour=flavour)))
        return labelled([row for row in rows if row[2] or row[3]])
    return panels_by_flavour(results, titles, "latency", label, rows_of)


def oversubscribed_plot(results, titles, label):
    def rows_of(flavour):
        return [(f"{others} origins: {title}", host,
                 *results.pair(host, bench="sync", mode="fan_in", side="target", flavour=flavour, others=others))
                for others in numbers_of(results, "others", bench="sync", mode="fan_in")
                for host, title in titles.items()]
    return panels_by_flavour(results, titles, "oversubscribed", label, rows_of, 0.3)


PLOTS = {
    "skew": (skew_plot, "The origin's time for its epoch over the size of the target's computation"),
    "stall": (stall_plot, "Time of a first operation while the target computes"),
    "latency": (latency_plot, "Latency of the smallest operations"),
    "oversubscribed": (oversubscribed_plot, "Target's post and wait with more ranks than cores"),
}
