# SPDX-License-Identifier: BSD-3-Clause
"""A self-contained HTML page of results: plots, tables, and what was measured on which machine."""

import html
import pathlib

from best import summary_tables
from experiments import EXPERIMENTS
from figures import figures_of
from results import Results, time_text
from runner import told_of
from tables import limit_tables, tables_of

THEME = """
:root { --paper: #fdfdfb; --ink: #22262b; --soft: #5d656f; --grid: #dcdfe3; --row: #f3f4f2;
        --mpich: #1f6fb5; --openmpi: #c0611a; --limit: #7d858e; --good: #1d7a46; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #e3e6e9; --soft: #9aa3ad; --grid: #343a41; --row: #1c2025;
          --mpich: #6cb1ee; --openmpi: #f0a05a; --limit: #98a1ab; --good: #6fce98; --bad: #f2857c; } }
"""
STYLE = THEME + """
body { background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; margin: 0 auto;
       max-width: 62rem; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; font-weight: 600; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; margin: 3rem 0 .4rem; font-weight: 600; }
p { margin: .4rem 0; } .soft, figcaption, .note { color: var(--soft); font-size: .9rem; }
figure { margin: 1rem 0; } svg { width: 100%; height: auto; font-family: system-ui, sans-serif; }
.scroll { overflow-x: auto; margin: .6rem 0 1.4rem; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
th { text-align: right; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--grid); }
td { text-align: right; } th, td { padding: .22rem .65rem; } th:first-child, td:first-child { padding-left: .2rem; }
.name { text-align: left; } tr.rule td { border-top: 1px solid var(--grid); } tr:hover td { background: var(--row); }
td.good { color: var(--good); } td.bad { color: var(--bad); font-weight: 600; }
.alarm { border-left: 4px solid var(--bad); padding: .3rem .9rem; margin: 1rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; } summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
"""

NOTES = {
    "skew": "The target posts, multiplies matrices in user code, and only then waits. A truly one-sided MPI lets the "
            "origin finish in the same time whatever the target does: a flat line. (After Lai, Sur and Panda, "
            "“Designing truly one-sided MPI-2 RMA intra-node communication on multi-core systems”, Table 1.)",
    "stall": "The target computes for 200 ms and calls no MPI; the origin runs its first operation on the window "
             "meanwhile. What needs the target's help waits for the rest of the 200 ms.",
    "latency": "PSCW: half of a ping-pong, one epoch a way. Fence: the operation and one fence. Lock and lock_all: the "
               "origin's time while the target sits in a barrier. By hand: the same exchange between two processes "
               "over one shared mapping (copy, store a flag, poll), without any MPI.",
    "oversubscribed": "Eight ranks on the machine's cores, no data: what the waiting itself costs.",
}


def escape(text):
    return html.escape(str(text))


def cell_class(text):
    """Ratios of 1.1 and more are good; of less than 0.9, slower by more than a tenth, bad."""
    if not text.endswith("×"):
        return ""
    times = float(text[:-1])
    return " class=good" if times >= 1.1 else " class=bad" if times < 0.9 else ""


def table_html(table):
    def row_html(row, tag, rule):
        cells = "".join(f"<{tag} class=name>{escape(text)}</{tag}>" if c < table.left
                        else f"<{tag}{cell_class(text)}>{escape(text)}</{tag}>" for c, text in enumerate(row))
        return f"<tr class=rule>{cells}</tr>" if rule else f"<tr>{cells}</tr>"

    body, rule = [], False
    for row in table.rows:
        if row is not None:
            body.append(row_html(row, "td", rule))
        rule = row is None
    return (f"<div class=scroll><table><thead>{row_html(table.head, 'th', False)}</thead>"
            f"<tbody>{''.join(body)}</tbody></table></div>")


def section_html(name, results, titles):
    tables = tables_of(name, results, titles)
    if not any(table.rows for table in tables):
        return ""
    parts = [f"<h2>{escape(EXPERIMENTS[name].title)}</h2>"]
    if name in NOTES:
        parts.append(f"<p class=note>{NOTES[name]}</p>")
    for _name, label, svg in figures_of(name, results, titles):
        parts.append(f"<figure>{svg}<figcaption>{escape(label)}</figcaption></figure>")
    for number, table in enumerate(tables):
        caption = f"<p class=soft>{escape(table.note)}</p>"
        content = caption + table_html(table)
        # The first table stands open where it is the plot's own; long lists wait behind a line.
        opened = " open" if number == 0 and len(table.rows) < 24 else ""
        parts.append(f"<details{opened}><summary>{escape(table.title)}</summary>{content}</details>")
    return "\n".join(parts)


def headline(results, titles):
    """The result in a sentence: the created window at n = 256."""
    sentences = []
    for host, title in titles.items():
        pair = results.pair(host, bench="skew", side="origin", flavour="create", n=256)
        if all(pair):
            alone, with_ = (time_text(value.of()) for value in pair)
            sentences.append(f"{title}: {alone} alone, {with_} with TrueRMA")
    if not sentences:
        return ""
    return ("While the target multiplies two 256 × 256 matrices, an origin's epoch of 4 MiB on a created window takes: "
            + "; ".join(sentences) + ".")


def facts_html(machine, with_command):
    hosts = ", ".join(f"{host} {version}" for host, version in machine["hosts"].items())
    facts = {"machine": f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['caches']}, {machine['memory_gib']} GiB",
             "virtual": machine["virtual"], "system": f"{machine['system']}, Linux {machine['kernel']}, {machine['arch']}",
             "host MPIs": hosts, "with TrueRMA": told_of(with_command),
             "date": machine["date"]}
    if machine["virtual"] == "unknown":
        del facts["virtual"]
    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items()) + "</dl>"


def write(path, title, runs, machine, titles, names, with_command, failures=()):
    """Writes the page for the experiments `names`; `failures` are sentences that stand at its top."""
    results = Results(runs)
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(headline(results, titles))}</p>"]
    if failures:
        parts.append("<div class=alarm><b>Something failed:</b><br>" + "<br>".join(map(escape, failures)) + "</div>")
    if results.any_busy():
        parts.append("<div class=alarm>Values marked ~ were measured while other processes used the machine: they are "
                     "no results.</div>")
    parts += [section_html(name, results, titles) for name in names]
    for table in summary_tables(results, titles) + limit_tables(results):
        parts.append(f"<h2>{escape(table.title)}</h2><p class=note>{escape(table.note)}</p>{table_html(table)}")
    parts.append("<h2>How it was measured</h2><p class=note>Every program runs alone and with TrueRMA in turns, its ranks "
                 "pinned. A value is the median over launches of the median over repetitions in a launch. Data is "
                 "checked in every run. Hollow points: the host MPI alone; full points: with TrueRMA.</p>")
    parts.append(facts_html(machine, with_command))
    body = "\n".join(part for part in parts if part)
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
                    f"content='width=device-width'><meta name=color-scheme content='light dark'>"
                    f"<title>{escape(title)}</title><style>{STYLE}</style>\n{body}\n</html>\n", encoding="utf-8")
