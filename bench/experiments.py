# SPDX-License-Identifier: BSD-3-Clause
"""What is run for each experiment: program, arguments, ranks. The demo takes the quick form of four of them, the suite
all of them in full."""

import dataclasses

from runner import ALONE, ITSELF, LIMIT, WITH, Job

SMALL = "8,1K,8K"
PROFILED = ("latency", "rate")  # the experiments whose cells are profiled where they missed
PROFILED_MISSES = 12  # at most: each takes some seconds per host and variant
OVERSUBSCRIBED_ORIGINS = 7
WARM = ("--warm-ms", "150")  # created windows are measured hot
# Programs that take some ten seconds: the machine's speed changes within minutes, and every peer is to see the same of it. Many short
# samples: interrupts come into each that lasts a millisecond.
SHORT = ("--reps", "31", "--budget-ms", "20")
COUNTED_CALLS, COUNTED_EPOCHS = (1000, 3000), (4, 12)  # of two counts the difference is told: no start, no first calls
QUICK_TIMEOUT_S = 30.0  # several times what a short form takes; a host that hangs must not cost the demo its time


@dataclasses.dataclass(frozen=True)
class Experiment:
    """`quick` and `full` are lists of (program, ranks, arguments), one launch each; limit, crowd_limit: arguments of the
    by-hand programs limit and limit-crowd that belong to it, or None."""

    name: str
    title: str
    quick: tuple = ()
    full: tuple = ()
    limit: tuple = None
    quick_limit: tuple = None
    crowd_limit: tuple = None
    timeout_s: float = 120.0
    placements: bool = False  # also with the ranks on each kind of pair of CPUs that the machine has
    under: str = ""  # a simulator that counts: once is enough, and the clock does not matter
    in_turns: bool = False  # hosts and variants run at the same time, and the machine is one's at a time
    variants: tuple = (ALONE, WITH)  # how each host runs


def _ranks(program, counts, *args):
    return tuple((program, count, args) for count in counts)


def _profile(program, mode, op, size, *args):
    return program, 2, ("--mode", mode, "--op", op, "--size", size, *args, "--flavour", "allocate", "--budget-ms", "1500")


SKEW = (("skew", 2, ("--budget-ms", "2500", *WARM)),)  # some ten epochs of a quarter of a second, and as many before them
LATENCY = (*(("latency", 2, ("--op", ops, "--mode", mode, *SHORT, *WARM))
             for ops, modes in (("put,get", ("pscw", "fence", "lock", "lock_shared", "lock_all")),
                                ("accumulate,fetch_and_op,compare_and_swap", ("pscw", "fence", "lock", "lock_all")))
             for mode in modes),
           ("latency", 2, ("--op", "put", "--mode", "pscw_read,pscw_made", "--size", "8K,16K,32K,64K,256K,1M,4M", *SHORT, *WARM)))
RATE = (*(("rate", 2, ("--mode", mode, *SHORT, *WARM)) for mode in ("pscw", "lock_all")),
        ("rate", 2, ("--mode", "lock_all", "--size", "8", "--values", "1024", *SHORT, *WARM)))

