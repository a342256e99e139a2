# SPDX-License-Identifier: BSD-3-Clause
"""The page of the applications' results: a bar chart and tables for each, and the comparison with the papers."""

import pathlib

from app_run import COMMS
from apps_tables import fractions_table, papers_table, profile_table, times_table
from page import STYLE, escape, facts_html, table_html
from plots import PAPER, colour_of, pyplot, svg_of
from results import three_digits
from runner import ALONE, WITH

CUT = 2.2  # bars end here; what is beyond is told by its number


def bar_chart(results, app, titles):
    """Time of every variant relative to p2p on the same host alone: one panel per host and number of ranks."""
    panels_of = [(host, ranks) for name, host, ranks in results.configurations()
                 if name == app and results.find(app, host, ranks, "p2p", ALONE)]
    if not panels_of:
        return ""
    figure, panels = pyplot.subplots(1, len(panels_of), figsize=(2.4 * len(panels_of) + 1, 3.4), sharey=True,
                                     squeeze=False, layout="constrained")
    for panel, (host, ranks) in zip(panels[0], panels_of):
        base = results.find(app, host, ranks, "p2p", ALONE).median
        colour = colour_of(host)
        for place, comm in enumerate(COMMS):
            for shift, variant, face in ((-0.2, ALONE, PAPER), (0.2, WITH, colour)):
                value = results.find(app, host, ranks, comm, variant)
                if value:
                    relative = value.median / base
                    height = min(relative, CUT)
                    panel.bar(place + shift, height, 0.36, color=face, edgecolor=colour, linewidth=1.4)
                    text = three_digits(relative) + ("\n↑" if relative > CUT else "")
                    panel.annotate(text, (place + shift, height), ha="center", va="bottom", fontsize=8)
                else:
                    word = results.broken.get((app, host, ranks, comm, variant), "")
                    panel.annotate(word, (place + shift, 0.05), ha="center", va="bottom", fontsize=8, rotation=90)
        panel.set_ylim(0, CUT * 1.15)
        panel.axhline(1.0, color=colour, linewidth=0.8, linestyle=":")
        panel.set_xticks(range(len(COMMS)), COMMS)
        panel.grid(axis="x", visible=False)
        panel.set_title(f"{titles.get(host, host)}\n{ranks} ranks", loc="left")
    panels[0][0].set_ylabel("time / p2p alone")
    return svg_of(figure, app, f"{app}: time of each variant relative to p2p on the host alone")


def section(results, app, titles):
    tables = [times_table(results, app, titles), fractions_table(results, app, titles), profile_table(results, app, titles)]
    parts = [f"<h2>{escape(app)}</h2>", f"<figure>{bar_chart(results, app, titles)}</figure>"]
    parts += [f"<p class=soft>{escape(table.title)}: {escape(table.note)}.</p>{table_html(table)}" for table in tables
              if table.rows]
    return "\n".join(parts)


def write(path, results, apps, titles, machine, with_command, failures):
    title = "TrueRMA: applications"
    parts = [f"<h1>{title}</h1>",
             "<p>Seven programs, each two-sided (p2p), one-sided (rma) and one-sided with overlap (rma-nb), beneath the "
             "host MPI alone (hollow bars) and with TrueRMA (full bars); less is better, and p2p on the host alone is 1.</p>"]
    if failures:
        parts.append("<div class=alarm><b>Failed:</b><br>" + "<br>".join(map(escape, failures)) + "</div>")
    if any(value.busy for value in results.values.values()):
        parts.append("<div class=alarm>Values marked ~ were measured while other processes used the machine: they are no "
                     "results.</div>")
    comparison = papers_table(results, titles)
    parts.append(f"<h2>{escape(comparison.title)}</h2><p class=note>{escape(comparison.note)}.</p>{table_html(comparison)}")
    parts += [section(results, app, titles) for app in apps]
    parts.append("<h2>How it was measured</h2><p class=note>The variants run in turns, alone and with TrueRMA, two ranks "
                 "pinned to a CPU each, more not pinned. Every run verifies its result.</p>")
    parts.append(facts_html(machine, with_command))
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("<!doctype html>\n<html lang=en><meta charset=utf-8>"
                    "<meta name=viewport content='width=device-width'><meta name=color-scheme content='light dark'>"
                    f"<title>{title}</title><style>{STYLE}</style>\n" + "\n".join(parts) + "\n</html>\n",
                    encoding="utf-8")
