"""What each number of a sentence must be, by the name of its value and what stands beside it.

A value may be several, of which any may be meant.
"""

import math
from collections.abc import Callable, Mapping
from statistics import fmean, median
from typing import Any

from recompute import asked, between, bounds, cost, delays, power, reasons, stalls, steady, work
from recompute.files import Files, Row
from recompute.levels import bounds_of, by_block, in_report, level, metric_of, needed, printed
from recompute.tables import a_first, compared, limited_most, position, question, shares_of_most

Of = Callable[[Files, Row], Any]

INTERIM = (4, 6, 8, 10, 12, 16, 20)
GAUGES = {"one CPU": "one_rounds_per_s", "all CPUs": "all_rounds_per_s", "reads": "read_p50_s"}


def once(sql: str) -> Of:
    """The answer to a query of one value."""
    return lambda files, row: files.one(sql)


def _of(sql: str, *keys: str) -> Of:
    """The same, with values of the row."""
    return lambda files, row: files.column(sql, [row[key] for key in keys])


def fixed(value: float) -> Of:
    """What the method says, whatever was measured."""
    return lambda files, row: value


def _verdict(key: str) -> Of:
    """Of the comparison that the row names, else of the question."""
    return lambda files, row: compared(files, row if "metric" in row else question(files))[key]


def _question(key: str) -> Of:
    usual = {"margin_share": 0.02, "blocks_most": 20}
    return lambda files, row: (files.manifest["plan"]["question"] or usual)[key]


def _interim(files: Files, row: Row) -> list[int]:
    most = _question("blocks_most")(files, row)
    return [*(each for each in INTERIM if each < most), max(most, INTERIM[0])]


def _at_level(of: str) -> Of:
    def count(files: Files, row: Row) -> Any:
        point = _question("point")(files, row)
        return files.one(f"SELECT {of} FROM win WHERE point = ?", point)

    return count


def _disturbed(files: Files, row: Row) -> list[tuple[float, float]]:
    return bounds_of(files, row["a"], row["b"], row["users"], row["metric"])


def _most_disturbed(files: Files, row: Row) -> float:
    return math.expm1(max(map(max, _disturbed(files, row)), default=0.0))


def _level_value(side: str) -> Of:
    return lambda files, row: level(files, row[side], row["users"], row["metric"])


def _alone(files: Files, row: Row) -> Any:
    return level(files, row["candidate"], files.told_level, "NOPM")


def _growth(files: Files, row: Row) -> float | None:
    ends = (min(files.levels), max(files.levels))
    low, high = (level(files, row["candidate"], users, "NOPM") for users in ends)
    return high / low if low and high else None


def _position(key: str) -> Of:
    return lambda files, row: position(files, question(files))[key]


def _firsts(files: Files, row: Row) -> list[bool]:
    return a_first(files, question(files))


def _bracket(key: str) -> Of:
    def read(files: Files, row: Row) -> Any:
        found = asked.bracket(files, row["candidate"])
        return (
            asked.at_end(files, row["candidate"], found.high)
            if key == "value"
            else getattr(found, key)
        )

    return read


def _limit(files: Files, row: Row) -> Any:
    plan = files.manifest["plan"]
    return (plan["limit"] or plan["search"])["limit_s"]


def _at_ends(files: Files, row: Row) -> Any:
    """On how many windows the ends of the brackets rest."""
    found = []
    for name in files.candidates:
        of = asked.bracket(files, name)
        found += [each["obeyed"] + each["missed"] for each in asked.obeying(files, name)
                  if each["users"] in (of.low, of.high)]  # fmt: skip
    return min(found)


def _lost_so(files: Files, row: Row) -> list[int]:
    """How many windows of a candidate are invalid for the same reason."""
    of = {each["window_id"]: each["candidate"] for each in files.rows("SELECT * FROM win")}
    named = [[of[name] for name in each["window_ids"].split(", ")]
             for each in in_report(files, "reasons") if each["weight"] == "invalid"]  # fmt: skip
    return [names.count(row["candidate"]) for names in named]


def _with_flag(flag: str) -> Of:
    """Valid windows, or all, with a flag, by the words of the report."""
    return lambda files, row: len({
        each["window_id"] for each in in_report(files, "reason-values") if each["flag"] == flag
    })  # fmt: skip


def _unsteady(files: Files, row: Row) -> int:
    found, valid = steady.of_windows(files), files.column("SELECT window_id FROM win WHERE valid")
    return sum(not found.get(each, {"is_steady": True})["is_steady"] for each in valid)


def _off_most(files: Files, row: Row) -> Any:
    known = files.column(f"SELECT {GAUGES[row['gauge']]} FROM baseline")
    return max(abs(each / median(known) - 1) for each in known)