EXPERIMENTS = {e.name: e for e in (
    Experiment(
        "skew", "Process skew: the origin's epoch while the target multiplies matrices",
        quick=(("skew", 2, ("--budget-ms", "250")),),
        full=SKEW,
        limit=("--mode", "skew,memcpy", "--size", "256K", "--budget-ms", "5000"),
        quick_limit=("--mode", "skew", "--budget-ms", "150"), in_turns=True, timeout_s=60),
    Experiment(
        "stall", "First operation on a window while the target computes for 200 ms",
        quick=(("stall", 2, ("--mode", "lock", "--op", "put", "--reps", "1")),
               ("stall", 2, ("--mode", "lock_all", "--reps", "1"))),
        full=(("stall", 2, ("--reps", "5")),), limit=("--mode", "memcpy,update", "--size", "8"), timeout_s=60),
    Experiment(
        "latency", "Latency of one operation with its synchronisation",
        quick=(("latency", 2, ("--mode", "pscw,fence,lock,lock_all", "--op", "put,get", "--size", SMALL,
                               "--reps", "15", "--budget-ms", "15")),
               ("latency", 2, ("--mode", "lock_all", "--op", "fetch_and_op,compare_and_swap,accumulate",
                               "--size", "8", "--reps", "15", "--budget-ms", "15"))),
        full=LATENCY,
        limit=("--mode", "exchange,memcpy,update,cma"),
        quick_limit=("--mode", "exchange", "--op", "put,get", "--size", SMALL, "--budget-ms", "60"), in_turns=True, timeout_s=240, placements=True),
    Experiment(
        "oversubscribed", f"More ranks than cores: post and wait of a target of {OVERSUBSCRIBED_ORIGINS} origins",
        quick=_ranks("sync", (1 + OVERSUBSCRIBED_ORIGINS,), "--mode", "fan_in", "--reps", "15", "--budget-ms", "120"),
        full=_ranks("sync", (4, 8, 16), "--reps", "15"),
        crowd_limit=("--mode", "fan_in,barrier", "--values", "3,7,15"), in_turns=True, timeout_s=120),
    Experiment(
        "rate", "Bandwidth of 32 operations per epoch, and message rate",
        full=RATE,
        limit=("--mode", "exchange,memcpy", "--op", "put,get", "--size", "8,64,512,1K,4K,16K,64K,256K,1M"), in_turns=True, timeout_s=240),
    Experiment(
        "offset", "Put or get and flush with memory as malloc gives it: 16 bytes behind a page",
        full=(("offset", 2, (*SHORT, *WARM)),), in_turns=True, timeout_s=120),
    Experiment(
        "sync", "Cost of synchronisation without data",
        full=_ranks("sync", (2, 3, 4, 5, 6, 7, 8)), limit=("--mode", "exchange,update", "--op", "put,fetch_and_op", "--size", "8"),
        crowd_limit=("--mode", "fan_in,barrier", "--values", "1,2,3,4,5,6,7"), in_turns=True, timeout_s=240),
    Experiment(
        "contend", "k origins update one target",
        full=_ranks("contend", (2, 3, 5, 9), *WARM),
        limit=("--mode", "update", "--op", "fetch_and_op,compare_and_swap,accumulate", "--size", "8"),
        crowd_limit=("--mode", "same,distinct", "--values", "1,2,4,8", "--reps", "9", "--budget-ms", "450"), in_turns=True, timeout_s=240),
    Experiment(
        "overlap", "Computation hidden behind an epoch",
        full=(("overlap", 2, ("--reps", "51", "--budget-ms", "200", *WARM)),),
        limit=("--mode", "overlap", "--size", "8,4K,64K,256K,1M,4M", "--values", "100,200,400", "--reps", "51"), timeout_s=240),
    Experiment(
        "aggregate", "Bandwidth of k origins into one target",
        full=_ranks("aggregate", (2, 3, 4, 5, 8), *WARM), limit=("--mode", "memcpy", "--op", "put", "--size", "64K,512K"),
        crowd_limit=("--mode", "aggregate,aggregate_sessions", "--values", "1,2,3,4,7", "--size", "64K,512K"), in_turns=True, timeout_s=240),
    Experiment(
        "window", "Creation and freeing of a window, and its memory",
        full=_ranks("window", (2, 4, 8)),
        crowd_limit=("--mode", "window", "--values", "1,3,7", "--size", "4K,64K,1M,16M", "--reps", "21"), timeout_s=120),
    Experiment(
        "adopt", "Windows on ordinary memory: their price by policy, and the owner's own computing",
        full=(("adopt", 2, ("--mode", "cma", "--size", "8,4K,64K,1M")),
              ("adopt", 2, ("--mode", "owner", "--size", "512M", "--reps", "5")),
              ("adopt", 2, ("--mode", "cost,cost_always,cost_never", "--size", "4K,1M,64M",
                            "--values", "0,10,100,1000,10000", "--reps", "5")),
              ("adopt", 2, ("--mode", "few_flush,few_lock,few_fence", "--size", "8,1K,4K,64K", "--values", "10,100")),
              ("adopt", 2, ("--threads", "--mode", "cost", "--size", "4K,1M,64M", "--values", "0,10,100,1000,10000",
                            "--reps", "5")),
              ("adopt", 2, ("--mode", "cost,cost_always,cost_never", "--size", "1G", "--values", "0,1000",
                            "--reps", "3"))), timeout_s=300),
    Experiment(
        "instructions", "Instructions of a call",
        full=tuple(("count", 2, ("--mode", mode, "--flavour", "allocate", "--values", str(calls)))
                   for mode in ("lock", "flush", "fetch_and_op", "compare_and_swap", "accumulate", "pscw_empty", "pscw", "pscw_exposed")
                   for calls in COUNTED_CALLS), under="callgrind"),
    Experiment(
        "profile", "Where the origin's time goes",
        full=tuple(_profile("latency", mode, op, size)
                   for mode, op, size in (("lock_all", "put", "8"), ("lock_all", "put", "8K"), ("lock_all", "put", "64K"),
                                          ("lock_all", "put", "256K"), ("lock_all", "get", "1M"),
                                          ("lock_all", "accumulate", "4K"), ("lock_all", "accumulate", "8K"),
                                          ("lock_all", "accumulate", "256K"), ("lock", "accumulate", "1M"),
                                          ("lock_all", "fetch_and_op", "8"), ("lock", "put", "8"), ("pscw", "put", "8"),
                                          ("pscw", "put", "256K"), ("fence", "put", "8"))), under="perf"),
    Experiment(
        "itself", "How far chance goes: a host MPI alone against itself",
        full=tuple((program, ranks, (*args, "--flavour", "allocate")) for program, ranks, args in (*SKEW, *LATENCY, *RATE)),
        limit=("--mode", "exchange_places", "--op", "put,get,fetch_and_op,compare_and_swap", "--size", "8,64,512,4K", "--reps", "64",
               "--budget-ms", "250"),
        in_turns=True, timeout_s=240, variants=ITSELF),
    Experiment(
        "misses", "Cache misses of k origins that put into one target",
        full=tuple(("count", 3, ("--mode", "aggregate", "--flavour", flavour, "--size", size, "--values", str(calls)))
                   for size in ("64K", "512K") for flavour in ("create", "allocate")
                   for calls in COUNTED_EPOCHS), under="cachegrind"),
)}


