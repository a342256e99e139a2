# SPDX-License-Identifier: BSD-3-Clause
"""The tables of each experiment, host MPI alone against TrueRMA."""

from experiments import COUNTED_CALLS, COUNTED_EPOCHS, EXPERIMENTS
from results import FLAVOURS, Table, cells_with, numbers_of, ratio_text, share, time_text, value_text
from runner import ALONE, WITH
from shares import TOLD, allocated_shares, chances

OPERATIONS = {"put": "put", "get": "get", "fetch_and_op": "fetch_and_op", "compare_and_swap": "compare_and_swap",
              "accumulate": "accumulate"}
MODES = {"pscw": "post/start/complete/wait", "pscw_read": "post/start/complete/wait, read",
         "pscw_made": "post/start/complete/wait, made and read", "fence": "fence", "lock": "lock, unlock",
         "lock_shared": "shared lock, unlock", "lock_all": "lock_all, flush"}


def size_text(size):
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size >> shift} {unit}"
    return f"{size} B"


COPIES = ("put", "get")
BY_LOCKS, LARGE = ("lock", "lock_shared", "lock_all"), 64 << 10  # what is compared with a memcpy, or sums, in turns
COPY_HEAD = ["by hand", "memcpy"]
LIMIT_HEAD = ["by hand", "memcpy, update"]


def limit_columns(results, op, size, field="median_us", told=False, **where):
    """The same operation by hand: by two processes that tell one another over one shared mapping, and within one process.
    The former is empty where the target is not told."""
    exchange = results.limit(mode="exchange", op=op, size=size, **where) if told else None
    within = results.limit(mode="memcpy" if op in COPIES else "update", op=op, size=size, **where)
    return [number_text(value, field, "") for value in (exchange, within)]


def skew_tables(results, titles):
    tables = []
    orders = numbers_of(results, "n", bench="skew")
    for side in ("origin", "target"):
        rows = []
        for host, title in titles.items():
            for flavour, flavour_title in FLAVOURS:
                for variant, name in ((ALONE, "alone"), (WITH, "TrueRMA")):
                    values = {n: results.find(host, variant, bench="skew", side=side, flavour=flavour, n=n)
                              for n in orders}
                    mishap = results.mishap(host, variant, "skew")
                    row = [title, flavour_title, name] + [value_text(values[n], mishap) for n in orders]
                    rows.append(row + ([growth_text(values)] if side == "origin" else []))
            rows.append(None)
        if side == "origin":
            values = {n: results.limit(mode="skew", side=side, n=n) for n in orders}
            if any(values.values()):
                rows.append(["by hand (limit)", "mapped", "no MPI"] + [value_text(values[n]) for n in orders]
                            + [growth_text(values)])
            copy = results.limit(mode="memcpy", op="put", size=SKEW_PIECE)
            if copy:
                rows.append(["memcpy (limit)", "", "no MPI"] + [time_text(SKEW_PIECES * copy.of())] * len(orders) + ["1.00"])
        head = ["host MPI", "window", ""] + [f"n = {n}" for n in orders] + (["256 : 0"] if side == "origin" else [])
        tables.append(Table(f"{EXPERIMENTS['skew'].title}: {side}'s time",
                            "origin: start, 16 puts of 256 KiB, complete; target: post, multiply two n x n matrices, wait",
                            head, without_last_rule(rows), 3))
    return tables


def without_last_rule(rows):
    return rows[:-1] if rows and rows[-1] is None else rows


SKEW_PIECES, SKEW_PIECE = 16, 256 << 10  # what the origin puts in an epoch


def growth_text(values):
    """How the origin's time at n = 256 compares to its own at n = 0."""
    if not values.get(0) or not values.get(256):
        return "–"
    return f"{values[256].of() / values[0].of():.2f}"


