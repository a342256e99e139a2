#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`make results`: docs/results.md, and the plots that it shows in docs/plots/results, from what the suite has measured
(make demo, make bench, make bench-apps). What was not measured is named, not filled in."""

import argparse
import glob
import json
import pathlib
import sys

from apps_tables import AppResults, fractions_table, improvement, papers_table, times_table
from best import summary_tables
from experiments import EXPERIMENTS, is_adapted, launched_line, launches_line, ranks_left_out
from figures import figures_of, svg_file
from machine import host_title, same_machine, with_hosts_of
from page import THEME
from results import Results, Table, bench_of, markdown_of
from runner import ALONE, APPS_FILES, BUILD, ROOT, WITH
from tables import limit_tables, tables_of


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=BUILD, help="where the results are (default %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs" / "results.md", help="default %(default)s")
    return parser.parse_args()


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        return data["machine"], list(data["runs"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        sys.exit(f"results: {path} holds no results of this suite: {error}")


def read_all(paths, demo):
    """The machine and the runs of several files, which must come from one machine and the same MPIs. Of the `demo`'s, a
    file with short runs, only those of programs that no later file has count. Runs on a busy machine are left out."""
    machine, runs = None, []
    for path in paths:
        its_machine, its_runs = read(path)
        if machine and not same_machine(machine, its_machine):
            sys.exit(f"results: {path} comes from another machine or other MPIs than {paths[0]}")
        machine = with_hosts_of(machine, its_machine)
        programs = {bench_of(run["job"]) for run in its_runs}
        runs = [run for run in runs if bench_of(run["job"]) not in programs or run["file"] != demo]
        runs += [{**run, "file": path} for run in its_runs if not run["outcome"]["busy"]]
    return machine, runs


def titles_of(machine):
    return {host: host_title(host, version) for host, version in machine["hosts"].items()}


def with_measured_hosts(machine, runs):
    """The machine's facts with those of its MPIs that a run is of."""
    measured = {run["job"]["host"] for run in runs}
    return {**machine, "hosts": {host: version for host, version in machine["hosts"].items() if host in measured}}


def jobs_of_experiments(runs):
    """The jobs of each experiment of which some were measured. The demo's are of several, and short: none of them."""
    jobs = {name: [run["job"] for run in runs if run["file"].stem == name] for name in EXPERIMENTS}
    return {name: those for name, those in jobs.items() if those}


def adapted_lines(runs):
    """How often what was measured, and which experiments were not made as `make bench` makes them."""
    jobs = jobs_of_experiments(runs)
    adapted = [name for name, those in jobs.items() if any(is_adapted(name, job) for job in those)]
    left_out = {name: ranks for name, those in jobs.items() if (ranks := ranks_left_out(name, those))}
    launches = launches_line(jobs)
    launched = launched_line(runs)
    return [*([f"- Launches of each program: {launches}"] if launches else []), *([launched] if launched else []),
            *([f"- With samples or numbers of ranks other than those of `make bench`: {', '.join(adapted)}"] if adapted else []),
            *(f"- Left out of {name}: {', '.join(map(str, ranks))} ranks" for name, ranks in left_out.items())]


def facts(machine):
    return [f"- Machine: {machine['cpu']}, {machine['cpus']} CPUs, {machine['caches']}; {machine['memory_gib']} GiB"
            + (f"; virtual ({machine['virtual']})" if machine["virtual"] != "unknown" else ""),
            f"- System: {machine['system']}, Linux {machine['kernel']}, {machine['arch']}",
            f"- MPIs: {', '.join(titles_of(machine).values())}",
            f"- Date: {machine['date']}"]


def plot_lines(figures, output):
    """Writes the plots beside the page, each to a file, and tells where they are."""
    folder = output.parent / "plots" / output.stem
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, label, svg in figures:
        (folder / f"{name}.svg").write_text(svg_file(svg, THEME), encoding="utf-8")
        lines += [f"![{label}](plots/{output.stem}/{name}.svg)", ""]
    return lines


def table_lines(tables):
    lines = []
    for table in tables:
        lines += [markdown_of(table) if table.rows else f"## {table.title}\n\nNone.", ""]
    return lines


def experiment_lines(machine, runs, output):
    """What it comes to first, then every experiment."""
    results, titles = Results(runs), titles_of(machine)
    lines, missing = table_lines(summary_tables(results, titles)), []
    for name, experiment in EXPERIMENTS.items():
        tables = [table for table in tables_of(name, results, titles) if table.rows]
        if not tables:
            missing.append(experiment.title)
            continue
        figures = figures_of(name, results, titles)
        if figures:
            lines += [f"## {experiment.title}: plots", "", *plot_lines(figures, output)]
        for table in tables:
            lines += [markdown_of(table), ""]
    return lines + table_lines(limit_tables(results)), missing


def slower_table(results, titles):
    """Where rma-nb with TrueRMA does not reach p2p, or itself, on the host alone."""
    rows = []
    for app, host, ranks in results.configurations():
        best = results.find(app, host, ranks, "rma-nb", WITH)
        for comm in ("p2p", "rma-nb"):
            percent = improvement(results.find(app, host, ranks, comm, ALONE), best)
            if percent is not None and percent < 0:
                rows.append([app, titles.get(host, host), str(ranks), comm, f"{-percent:.1f} %"])
    return Table("Where it is slower", "rma-nb with TrueRMA against the host alone", ["app", "host MPI", "ranks", "than",
                                                                                   "by"], rows, left=2)


def application_lines(name, runs, titles):
    results = AppResults(runs)
    lines = ["## Scientific codes", "", f"From `{name}`" + (": small problems, seconds and less, in which windows still earn "
             "their adoption" if "quick" in name else "") + ".", ""]
    tables = [papers_table(results, titles), slower_table(results, titles)]
    for app in dict.fromkeys(app for app, _, _ in results.configurations()):
        tables += [times_table(results, app, titles), fractions_table(results, app, titles)]
    for table in tables:
        lines += [markdown_of(table) if table.rows else f"## {table.title}\n\nNowhere.", ""]
    return lines


def main():
    options = arguments()
    apps = next((path for name in APPS_FILES if (path := options.build / "bench" / name).exists()), None)
    demo = options.build / "demo" / "results.json"
    files = [demo] if demo.exists() else []
    files += [pathlib.Path(path) for path in sorted(glob.glob(str(options.build / "bench" / "*.json")))
              if pathlib.Path(path).name not in APPS_FILES]
    if not files and not apps:
        sys.exit(f"results: nothing was measured in {options.build}: run make demo, make bench or make bench-apps")
    machine, runs = read_all(files, demo) if files else (read(apps)[0], [])
    machine = with_measured_hosts(machine, runs + (read(apps)[1] if apps else []))
    body, missing = experiment_lines(machine, runs, options.output)
    if apps:
        body += application_lines(apps.name, read(apps)[1], titles_of(machine))
    else:
        missing.append("Scientific codes")
    lines = ["# Results", "", "Written by `make results` from the suite's own output; how each number is defined: "
             "[bench/README.md](../bench/README.md). `~` marks scientific codes that ran while other processes used the machine, "
             "`≈` what was measured mostly while the machine's two CPUs were far from each other (a virtual machine's are moved about) or other "
             "tenants used their cores.", "",
             *facts(machine), *adapted_lines(runs), *([f"- Not measured here: {'; '.join(missing)}"] if missing else []), "", *body]
    options.output.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"wrote {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