def _with_option(args, name, value):
    """The arguments with the option set to the value, which takes the place of one that they have."""
    args = list(args)
    if name in args:
        args[args.index(name) + 1] = value
        return tuple(args)
    return (*args, name, value)


def adapted(experiment, reps=None, budget_ms=None, ranks=None):
    """The experiment with other samples per cell or time for one, and, where it is of more than two ranks, for other numbers
    of them. None: as it is."""
    full = experiment.full
    if ranks and any(count > 2 for _, count, _ in full):
        parts = dict.fromkeys((program, args) for program, _, args in full)
        full = tuple((program, count, args) for count in ranks for program, args in parts)
    for name, value in (("--reps", reps), ("--budget-ms", budget_ms)):
        if value:
            full = tuple((program, count, _with_option(args, name, str(value))) for program, count, args in full)
    crowd_limit = experiment.crowd_limit
    if ranks and crowd_limit:
        crowd_limit = _with_option(crowd_limit, "--values", ",".join(str(count - 1) for count in ranks))
    return dataclasses.replace(experiment, full=full, crowd_limit=crowd_limit)


def is_adapted(name, job):
    """Whether a job of the experiment, as it is stored, has samples or ranks that the experiment does not have. What runs under
    a simulator or a profiler is as it is: of the profile's list a part depends on what was measured before."""
    if EXPERIMENTS[name].under or job["variant"] == LIMIT:
        return False
    parts = {(program, ranks, *args) for program, ranks, args in (*EXPERIMENTS[name].full, *EXPERIMENTS[name].quick)}
    args = job["args"][:job["args"].index("--pin")] if "--pin" in job["args"] else job["args"]
    return (job["program"], job["ranks"], *args) not in parts