def pair_columns(results, host, program, **wanted):
    alone, with_ = results.pair(host, bench=program, **wanted)
    return [value_text(alone, results.mishap(host, ALONE, program)),
            value_text(with_, results.mishap(host, WITH, program)), ratio_text(alone, with_)]


def stall_tables(results, titles):
    rows = []
    order = sorted(cells_with(results, bench="stall", flavour="create"),
                   key=lambda f: (f["mode"] != "lock", list(OPERATIONS).index(f["op"])))
    for host, title in titles.items():
        for fields in order:
            sync = "lock + {} + unlock" if fields["mode"] == "lock" else "{} + flush"
            row = [title, sync.format(OPERATIONS[fields["op"]]), size_text(fields["size"])]
            for flavour, _ in FLAVOURS:
                row += pair_columns(results, host, "stall", mode=fields["mode"], op=fields["op"], flavour=flavour)
            rows.append(row + limit_columns(results, fields["op"], fields["size"]))
        rows.append(None)
    head = ["host MPI", "operation", "size", "created: alone", "TrueRMA", "ratio", "allocated: alone", "TrueRMA", "ratio",
            *LIMIT_HEAD]
    return [Table(EXPERIMENTS["stall"].title, "the origin's time for it; the target calls no MPI meanwhile", head,
                  without_last_rule(rows), 3)]


def latency_tables(results, titles):
    placements = dict.fromkeys(dict(identity).get("placement") for _, _, identity in results.values)
    return [table for placement in placements
            for table in latency_tables_of(results, titles, {"placement": placement} if placement else {})]


def latency_tables_of(results, titles, where):
    tables = []
    order = sorted(cells_with(results, bench="latency", flavour="create", **where),
                   key=lambda f: (list(MODES).index(f["mode"]), list(OPERATIONS).index(f["op"]), f["size"]))
    for host, title in titles.items():
        rows, last = [], None
        for fields in order:
            mode, op, size = fields["mode"], fields["op"], fields["size"]
            if last not in (None, mode):
                rows.append(None)
            last = mode
            row = [MODES[mode], OPERATIONS[op], size_text(size)]
            for flavour, _ in FLAVOURS:
                row += pair_columns(results, host, "latency", mode=mode, op=op, size=size, flavour=flavour, **where)
            limits = limit_columns(results, op, size, told=mode in TOLD, **where)
            within = "memcpy" if op in COPIES else "update"
            beside = results.find(host, WITH, bench="latency", mode=mode, op=op, size=size, flavour=within, **where)
            if beside:  # in turns with these very cells
                limits[-1] = number_text(beside, "median_us", "")
            if mode in ("pscw_read", "pscw_made"):
                by_hand = results.find(host, WITH, bench="latency", mode=mode, op=op, size=size, flavour="exchange", **where)
                limits = [number_text(by_hand, "median_us", ""), ""]
            rows.append(row + limits)
        head = ["synchronisation", "operation", "size", "created: alone", "TrueRMA", "ratio", "allocated: alone",
                "TrueRMA", "ratio", *LIMIT_HEAD]
        place = f", {where['placement']}" if where else ""
        tables.append(Table(f"{EXPERIMENTS['latency'].title}: {title}{place}",
                            "two pinned ranks; ratio: how many times faster with TrueRMA", head, rows, 3))
    return tables


def offset_tables(results, titles):
    rows = []
    order = sorted(cells_with(results, bench="offset", flavour="create"),
                   key=lambda f: (list(OPERATIONS).index(f["op"]), f["size"], f["offset"]))
    for host, title in titles.items():
        for fields in order:
            where = {name: fields[name] for name in ("op", "size", "offset")}
            row = [title, OPERATIONS[fields["op"]], size_text(fields["size"]), f"{fields['offset']:.0f} B"]
            for flavour, _ in FLAVOURS:
                row += pair_columns(results, host, "offset", flavour=flavour, **where)
            rows.append(row + [value_text(results.find(host, WITH, bench="offset", flavour="memcpy", **where), "")])
        rows.append(None)
    head = ["host MPI", "operation", "size", "behind a page", "created: alone", "TrueRMA", "ratio", "allocated: alone", "TrueRMA",
            "ratio", "memcpy"]
    return [Table(EXPERIMENTS["offset"].title, "two pinned ranks, the windows begin with pages; memcpy: within the process, "
                  "sampled in turns", head, without_last_rule(rows), 4)]