def _needed_share(files: Files, row: Row) -> Any:
    share = reasons.ASKED if row["what"] == "rate" else "users / driver_users_max"
    return files.one(f"SELECT max({share}) FROM win")


def _calibrated(key: str) -> Of:
    return lambda files, row: files.manifest["calibration"][key]


def _assumed(files: Files, row: Row) -> tuple[int, int]:
    """Of the numbers of a profile, without version and capacity: the assumed ones, and all."""
    drives = [drive for each in files.manifest["candidates"] for drive in each["drives"]]
    drive = next(each for each in drives if each["profile_name"] == row["profile"])
    table, ways = "", []
    for line in drive["profile"].splitlines():
        key = line.partition(" = ")[0]
        if line.startswith("["):
            table = line.strip("[]")
        elif key != line and line[len(key) + 3] in "[0123456789" and table != "provenance":
            ways.append((table or key, f"{table}.{key}" if table else key))
    deciding = [way for way in ways if way[1] not in ("version", "capacity_bytes")]
    return sum(not {*way}.isdisjoint(drive["assumed"]) for way in deciding), len(deciding)


def _floor(files: Files, row: Row) -> Any:
    operation = {"flushes": "flush"}.get(row["operations"], row["operations"].rstrip("s"))
    return files.one(
        f"{delays.DUE} SELECT any_value(floor) FROM dues WHERE operation = '{operation}'"
    )


SAMPLED = {"data files": "data", "the commit log": "log", "locks": "locks", "driver": "driver"}
"""What a share of samples is of, by the words of its sentence."""


def _seen(name: str) -> Of:
    """What limited, of the window of the row, else of any."""

    def read(files: Files, row: Row) -> list[Any]:
        known = bounds.of_windows(files)
        names = [row["window_id"]] if row.get("window_id") else list(known)
        return [known[each].get(name) for each in names]

    return read


def _places(files: Files, row: Row) -> list[tuple[str, int]]:
    """The candidates and levels that a row may speak of: `by:disk` is a column of one."""
    of = row.get("candidate") or str(row.get("column", "")).removeprefix("by:")
    names = [of] if of in files.candidates else files.candidates
    return [(name, row.get("users") or files.told_level) for name in names]


def _share(files: Files, row: Row) -> list[Any]:
    """A share of samples: of a window, or what the windows of a level reached."""
    if row.get("of") in SAMPLED:
        return list(_seen(SAMPLED[row["of"]])(files, row))
    return [share for place in _places(files, row) for share in shares_of_most(files, *place)]


def _sampled(end: int) -> Of:
    """An end of the interval of a share of few samples."""

    def read(files: Files, row: Row) -> list[float]:
        known = bounds.of_windows(files)
        names = [row["window_id"]] if row.get("window_id") else list(known)
        suffix = ("_low", "_high")[end]
        found = [known[name][key] for name in names for key in known[name] if key.endswith(suffix)]
        for place in _places(files, row):
            _, _, mine = limited_most(files, *place) or (0, [], [])
            samples = sum(known[each].get("samples", 0) for each in mine)
            found += [bounds.interval(min(1.0, share), samples)[end]
                      for share in (shares_of_most(files, *place) if samples else ())]  # fmt: skip
        return found

    return read


def _limited(part: int) -> Of:
    """In how many windows what limited most of them did; of how many."""

    def count(files: Files, row: Row) -> list[int]:
        levels = [row["users"]] if "users" in row else files.levels
        every = [limited_most(files, name, users)
                 for name, _ in _places(files, row) for users in levels]  # fmt: skip
        return [each[0] if part == 0 else len(each[1]) for each in every if each]

    return count


def _storage_most(files: Files, row: Row) -> list[float]:
    """The part of storage in the time of users, at most, at the level of the answer."""
    shares = []
    for name in files.candidates:
        _, _, mine = limited_most(files, name, files.told_level) or (0, [], [])
        known = [bounds.of_windows(files)[each]["storage_share"] for each in mine]
        shares += [fmean(known)] if known and None not in known else []
    return shares


def _stalls(part: int) -> Of:
    return lambda files, row: stalls.said(files, row["candidate"])[part]


def _of_unit(files: Files, row: Row) -> float:
    """The most work for a warehouse, of which each tenant has those of the study."""
    most = files.one(
        "SELECT max(headline_per_min / greatest(1, tenants)) FROM win LEFT JOIN (SELECT window_id, "
        "count(value) AS tenants FROM read_parquet(?) WHERE metric = 'tenant.tpm' GROUP BY ALL) "
        "USING (window_id)", f"{files.root}/windows/*/values.parquet",
    )  # fmt: skip
    return float(most / files.manifest["workload"]["size"]["warehouses"])


