# SPDX-License-Identifier: BSD-3-Clause
"""From the runs of the applications to tables: medians, improvements, and where the time goes."""

import dataclasses
import statistics

from app_run import COMMS
from results import Table, three_digits, time_text
from runner import ALONE, WITH

# Improvements that the papers report for the one-sided variant: (as printed, where).
PAPERS = {
    "mg": ("28–46 %", "Tipparaju et al. 2003"),
    "cg": ("up to 10 %", "Tipparaju et al. 2003"),
    "summa": ("10–25 %", "Tipparaju et al. 2003"),
    "ljmd": ("over 40 %", "Tipparaju et al. 2003"),
    "quake": ("10–15 %", "Lai et al."),
    "lu": ("up to 55 %", "Potluri et al."),
    "bfs": ("39–77 %", "Potluri et al."),
}


@dataclasses.dataclass
class Value:
    """One configuration: the launches that count."""

    seconds: list  # the application's total, maximum over ranks, of each launch
    communication: float  # fraction of the time, average over ranks, median over launches
    waiting: float
    busy: bool  # no launch was undisturbed

    @property
    def median(self):
        return statistics.median(self.seconds)

    def spread(self):
        """Half the distance of the fastest and the slowest launch, as a part of the median."""
        return (max(self.seconds) - min(self.seconds)) / 2 / self.median


class AppResults:
    """Values by configuration. Launches on a busy machine count only where there is no other."""

    def __init__(self, runs):
        self.values, self.broken, self.profiles = {}, {}, {}
        groups = {}
        for entry in runs:
            job, outcome = entry["job"], entry["outcome"]
            key = (job["app"], job["host"], job["ranks"], job["comm"], job["variant"])
            if outcome["status"] != "ok":
                self.broken[key] = outcome["status"]
            elif job["stats"]:
                self.profiles[key] = outcome["stats"]
            else:
                groups.setdefault(key, []).append(outcome)
        for key, outcomes in groups.items():
            quiet = [outcome for outcome in outcomes if not outcome["busy"]]
            self.values[key] = self._value(quiet or outcomes, busy=not quiet)

    @staticmethod
    def _value(outcomes, busy):
        times = [outcome["report"]["time"] for outcome in outcomes]

        def fraction(phase):
            return statistics.median(time[phase]["average"] / time["total"]["average"] for time in times)

        return Value([time["total"]["maximum"] for time in times], fraction("communication"), fraction("waiting"), busy)

    def find(self, app, host, ranks, comm, variant):
        return self.values.get((app, host, ranks, comm, variant))

    def text(self, app, host, ranks, comm, variant):
        value = self.find(app, host, ranks, comm, variant)
        if value is None:
            return self.broken.get((app, host, ranks, comm, variant), "–")
        return time_text(value.median * 1e6, value.busy)

    def configurations(self):
        """(app, host, ranks) that were measured, in the order of measurement."""
        return list(dict.fromkeys(key[:3] for key in [*self.values, *self.broken]))


def improvement(before, after):
    """The papers' measure: how much of the time is saved, in percent; or None."""
    return 100.0 * (before.median - after.median) / before.median if before and after else None


def improvement_text(before, after):
    percent = improvement(before, after)
    return "–" if percent is None else f"{percent:+.0f} %"


def fraction_text(value, name):
    return "–" if value is None else f"{100.0 * getattr(value, name):.0f} %"


def times_table(results, app, titles):
    """Medians of one application, all variants."""
    rows = []
    for _, host, ranks in (c for c in results.configurations() if c[0] == app):
        times = [results.text(app, host, ranks, comm, variant) for comm in COMMS for variant in (ALONE, WITH)]
        p2p, alone = (results.find(app, host, ranks, comm, ALONE) for comm in ("p2p", "rma-nb"))
        best = results.find(app, host, ranks, "rma-nb", WITH)
        rows.append([titles.get(host, host), str(ranks), *times, improvement_text(p2p, best),
                     improvement_text(alone, best)])
    head = ["host MPI", "ranks", *(f"{comm} {'alone' if variant == ALONE else 'TrueRMA'}" for comm in COMMS
                                   for variant in (ALONE, WITH)), "nb over p2p", "nb over nb alone"]
    return Table(f"{app}: time", "median over launches of the slowest rank's time; the last two columns: part of the time "
                 "that rma-nb with TrueRMA saves, over p2p and over rma-nb on the host alone", head, rows, left=1)


def fractions_table(results, app, titles):
    """Where the time goes: by the application's own clocks, which run on the host alone too."""
    rows = []
    for _, host, ranks in (c for c in results.configurations() if c[0] == app):
        cells = []
        for comm in COMMS:
            for variant in (ALONE, WITH):
                value = results.find(app, host, ranks, comm, variant)
                cells.append(f"{fraction_text(value, 'communication')} / {fraction_text(value, 'waiting')}")
        rows.append([titles.get(host, host), str(ranks), *cells])
    head = ["host MPI", "ranks", *(f"{comm} {'alone' if variant == ALONE else 'TrueRMA'}" for comm in COMMS
                                   for variant in (ALONE, WITH))]
    return Table(f"{app}: communication / waiting", "fractions of the time, average over ranks: within communication calls, "
                 "and within those of them that synchronise", head, rows, left=1)


def profile_table(results, app, titles):
    """What TrueRMA's statistics say of one run: paths, operations, waiting."""
    rows = []
    for (name, host, ranks, comm, _), windows in results.profiles.items():
        if name != app or not windows:
            continue
        paths = sorted({target["path"] for window in windows for target in window["targets"]
                        if target["operations"]})
        counts = [count for window in windows for target in window["targets"]
                  for count in target["operations"].values()]
        waits = sorted(((sum(window["waits"].get(kind, {}).get("seconds", 0.0) for window in windows), kind)
                        for kind in {kind for window in windows for kind in window["waits"]}), reverse=True)
        total = sum(seconds for seconds, _ in waits)
        longest = ", ".join(f"{kind} {time_text(seconds / ranks * 1e6)}" for seconds, kind in waits[:2] if seconds > 0)
        rows.append([titles.get(host, host), str(ranks), comm, str(len({w['window'] for w in windows})),
                     ", ".join(paths) or "–", f"{sum(count['operations'] for count in counts):,}",
                     f"{three_digits(sum(count['bytes'] for count in counts) / 2**20)} MiB",
                     time_text(total / ranks * 1e6), longest or "–"])
    head = ["host MPI", "ranks", "comm", "windows", "paths", "operations", "moved", "waiting per rank", "longest in"]
    return Table(f"{app}: TrueRMA's statistics", "TRUERMA_STATS of one further launch", head, rows, left=1)


def papers_table(results, titles):
    """Ours beside the papers' figures."""
    rows = []
    for app, host, ranks in results.configurations():
        p2p, alone = (results.find(app, host, ranks, comm, ALONE) for comm in ("p2p", "rma-nb"))
        best = results.find(app, host, ranks, "rma-nb", WITH)
        rows.append([app, titles.get(host, host), str(ranks), improvement_text(p2p, best), improvement_text(alone, best),
                     *PAPERS[app]])
    head = ["app", "host MPI", "ranks", "over p2p alone", "over rma-nb alone", "paper", "source"]
    return Table("Improvement of rma-nb with TrueRMA", "(T before − T after) / T before; beside it what the papers report "
                 "on their machines and MPIs", head, rows, left=2)