def oversubscribed_tables(results, titles):
    rows, barriers = [], []
    for host, title in titles.items():
        for others in numbers_of(results, "others", bench="sync", mode="fan_in"):
            for flavour, flavour_title in FLAVOURS:
                rows.append([title, flavour_title, f"{others:.0f}"] + pair_columns(
                    results, host, "sync", mode="fan_in", side="target", flavour=flavour, others=others)
                    + [value_text(results.limit(mode="fan_in", others=others), "")])
        for others in numbers_of(results, "others", bench="sync", mode="barrier"):
            barriers.append([title, f"{others + 1:.0f}"] + pair_columns(
                results, host, "sync", mode="barrier", flavour="allocate", others=others)
                + [value_text(results.limit(mode="barrier", others=others), "")])
    head = ["host MPI", "window", "origins", "alone", "TrueRMA", "ratio", "by hand"]
    tables = [Table(EXPERIMENTS["oversubscribed"].title, "no data; the target's time for post and wait", head, rows, 2)]
    if barriers:
        tables.append(Table("More ranks than cores: MPI_Barrier", "where programs with windows meet; with TrueRMA on a communicator "
                            "that has windows it is a barrier of its own", ["host MPI", "ranks", "alone", "TrueRMA", "ratio", "by hand"], barriers))
    return tables


MEMORIES = (("plain", "plain"), ("create", "created"), ("allocate", "allocated"), ("freed", "given back"))
POLICIES = (("cost", "auto"), ("cost_always", "always"), ("cost_never", "never"))


FEW_OPS = ("put", "get", "accumulate")


def few_rows(results, host, title):
    rows = []
    for mode, name in (("few_flush", "flush"), ("few_lock", "lock"), ("few_fence", "fence")):
        where = {"bench": "adopt", "mode": mode}
        for count in numbers_of(results, "puts", **where):
            for size in numbers_of(results, "size", **where):
                row = [title, name, f"{count:.0f}", size_text(size)]
                for op in FEW_OPS:
                    alone, ours = results.pair(host, **where, op=op, size=size, puts=count)
                    row += [value_text(alone), value_text(ours), f"{share(ours, alone):.2f}" if alone and ours else "–"]
                rows.append(row)
    return rows