def _planned(files: Files, row: Row) -> int:
    return len(files.manifest["plan"]["windows"])


def _missing_files(files: Files, row: Row) -> int:
    """Files are named in the table of what is missing, beside figures, values and windows."""
    what = [each["what"] for each in in_report(files, "missing")]
    return sum(not each.startswith(("figure: ", "values of ", "window ")) for each in what)


def _runs(files: Files) -> list[list[Row]]:
    """The changes to each of the other runs, of values that both have."""
    every = (between.changes(other, files, between.labels(files, number))
             for number, other in enumerate(files.others, start=1))  # fmt: skip
    return [[row for row in rows if row["ratio"]] for rows in every]


def _changed(key: str) -> Of:
    """Of the largest change that is distinguishable, of each of the other runs."""

    def read(files: Files, row: Row) -> list[Any]:
        known = [[each for each in rows if between.is_apart(each)] for rows in _runs(files)]
        return [max(rows, key=lambda each: abs(math.log(each["ratio"])))[key]
                for rows in known if rows]  # fmt: skip

    return read


def _by_server(files: Files, row: Row) -> Any:
    sql = f"SELECT max(by_server) FROM ({work.STORAGE_CPU}) WHERE candidate = ?"
    return files.one(sql, row["candidate"])


def _answers(files: Files, row: Row) -> list[Any]:
    _, kind = metric_of(row["label"])
    return files.column("SELECT sum(committed + rolled_back) FROM tx WHERE valid AND transaction = "
                        "? GROUP BY window_id", (kind,))  # fmt: skip


WINDOWS = "SELECT count(*) FROM win"
CONDITIONS = ("SELECT count(*) FROM (SELECT holds FROM run_conditions UNION ALL SELECT holds FROM "
              "window_conditions) WHERE {} holds")  # fmt: skip
CHECKS = "SELECT count(*) FROM baseline"
GONE = "SELECT sum({kind}) FROM ledger WHERE lost + differing + returned > 0"