def ranks_left_out(name, stored):
    """The numbers of ranks that the experiment has, and none of its stored jobs."""
    measured = {job["ranks"] for job in stored if job["variant"] != LIMIT}
    return sorted({ranks for _, ranks, _ in EXPERIMENTS[name].full} - measured)


def launched_line(runs):
    """In which experiments TrueRMA's ranks were launched by it, where there were more than cores; none: nothing to say."""
    names = dict.fromkeys(run["file"].stem for run in runs if run["outcome"].get("is_launched"))
    return f"- With TrueRMA more ranks than cores started beneath `truerma launch`: {', '.join(names)}" if names else ""


def launches_line(stored):
    """How many launches of each program the medians are of, the fewest of an experiment's. `stored`: the jobs of each experiment."""
    experiments = {}
    for name, those in stored.items():
        launches = {}
        for job in those:
            if job["variant"] != LIMIT and not EXPERIMENTS[name].under:
                program = (job["host"], job["variant"], job["program"], job["ranks"], *job["args"])
                launches.setdefault(program, set()).add(job["launch"])
        if launches:
            experiments.setdefault(min(map(len, launches.values())), []).append(name)
    return "; ".join(f"{count} of {', '.join(experiments[count])}" for count in sorted(experiments, reverse=True))


def size_argument(size):
    """A size as the programs read it, and as it stands in the lists above."""
    for unit, shift in (("M", 20), ("K", 10)):
        if size >> shift and not size % (1 << shift):
            return f"{size >> shift}{unit}"
    return str(size)


def with_misses(profile, cells):
    """The experiment that profiles, with those of the `cells` that it does not have yet: the first of them."""
    parts = [_profile(cell["bench"], cell["mode"], cell["op"], size_argument(cell["size"]),
                      *(("--values", f"{cell['burst']:.0f}") if "burst" in cell else ()))
             for cell in cells if cell["bench"] in PROFILED]
    more = [part for part in parts if part not in profile.full]
    return dataclasses.replace(profile, full=(*profile.full, *more[:PROFILED_MISSES]))


def jobs(experiment, host, variant, launch, quick, pin="auto", placement=""):
    """The launches of an experiment for one host and variant. `placement`: the name of where `pin` is."""
    parts = experiment.quick if quick else experiment.full
    timeout_s = QUICK_TIMEOUT_S if quick else experiment.timeout_s
    return [Job(host, variant, program, (*args, "--pin", pin), ranks, launch, timeout_s,
                estimate_s=estimate(experiment.name, host, variant, quick), placement=placement, under=experiment.under)
            for program, ranks, args in parts]


def limit_jobs(experiment, launch, quick, pin="auto", placement=""):
    programs = {"limit": experiment.quick_limit if quick else experiment.limit,
                "limit-crowd": None if quick else experiment.crowd_limit}
    return [Job("", LIMIT, program, (*args, "--pin", pin), 2, launch, experiment.timeout_s, estimate_s=3.0,
                placement=placement) for program, args in programs.items() if args is not None]


def estimate(name, host, variant, quick):
    """Seconds that a launch takes, roughly: for the progress bar before anything is known."""
    seconds = {"skew": 4.5, "stall": 1.6, "latency": 2.0, "oversubscribed": 0.8}.get(name, 5.0)
    if name == "oversubscribed" and variant == ALONE and host.startswith("mpich"):
        seconds = 3.0
    return seconds if quick else 5 * seconds