def adopt_tables(results, titles):
    owner, cost, few, crossing = [], [], [], []
    for host, title in titles.items():
        for fields in cells_with(results, bench="adopt", mode="owner", flavour="plain"):
            row = [title, fields["op"].replace("_", " "), size_text(fields["size"])]
            for variant in (ALONE, WITH):
                row += [value_text(results.find(host, variant, **dict(fields, flavour=flavour)),
                                   results.mishap(host, variant, "adopt")) for flavour, _ in MEMORIES]
            owner.append(row)
        order = sorted(cells_with(results, bench="adopt", mode="cost") +
                       cells_with(results, bench="adopt", mode="cost", threads="multiple"),
                       key=lambda f: ("threads" in f, f["size"], f["op"] == "touched", f["puts"]))
        for fields in order:
            row = [title, "yes" if "threads" in fields else "no", size_text(fields["size"]), fields["op"],
                   f"{fields['puts']:.0f}",
                   value_text(results.find(host, ALONE, **fields), results.mishap(host, ALONE, "adopt"))]
            cost.append(row + [value_text(results.find(host, WITH, **dict(fields, mode=mode))) for mode, _ in POLICIES])
        few += few_rows(results, host, title)
        for size in numbers_of(results, "size", bench="adopt", mode="cma"):
            row = [title, size_text(size)]
            for op in ("put", "get"):
                bare, ours = (results.find(host, WITH, bench="adopt", mode="cma", op=name, size=size)
                              for name in (f"bare_{op}", op))
                row += [value_text(bare), value_text(ours), f"{share(ours, bare):.2f}" if bare and ours else "–"]
            crossing.append(row)
        owner.append(None)
        cost.append(None)
        few.append(None)
        crossing.append(None)
    head = [f"{name}: {memory}" for name in ("alone", "TrueRMA") for _, memory in MEMORIES]
    return [Table("The owner's own computing on its window", "one rank computes; plain: malloc memory on huge pages; "
                  "random read: for each of 2,000,000 reads that depend on each other", ["host MPI", "what", "size", *head],
                  without_last_rule(owner), 3),
            Table("Price of a created window by policy", "make, so many puts of 8 bytes with a flush each, free; threads: the "
                  "program has asked for MPI_THREAD_MULTIPLE, as mpi4py does",
                  ["host MPI", "threads", "size", "memory", "puts", "alone",
                   *(f"TrueRMA, {policy}" for _, policy in POLICIES)],
                  without_last_rule(cost), 3),
            Table("A few operations on a created window", "make a window of 1 MiB, so many operations, each with a flush, a lock or "
                  "between two fences, free; the target waits",
                  ["host MPI", "each with", "count", "size", *(f"{op}: {what}" for op in FEW_OPS
                                                               for what in ("alone", "TrueRMA", "ratio"))],
                  without_last_rule(few), 4),
            Table("TrueRMA on CMA against bare system calls", "adoption off; an operation with its flush, and "
                  "process_vm_writev or readv alone in the same processes",
                  ["host MPI", "size", "writev", "put", "put : writev", "readv", "get", "get : readv"],
                  without_last_rule(crossing), 2)]


COUNTED = {"lock": "lock, put, unlock", "flush": "put, flush", "fetch_and_op": "fetch_and_op, flush",
           "compare_and_swap": "compare_and_swap, flush", "accumulate": "accumulate of a word, flush",
           "pscw_empty": "start, complete", "pscw": "start, put, complete", "pscw_exposed": "post, wait"}


def each_of(results, host, variant, numbers, counts, **fields):
    """What one more call costs, by the difference of two runs of so many calls: a list, one entry per name in `numbers`."""
    few, many = (results.find(host, variant, bench="count", calls=calls, **fields) for calls in counts)
    if not few or not many:
        return [None] * len(numbers)
    return [(many.of(name) - few.of(name)) / (counts[1] - counts[0]) for name in numbers]


def instructions_tables(results, titles):
    rows = []
    for mode, title in COUNTED.items():
        row = [title]
        for host in titles:
            for variant in (ALONE, WITH):
                count, = each_of(results, host, variant, ["instructions"], COUNTED_CALLS, mode=mode)
                row.append("–" if count is None else f"{count:.0f}")
        if any(cell != "–" for cell in row[1:]):
            rows.append(row)
    head = ["calls", *(f"{title}: {name}" for title in titles.values() for name in ("alone", "TrueRMA"))]
    return [Table(EXPERIMENTS["instructions"].title, "at the origin (post and wait: at the target), 8 bytes, allocated window; counted by "
                  "callgrind inside these calls, nothing that they wait for", head, rows)]


def profile_text(value, otherwise):
    if value is None:
        return otherwise
    return ", ".join(f"{share:.0f} % {function}" for share, function, _library in value.launches[0]["profile"] if share >= 1)


def profiled_cell(fields):
    """The cell that a profile is of, as its experiment has it: with a burst one of rate, else of latency."""
    return dict(fields, bench="rate" if "burst" in fields else "latency")