NUMBERS: Mapping[str, Of] = {
    "mean_w": power.drawn,
    "windows": once(WINDOWS), "held": once(CONDITIONS.format("")),
    "broken": once(CONDITIONS.format("NOT")), "restores": once("SELECT count(*) FROM restores"),
    "failed": lambda files, row: len(asked.invalid(files)[0]),
    "invalid": lambda files, row: len(asked.invalid(files)[1]),
    "dropped": lambda files, row: len(asked.invalid(files)[1] - asked.invalid(files)[0]),
    "unsteady": _unsteady, "disturbed_windows": _with_flag("interference"),
    "unlimited": once(f"{WINDOWS} WHERE NOT memory_limit_enforced"),
    "absent": lambda files, row: _planned(files, row) - files.one(WINDOWS), "wanted": _planned,
    "damaged": _missing_files,
    "lost": _of(f"{WINDOWS} WHERE NOT valid AND candidate = ?", "candidate"),
    "windows_of": _of(f"{WINDOWS} WHERE candidate = ?", "candidate"), "lost_so": _lost_so,
    "checks": once(CHECKS), "odd": lambda files, row: bounds.odd_blocks(files),
    "off_most": _off_most, "needed_share": _needed_share, "rate_max": _calibrated("rate_per_s_max"),
    "connections": _calibrated("connections"), "users_max": _calibrated("users_max"),
    "little": once(f"{WINDOWS} WHERE {reasons.ASKED} > 0.5"),
    "assumed": lambda files, row: _assumed(files, row)[0],
    "deciding": lambda files, row: _assumed(files, row)[1], "floor": _floor,
    "acknowledged": _of("SELECT sum(acknowledged) FROM ledger WHERE deal = ?", "deal"),
    "in_doubt": once("SELECT sum(in_doubt) FROM ledger"),
    "in_doubt_found": once("SELECT sum(in_doubt_found) FROM ledger"),
    "broken_ledgers": once("SELECT count(DISTINCT window_id) FROM ledger WHERE lost + differing + "
                           "returned > 0"),
    "gone": lambda files, row: files.one(GONE.format(kind=row["kind"])),
    "unverified": once("SELECT count(ledger_unverified_because) FROM win"),
    "cut": once("SELECT count(ledger_problem) FROM win"),
    "retries": once("SELECT sum(retries) FROM win"),
    "per_1000": once("SELECT 1000 * sum(retries) / sum(transactions) FROM win"),
    "queued": _of("SELECT max(pool_wait_p95_s) FROM tx WHERE transaction = ?", "transaction"),
    "took": _of("SELECT max(service_p95_s) FROM tx WHERE transaction = ?", "transaction"),
    "of_unit": _of_unit, "of_unit_max": fixed(12.86),
    "margin": _question("margin_share"), "interim": _interim,
    "blocks_least": _question("blocks_least"), "blocks_most": _question("blocks_most"),
    "measured": _at_level("count(DISTINCT block)"),
    "twice": _at_level("count(DISTINCT block) FILTER (attempt > 0)"), "each_order": fixed(2),
    "blocks_tested": fixed(4), "a_first": lambda files, row: sum(_firsts(files, row)),
    "blocks_valid": lambda files, row: len(_firsts(files, row)),
    "later": _position("value"), "later_low": _position("low"), "later_high": _position("high"),
    "users": lambda files, row: files.levels, "blocks": _verdict("blocks"),
    "times": _verdict("value"), "ratio": _verdict("value"), "low": _verdict("low"),
    "high": _verdict("high"), "value_a": _level_value("a"), "value_b": _level_value("b"),
    "less": lambda files, row: [sign * compared(files, row)["less"] for sign in (1, -1)],
    "less_low": _verdict("less_low"), "less_high": _verdict("less_high"),
    "disturbed": lambda files, row: sum(map(any, _disturbed(files, row))),
    "most": _most_disturbed, "growth": _growth,
    "others": lambda files, row: len(files.candidates) - 2,
    "level_value": _alone,
    "windows_here": lambda files, row: len(
        by_block(files, row["candidate"], files.told_level, "NOPM")),
    "p95": lambda files, row: [printed(files, name, files.told_level, "p95")
                               for name in files.candidates],
    "served": _bracket("low"), "not_at": _bracket("high"), "beyond": _bracket("value"),
    "wall": _bracket("wall"), "limit_s": _limit, "at_ends": _at_ends,
    "least_users": lambda files, row: files.manifest["plan"]["search"]["users_least"],
    "stalled": _stalls(0), "measured_s": _stalls(1), "stalled_share": _stalls(2),
    "by_cause": lambda files, row: stalls.shares(files),
    "share": _share, "sampled_low": _sampled(0), "sampled_high": _sampled(1),
    "used": lambda files, row: [share for cpus in ("host-cpu", "server-cpu", "storage-cpu")
                                for share in _seen(cpus)(files, row)],
    "others_share": lambda files, row: [share for cpus in ("host-others", "server-others")
                                        for share in _seen(cpus)(files, row)],
    "unserved": lambda files, row: [1 - share for share in _seen("demand")(files, row)],
    "checkpoints": _seen("checkpoints"), "reads": _seen("reads"), "in_use": _seen("used"),
    "reached": _seen("device-rate"), "driver": _seen("driver"), "storage": _seen("storage_share"),
    "pool": _seen("pool"), "served_share": _seen("demand"), "paused": _seen("paused"),
    "own": _seen("own"), "growth_times": _seen("growth"),
    "next_users": lambda files, row: files.levels,
    "by_server": _by_server, "looks": _seen("looks"),
    "a_ahead": lambda files, row: sum(a_first(files, row)),
    "b_ahead": lambda files, row: sum(not first for first in a_first(files, row)),
    "known": once(CHECKS), "checks_least": fixed(4), "answers": _answers,
    "needed": lambda files, row: needed(metric_of(row["label"])[0]),
    "failed_by": lambda files, row: len(asked.invalid(files)[0]),
    "errors": lambda files, row: files.column("SELECT errors FROM win"),
    "compared": lambda files, row: [len(rows) for rows in _runs(files)],
    "apart": lambda files, row: [sum(map(between.is_apart, rows)) for rows in _runs(files)],
    "untested": lambda files, row: [sum(each["chance_share"] is None for each in rows)
                                    for rows in _runs(files)],
    "change_ratio": _changed("ratio"), "change_low": _changed("low"),
    "change_high": _changed("high"),
    **cost.NUMBERS,
    "limited": _limited(0), "of_windows": _limited(1), "storage_most": _storage_most,
    "times_most": lambda files, row: [1 / (1 - share) for share in _storage_most(files, row)],
}  # fmt: skip
"""By the name of a value, what it must be."""


def check(
    compare: Callable[[float, Any], None], files: Files, said: Row,
    known: Mapping[str, Of] = NUMBERS,
) -> list[str]:  # fmt: skip
    """Hold each number of a sentence against the files; list those of which nothing is known."""
    unknown = []
    for values in said["values"]:
        for name, value in values.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            row = {**said["row"], **values}
            try:
                expected = known.get(name) or reasons.NUMBERS_OF[name]
                compare(value, expected(files, row))
            except KeyError as missing:
                unknown.append(f"{name}, without {missing} in: {said['text']}")
    return unknown
