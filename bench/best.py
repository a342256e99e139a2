# SPDX-License-Identifier: BSD-3-Clause
"""TrueRMA against the best of all MPIs alone on allocated windows, over every experiment in which less time is better."""

from results import FLAVOURS, Table, fits, share, value_text
from runner import WITH
from shares import beside, beside_cells, cells_of, chances, geometric, limit_us, near
from tables import BY_LOCKS, COPIES, LARGE, MODES, OPERATIONS, size_text
from wanted import wanted_tables

HOT_LIMIT = 1.15
PAIRED = ("latency", "rate")  # two ranks with a core each, nobody contends


def name_of(fields):
    parts = [fields["bench"], MODES.get(fields.get("mode"), fields.get("mode", "")), OPERATIONS.get(fields.get("op"), ""),
             fields.get("side", ""), size_text(fields["size"]) if fields.get("size") else ""]
    parts += [f"{fields[name]:.0f} {title}" for name, title in (("burst", "per epoch"), ("others", "others"))
              if name in fields]
    return ", ".join(part for part in parts if part)


def share_by_limits(values, best):
    """The worst share of the best's time when each is told in multiples of its own launch's limit: what is left of a
    difference that the machine made."""
    times = [times for value in values if (times := beside(value))]
    return f"{max(times) / beside(best):.2f}" if times and beside(best) else "–"


def limit_text(results, titles, fields, best):
    """The limit's time as a share of the best's."""
    limit = limit_us(results, list(titles), fields)
    return f"{limit / best.of():.2f}" if limit else "–"


def chance_text(results, titles, fields):
    """The largest factor, over the hosts, by which two runs of the same host differ in a cell."""
    found = [max(times, 1 / times) for host in titles if (times := chances(results, host, fields))]
    return f"{max(found):.2f}" if found else "–"


def best_tables(results, titles):
    """What share of the best host's time TrueRMA takes: a line per group of cells, one for latency and bursts, one for all and
    one for all by the fastest sample, which other tenants of the machine disturb least, and the cells in which it is more than
    all of it."""
    cells, hosts = cells_of(results, list(titles)), {}
    for cell in cells:
        hosts.update(dict.fromkeys(host for host, _ in cell.ours))
    columns = [(host, flavour) for host in hosts for flavour, _ in FLAVOURS]
    groups, slower, everything, paired, fastest = {}, [], {}, {}, {}
    for cell in cells:
        fields, value = cell.fields, cell.alone[cell.best]
        shares = {column: cell.share(column) for column in columns if column in cell.ours}
        group = (fields["bench"], MODES.get(fields.get("mode"), fields.get("mode", "")),
                 OPERATIONS.get(fields.get("op"), ""))
        for column, times in shares.items():
            groups.setdefault(group, {}).setdefault(column, []).append(times)
            everything.setdefault(column, []).append(times)
            if fields["bench"] in PAIRED:
                paired.setdefault(column, []).append(times)
            fastest.setdefault(column, []).append(cell.ours[column].spread("min")[0] / value.spread("min")[0])
        if any(times > 1 for times in shares.values()):
            slower.append([name_of(fields), titles[cell.best], value_text(value),
                           *(f"{shares[c]:.2f}" if c in shares else "–" for c in columns),
                           share_by_limits(cell.ours.values(), value), limit_text(results, titles, fields, value),
                           chance_text(results, titles, fields)])
    rows = [[*group, *(share_text(shares.get(column)) for column in columns)] for group, shares in groups.items()]
    for title, of_columns in ((" and ".join(PAIRED), paired), ("all", everything), ("all, by the fastest samples", fastest)):
        if of_columns:
            rows.append([title, "", "", *(share_text(of_columns.get(column)) for column in columns)])
    head = [f"{titles[host]}: {name}" for host in hosts for flavour, name in FLAVOURS]
    note = "TrueRMA's time as a share of that of the fastest MPI alone on allocated windows, by host and window, median over launches"
    if not cells:
        return []
    return [Table("Against the best MPI alone", f"{note}; geometric mean over the cells, in brackets the worst",
                  ["experiment", "synchronisation", "operation", *head], rows, 3),
            Table("Against the best MPI alone: cells that are slower", f"{note}; then the worst of them when every time is told "
                  "in multiples of that of the limit in the same launch (the exchange by hand, memcpy, a loop of sums), and the limit's own share, "
                  "where there is one (of k origins at another time); last, by what factor two runs of one host alone differ in the cell, of all hosts the largest",
                  ["cell", "best alone", "its time", *head, "by limits", "the limit", "by chance"], slower, 2)]