def profile_tables(results, titles):
    rows, shares = [], allocated_shares(results)
    order = sorted(cells_with(results, bench="profile"),
                   key=lambda f: ("burst" in f, list(MODES).index(f["mode"]), f["op"], f["size"], f.get("burst", 0)))
    for host, title in titles.items():
        for fields in order:
            # Exactly these: one of latency has all fields of one of rate but for the burst.
            alone, with_ = (results.exactly(host, variant, fields) for variant in (ALONE, WITH))
            if alone or with_:
                cell = profiled_cell(fields)
                share = shares.get(tuple(cell.items()), {}).get(host)
                rows.append([title, cell["bench"] + (f", {cell['burst']:.0f} per epoch" if "burst" in cell else ""),
                             MODES[cell["mode"]], OPERATIONS[cell["op"]], size_text(cell["size"]),
                             f"{share:.2f}" if share else "–", profile_text(with_, "–"), profile_text(alone, "–")])
        if rows and rows[-1] is not None:
            rows.append(None)
    return [Table(EXPERIMENTS["profile"].title, "rank 0 on an allocated window, by perf: the functions it was found in most often; "
                  "where both sides are in the C library's memory copy, neither can be faster than the other; share: TrueRMA's time "
                  "by that of the fastest MPI alone on allocated windows, measured without perf; the cells in which it is most above 1 are here for it",
                  ["host MPI", "experiment", "synchronisation", "operation", "size", "share", "TrueRMA", "alone"],
                  without_last_rule(rows), 8)]


def itself_text(ratios):
    if not ratios:
        return "–"
    return f"{min(ratios):.2f}-{max(ratios):.2f}, {sum(ratio <= 1 for ratio in ratios)} of {len(ratios)}"


def itself_tables(results, titles):
    """A line per group of cells; they are grouped as in the comparison with the best MPI."""
    groups, everything = {}, {}
    for fields in cells_with(results, bench="itself", flavour="allocate"):
        if fields.get("side") == "target":
            continue
        group = (fields["of"], MODES.get(fields.get("mode"), ""), OPERATIONS.get(fields.get("op"), ""))
        for host in titles:
            if (ratio := chances(results, host, fields)) is not None:
                groups.setdefault(group, {}).setdefault(host, []).append(ratio)
                everything.setdefault(host, []).append(ratio)
    rows = [[*group, *(itself_text(ratios.get(host)) for host in titles)] for group, ratios in groups.items()]
    if rows:
        rows.append(["all", "", "", *(itself_text(everything.get(host)) for host in titles)])
    return [Table(EXPERIMENTS["itself"].title, "the same program on the same host twice, without TrueRMA, in turns as everything else, on "
                  "allocated windows: the time of one over that of the other, the lowest and the highest cell, and in how many the one "
                  "that stands for TrueRMA takes as little as the other",
                  ["experiment", "synchronisation", "operation", *titles.values()], rows, 3), *places_tables(results)]


def places_tables(results):
    """The exchange by hand, by the cache lines that it uses."""
    rows = []
    for fields in cells_with(results, bench="limit", mode="exchange_places"):
        value = results.limit(mode="exchange_places", op=fields["op"], size=fields["size"])
        rows.append([OPERATIONS[fields["op"]], size_text(fields["size"]),
                     *(time_text(value.of(name)) for name in ("min", "p10", "median_us", "p90"))])
    return [Table("How far chance goes: the exchange by hand in 64 places", "a copy, a flag and a poll in memory that two processes share, "
                  "one way, with flags and data in other cache lines each time: each line has its home in another part of the processor",
                  ["operation", "size", "lowest", "a tenth below", "median", "a tenth above"], rows, 2)] if rows else []


