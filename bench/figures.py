# SPDX-License-Identifier: BSD-3-Clause
"""All plots of an experiment, for a page or as files of their own."""

from curves import curves_of
from machine import from_pypi
from plots import PLOTS
from results import cells_with
from tables import attempted_titles


def figures_of(name, results, titles):
    """The plots of an experiment: [(name, label, SVG element)]. Of several versions of a host those from PyPI."""
    measured = attempted_titles(name, results, from_pypi(titles) or titles)
    if not measured or not cells_with(results, bench="sync" if name == "oversubscribed" else name):
        return []
    found = curves_of(name, results, measured)
    if name in PLOTS:
        draw, label = PLOTS[name]
        found.insert(0, (name, label, draw(results, measured, label)))
    return found


def svg_file(svg, theme):
    """The text of an SVG file, for light and dark screens, from an element for a page that has the `theme`'s variables."""
    style = f"<style>{theme} svg {{ background: var(--paper); font-family: system-ui, sans-serif; }}</style>"
    end = svg.index(">") + 1
    return f"{svg[:end]}{style}{svg[end:].rstrip()}\n"