def hot_tables(results, titles):
    """What a created window that has been used costs, as a share of the same on an allocated one, with TrueRMA."""
    groups, slower, hosts, fastest = {}, [], {}, {}
    for host, variant, identity in results.values:
        fields = dict(identity)
        if variant != WITH or fields["bench"] != "latency" or fields.get("flavour") != "create" or not fits(fields, {}):
            continue
        created = results.find(host, WITH, **fields)
        allocated = results.find(host, WITH, **dict(fields, flavour="allocate"))
        if not near(created) or not near(allocated) or host not in titles:
            continue
        hosts[host] = None
        times = share(created, allocated)
        fastest.setdefault(host, []).append(created.spread("min")[0] / allocated.spread("min")[0])
        group = (MODES[fields["mode"]], OPERATIONS[fields["op"]])
        groups.setdefault(group, {}).setdefault(host, []).append(times)
        if times > HOT_LIMIT:
            slower.append([titles[host], name_of(fields), value_text(created), value_text(allocated), f"{times:.2f}"])
    if not groups:
        return []
    rows = [[*group, *(share_text(shares.get(host)) for host in hosts)] for group, shares in groups.items()]
    everything = [[share for shares in groups.values() for share in shares.get(host, [])] for host in hosts]
    rows.append(["all", "", *map(share_text, everything)])
    rows.append(["all, by the fastest samples", "", *(share_text(fastest.get(host)) for host in hosts)])
    return [Table("Hot created windows against allocated ones", "TrueRMA's time on a created window that has been in use, as a "
                  "share of that on an allocated one; geometric mean over the sizes, in brackets the worst",
                  ["synchronisation", "operation", *(titles[host] for host in hosts)], rows, 2),
            Table(f"Hot created windows against allocated ones: cells above {HOT_LIMIT}", "the same",
                  ["host MPI", "cell", "created", "allocated", "share"], slower, 2)]


def beside_rows(results, titles, modes, operations, sizes, text):
    columns = [(host, flavour) for host in titles for flavour, _ in FLAVOURS]
    cells = beside_cells(results, list(titles), modes, operations, sizes)
    cells.sort(key=lambda cell: (modes.index(cell[0]["mode"]), list(OPERATIONS).index(cell[0]["op"]), cell[0]["size"]))
    return [[MODES[fields["mode"]], OPERATIONS[fields["op"]], size_text(fields["size"]),
             *(text(times[column]) if column in times else "–" for column in columns)]
            for fields, times in cells if times]


def beside_tables(results, titles):
    """TrueRMA against the limits that were sampled in turns with it."""
    head = ["synchronisation", "operation", "size", *(f"{title}: {name}" for title in titles.values() for _, name in FLAVOURS)]
    by_hand = beside_rows(results, titles, ["pscw"], COPIES, lambda size: True, lambda times: f"{times:.2f}")
    copies, sums = (beside_rows(results, titles, BY_LOCKS, operations, lambda size: size >= LARGE,
                                lambda times: f"{1 / times:.3f}") for operations in (COPIES, ("accumulate",)))
    tables = [Table("Against the exchange by hand", "TrueRMA's time as a multiple of that of a copy, a flag and a poll in memory "
                    "that two processes share, sampled in turns in the same launches; medians over launches", head, by_hand, 3),
              Table("Against memcpy", "bandwidth with TrueRMA, synchronisation included, as a share of that of memcpy within the "
                    "process on the same memory, sampled in turns in the same launches; medians over launches. The same bytes go again and "
                    "again: memcpy begins each time at the end that the last copy has pushed out of the cache, TrueRMA at the other", head,
                    copies, 3),
              Table("Against a loop of sums", "bandwidth of accumulate with TrueRMA, synchronisation and atomicity included, as a share of "
                    "that of a plain loop over vectors within the process, sampled in turns in the same launches; medians over launches",
                    head, sums, 3)]
    return [table for table in tables if table.rows]


def summary_tables(results, titles):
    """What is compared over hosts and experiments."""
    return (wanted_tables(results, titles) + best_tables(results, titles) + hot_tables(results, titles)
            + beside_tables(results, titles))


def share_text(shares):
    return f"{geometric(shares):.2f} ({max(shares):.2f})" if shares else "–"