def misses_tables(results, titles):
    """By the processor's own counters where it lets them be read, else by the simulated ones."""
    rows, simulated = [], []
    for host, title in titles.items():
        for size in numbers_of(results, "size", bench="count", mode="aggregate"):
            for flavour, flavour_title in FLAVOURS:
                for variant, name in ((ALONE, "alone"), (WITH, "TrueRMA")):
                    numbers = each_of(results, host, variant, ["l1_misses", "last_level_misses"], COUNTED_EPOCHS,
                                      mode="aggregate", size=size, flavour=flavour)
                    if numbers[0] is not None:
                        simulated.append([title, size_text(size), flavour_title, name, *(f"{n:.0f}" for n in numbers)])
        for fields in cells_with(results, bench="aggregate"):
            for variant, name in ((ALONE, "alone"), (WITH, "TrueRMA")):
                value = results.find(host, variant, **fields)
                if value and "cache_misses" in value.launches[0]:
                    rows.append([title, f"{fields['others']:.0f} × {size_text(fields['size'])}", fields["flavour"], name,
                                 f"{value.of('cache_misses'):.0f}"])
    title = EXPERIMENTS["misses"].title
    tables = [Table(f"{title}: counted", "per epoch, all ranks together; by the processor's own counters",
                    ["host MPI", "size", "window", "", "misses"], rows, 4)] if rows else []
    head = ["host MPI", "size", "window", "", "first level", "last level"]
    return tables + [Table(f"{title}: simulated", "data misses per epoch of 2 origins with 16 puts each, all ranks together; "
                           "by cachegrind, which gives every process caches of its own and does not see what the kernel copies (CMA: created windows "
                           "that have not earned adoption; Open MPI's single-copy get)", head, simulated, 4)]


# How the remaining experiments' cells are named and which of their numbers is told: (title of the column, field).
GENERIC = {
    "rate": ("GB/s", "gb_s"), "sync": (None, "median_us"), "contend": ("M updates/s", "mops"),
    "overlap": ("overlap", "overlap"), "aggregate": ("GB/s", "gb_s"), "window": (None, "median_us"),
}

LIMITED = {"rate": COPY_HEAD, "aggregate": ["by hand", "by hand, sessions", "memcpy"], "sync": COPY_HEAD[:1], "overlap": COPY_HEAD[:1],
           "contend": ["by hand", "update"], "window": [f"by hand: {name}" for _, name in FLAVOURS]}
LIMIT_NOTES = {
    "sync": "; by hand: fan_in, fence and barrier by so many processes over one shared mapping, lock: an atomic instruction, "
            "otherwise a word to one other process",
    "aggregate": "; by hand: so many processes over one shared mapping, who waits yields where they are more than the CPUs; sessions: the same, "
                 "each in a session of its own, as MPICH's launcher starts ranks; memcpy: one process",
    "contend": "; by hand: so many processes over one shared mapping, an atomic instruction each; update: one process",
    "window": "; by hand, so many processes: they tell one another where their shared memory lies, or make it and map it",
}


def sync_limit(results, fields):
    """By hand: of a target of k origins the same; of fences and barriers a barrier; of a lock an atomic instruction; of what
    is left a word to the other process."""
    mode = fields["mode"]
    if mode == "fan_in" and fields["side"] == "target":
        return results.limit(mode="fan_in", others=fields["others"])
    if mode in ("fence", "barrier"):
        return results.limit(mode="barrier", others=fields["others"])
    if mode == "lock":
        return results.limit(mode="update", op="fetch_and_op", size=8)
    return results.limit(mode="exchange", op="put", size=8)


def generic_limits(results, bench, fields, field):
    """Of transfers the same bytes; of all else the same by hand."""
    if bench == "sync":
        return [value_text(sync_limit(results, fields), "")]
    if bench == "contend":
        by_hand = results.limit(**{name: fields[name] for name in ("mode", "op", "others")})
        alone = results.limit(mode="update", op=fields["op"], size=8)
        return [number_text(by_hand, field, ""), f"{1 / alone.of():.3g}" if alone else ""]
    if bench == "aggregate":
        where = {name: fields[name] for name in ("op", "size", "others")}
        return [number_text(results.limit(mode=mode, **where), field, "") for mode in ("aggregate", "aggregate_sessions")] + [
            number_text(results.limit(mode="memcpy", op="put", size=fields["size"]), field, "")]
    if bench == "window":
        where = {"op": fields["op"], "size": fields["size"], "others": fields["ranks"] - 1}
        return [value_text(results.limit(mode="window", flavour=flavour, **where), "") for flavour, _ in FLAVOURS]
    if bench == "overlap":
        where = {name: fields[name] for name in ("side", "size", "comp_percent")}
        return [number_text(results.limit(mode="overlap", **where), field, "")]
    if bench not in LIMITED:
        return []
    return limit_columns(results, fields.get("op", "put"), fields["size"], field, told=fields.get("mode", "pscw") in TOLD)


def generic_tables(results, titles, bench):
    """One table per host: a row per cell, each flavour alone and with TrueRMA, in the experiment's own unit."""
    unit, field = GENERIC[bench]
    tables = []
    names = [n for n in ("mode", "side", "op", "size", "ranks", "others", "burst", "comp_percent")
             if len({str(f.get(n)) for f in cells_with(results, bench=bench)}) > 1]
    for host, title in titles.items():
        rows = []
        for fields in cells_with(results, bench=bench, flavour="create"):
            row = [size_text(fields[n]) if n == "size" else str(fields.get(n, "")) for n in names]
            for flavour, _ in FLAVOURS:
                pair = results.pair(host, **dict(fields, flavour=flavour))
                row += [number_text(value, field, results.mishap(host, variant, fields["bench"]))
                        for variant, value in zip((ALONE, WITH), pair)]
            rows.append(row + generic_limits(results, bench, fields, field))
        head = names + ["created: alone", "TrueRMA", "allocated: alone", "TrueRMA"] + LIMITED.get(bench, [])
        note = (f"in {unit}" if unit else "time") + LIMIT_NOTES.get(bench, "")
        tables.append(Table(f"{EXPERIMENTS[bench].title}: {title}", note, head, rows, len(names)))
    return tables


def number_text(value, field, otherwise):
    if value is None:
        return otherwise
    if field == "median_us":
        return time_text(value.of(), value.busy, value.far or value.slow)
    return ("~" if value.busy else "") + ("≈" if value.far or value.slow else "") + f"{value.of(field):.3g}"


def limit_tables(results):
    """The machine's own limits, where they were measured: a row per size."""
    rows = []
    for size in numbers_of(results, "size", bench="limit", op="put"):
        row = [size_text(size)]
        for mode in ("exchange", "memcpy", "cma"):
            for op in ("put", "get"):
                row.append(value_text(results.limit(mode=mode, op=op, size=size)) if mode != "skew" else "")
        if any(cell != "–" for cell in row[1:]):
            rows.append(row)
    head = ["size", "exchange, put", "get", "memcpy, put", "get", "process_vm_writev", "readv"]
    return [Table("Limits: the same by hand, without any MPI",
                  "exchange: two processes over one shared mapping (copy, store a flag, poll), one way", head, rows)] \
        if rows else []


def attempted_titles(name, results, titles):
    """Of the hosts in `titles` (name to title) those with which the experiment was run, even if in vain."""
    program = {"oversubscribed": "sync", "instructions": "count", "misses": "count"}.get(name, name)
    return {host: title for host, title in titles.items() if (host, program) in results.attempted}


def tables_of(name, results, titles):
    """The tables of one experiment, for the hosts in `titles` with which it was run."""
    titles = attempted_titles(name, results, titles)
    special = {"skew": skew_tables, "stall": stall_tables, "latency": latency_tables,
               "offset": offset_tables, "oversubscribed": oversubscribed_tables, "adopt": adopt_tables, "instructions": instructions_tables,
               "misses": misses_tables, "profile": profile_tables, "itself": itself_tables}
    if name in special:
        return special[name](results, titles)
    return generic_tables(results, titles, name)
