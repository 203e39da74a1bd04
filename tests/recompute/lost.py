"""What users lose to backups or to a neighbour, from counts, logs and time stamps.

Runs of these scenarios vary more than users, by which all other tables are recomputed: of such a
run the tables of single windows and those below are, and the report's others are named.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import fmean, median

from recompute import delays, statistics
from recompute.files import Files, Row
from recompute.tables import Expected

SETTINGS = "scenario.backup."
NEEDED = {"p95": 2000, "p99": 10_000}
SHARES = {"p95": 0.95, "p99": 0.99}
KEPT = 0.9

Point = tuple[tuple[str, str], ...]
Effect = Row
"""`value`, `low` and `high` of an effect; `logs` by block."""


def varies(files: Files) -> bool:
    """Whether more than users tells windows apart."""
    points = files.column("SELECT DISTINCT point FROM win")
    return any(set(dict(_parsed(each))) - {"users"} for each in points)


def _parsed(point: str) -> Point:
    return tuple((name, value) for name, _, value in
                 (part.partition("=") for part in point.split(", ")))  # fmt: skip


@cache
def _windows(files: Files) -> list[Row]:
    """The valid ones, of a block that was measured again the later."""
    rows = files.rows("SELECT * FROM win WHERE valid ORDER BY block, attempt")
    return [{**row, "at": dict(_parsed(row["point"]))} for row in rows]


@cache
def _values(files: Files) -> dict[tuple[str, str], float]:
    """What activities wrote, by window and metric, of everything."""
    path = f"'{files.root}/windows/*/values.parquet'"
    rows = files.rows(f"SELECT * FROM read_parquet({path}) WHERE \"of\" = 'all'")
    return {(row["window_id"], row["metric"]): row["value"] for row in rows
            if row["value"] is not None}  # fmt: skip


def _at(files: Files, name: str, point: Mapping[str, str]) -> dict[int, Row]:
    """The valid windows of a candidate at a point, by block."""
    return {row["block"]: row for row in _windows(files)
            if row["candidate"] == name and row["at"] == dict(point)}  # fmt: skip


def _matching(files: Files, row: Row, **own: str) -> list[dict[str, str]]:
    """The points that a row of the report may be of: its columns are factors, as they are said."""
    every = [dict(_parsed(each)) for each in files.column("SELECT DISTINCT point FROM win")]
    return [
        point for point in every
        if all(str(row[key]).replace(",", "") == value for key, value in point.items()
               if key in row and key not in own)
        and all(point.get(key) == value for key, value in own.items())
    ]  # fmt: skip


def _ratio(files: Files, pairs: Sequence[tuple[Row, Row]], metric: str) -> Effect:
    """Of each pair the second by the first; of a percentile that single windows lack, of all."""
    if metric == "tpm":
        logs = {other["block"]: math.log(other["tpm"] / one["tpm"]) for one, other in pairs}
    else:
        logs = _tails(files, pairs, metric)
    found = list(logs.values())
    column = metric if metric == "tpm" else f"response_{metric}_s"
    bounds = [delays.bound(files, one["window_id"], other["window_id"], column)
              for one, other in pairs if other["block"] in logs]  # fmt: skip
    low, high = statistics.interval(found, bounds) or (None, None)
    value = math.exp(fmean(found)) if found else None
    return {"value": value, "low": low, "high": high, "logs": logs}


def _tails(files: Files, pairs: Sequence[tuple[Row, Row]], metric: str) -> dict[int, float]:
    """Logarithms of ratios by block, or what each block changes of that of all blocks."""
    known = {(row["window_id"]): row for row in files.rows(
        "SELECT *, committed + rolled_back AS done FROM tx WHERE transaction = 'all'")}  # fmt: skip
    both = {other["block"]: (known[one["window_id"]], known[other["window_id"]])
            for one, other in pairs}  # fmt: skip
    column, needed = f"response_{metric}_s", NEEDED[metric]
    borne = {block: math.log(other[column] / one[column]) for block, (one, other) in both.items()
             if min(one["done"], other["done"]) >= needed}  # fmt: skip
    sides = list(zip(*both.values(), strict=True))
    if len(borne) == len(both) or min(sum(row["done"] for row in side) for side in sides) < needed:
        return borne
    blocks, count = list(both), len(both)
    if not files.has_logs:
        return borne
    whole = _log_of(files, [both[each] for each in blocks], metric)
    if count == 1:
        return {blocks[0]: whole}
    return {
        left: count * whole
        - (count - 1) * _log_of(files, [both[each] for each in blocks if each != left], metric)
        for left in blocks
    }


def _log_of(files: Files, both: Sequence[tuple[Row, Row]], metric: str) -> float:
    sides = []
    for side in zip(*both, strict=True):
        ids = ", ".join(f"'{row['window_id']}'" for row in side)
        where = f"lat WHERE measured AND kind = 'response' AND window_id IN ({ids})"
        [found] = files.percentiles("kind", where, {"value": SHARES[metric]})
        sides.append(found["value"])
    return math.log(sides[1] / sides[0])


def _pairs(first: Mapping[int, Row], second: Mapping[int, Row]) -> list[tuple[Row, Row]]:
    return [(first[block], second[block]) for block in second if block in first]


@cache
def _of_backups(files: Files, name: str, point: Point) -> Row:
    """The effects of a setting, and the means of its backups."""
    at = dict(point)
    counted = {block: row for block, row in _at(files, name, at).items()
               if (row["window_id"], "backup.duration_s") in _values(files)}  # fmt: skip
    pairs = _pairs(_at(files, name, _without(files, at)), counted)
    effects = {each: _ratio(files, pairs, each) for each in ("tpm", "p95", "p99")}
    return {"counted": counted, **effects}


def _without(files: Files, at: Mapping[str, str]) -> dict[str, str]:
    """Its own point without backups, else one with the same load and method."""
    every = [dict(_parsed(each)) for each in files.column("SELECT DISTINCT point FROM win")]
    own = {**at, "backup": "off"}
    method = f"{SETTINGS}method"
    like = [each for each in every if each.get("backup") == "off" and _load(each) == _load(own)
            and each.get(method) == own.get(method)]  # fmt: skip
    return own if own in every else next(iter(like), own)


def _load(at: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in at.items()
            if key != "backup" and not key.startswith(SETTINGS)}  # fmt: skip


def _tail_of(files: Files, at: Mapping[str, str]) -> str:
    """p99 where every setting at this load has as many blocks of it as of p95."""
    every = {_parsed(each) for each in files.column("SELECT DISTINCT point FROM win")}
    here = [each for each in every
            if dict(each).get("backup") == "on" and _load(dict(each)) == _load(at)]  # fmt: skip
    found = [_of_backups(files, name, each) for each in here for name in files.candidates]
    known = [each for each in found if each["p95"]["logs"]]
    alike = all(len(each["p99"]["logs"]) == len(each["p95"]["logs"]) for each in known)
    return "p99" if known and alike else "p95"


def of_backups(files: Files, row: Row) -> Expected | None:
    """A row of the section: changes as shares, means of what the activity wrote."""
    found = _matching(files, row, backup="on")
    if len(found) != 1:
        return None
    [at] = found
    of = _of_backups(files, row["candidate"], tuple(at.items()))
    tail, counted = of[_tail_of(files, at)], of["counted"]
    rates = {each["rate_per_s"] for each in _at(files, row["candidate"], at).values()}
    expected: Row = {
        "blocks": len(of["tpm"]["logs"]) or len(counted),
        "asked_per_s": rates.pop() if len(rates) == 1 else None, **_factors(row, at),
    }  # fmt: skip
    for key, effect in (("throughput", of["tpm"]), ("tail", tail)):
        for end, word in (("change", "value"), ("low", "low"), ("high", "high")):
            expected[f"{key}_{end}"] = None if effect[word] is None else effect[word] - 1
    for name in ("duration_s", "bytes_per_s", "size_bytes", "compression", "covered_share",
                 "restore_s", "restore_bytes_per_s"):  # fmt: skip
        wanted = [(each["window_id"], f"backup.{name}") for each in counted.values()]
        known = [_values(files)[each] for each in wanted if each in _values(files)]
        expected[name] = fmean(known) if known else None
    return expected


def _factors(row: Row, at: Mapping[str, str]) -> Row:
    """The numbers among the columns that are factors."""
    return {key: float(value) for key, value in at.items()
            if key in row and re.fullmatch(r"[\d.]+", value)}  # fmt: skip


def _neighbour_at(files: Files, row: Row) -> dict[str, str] | None:
    level = re.match(r"[\d,]+", str(row["neighbour"]))
    found = _matching(files, row, neighbour=level[0].replace(",", "")) if level else []
    return found[0] if len(found) == 1 else None


def of_neighbours(files: Files, row: Row) -> Expected | None:
    """A row of the section: ratios, isolation, fairness, work."""
    at = _neighbour_at(files, row)
    if at is None:
        return None
    name = row["candidate"]
    pairs = _pairs(_at(files, name, {**at, "neighbour": "0"}), _at(files, name, at))
    found: Row = _factors(row, at)
    for key, metric in (("p99", "p99"), ("p95", "p95"), ("goodput", "tpm")):
        effect = _ratio(files, pairs, metric)
        found |= {key: effect["value"], f"{key}_low": effect["low"], f"{key}_high": effect["high"]}
    found |= _shares(files, [(one["window_id"], other["window_id"]) for one, other in pairs])
    del found["by_block"]
    found |= _felt(files, [(one["window_id"], other["window_id"]) for one, other in pairs])
    mine = [each["window_id"] for each in _at(files, name, at).values()]
    for key in ("asked", "achieved"):
        metric = f"neighbour.{key}_per_s"
        known = [_values(files)[each, metric] for each in mine if (each, metric) in _values(files)]
        found[key] = fmean(known) if known else None
    goodput, asked, achieved = found.pop("mean_goodput"), found["asked"], found["achieved"]
    known_work = goodput is not None and achieved is not None and asked
    found["work"] = goodput + achieved / asked if known_work else None
    return found


def _shares(files: Files, pairs: Sequence[tuple[str, str]]) -> Row:
    """What tenants keep, second by second and tenant by tenant."""
    kept: list[list[float]] = []
    alone_kept: list[list[float]] = []
    worked, goodput = [], []
    slow: dict[str, list[float]] = {}
    for one, other in pairs:
        first, second = (_counts(files, each) for each in (one, other))
        both = [each for each in first if sum(first[each].values()) and second.get(each)]
        if not both:
            continue
        means = {each: fmean(first[each].values()) for each in both}
        whole = sum(means.values())
        mine = [_by_second(each, both, whole) for each in (first, second)]
        busy = _at_work(files, other, max((list(second[each]) for each in both), key=len))
        alone_kept.append(mine[0])
        kept.append([share for share, at_work in zip(mine[1], busy, strict=False) if at_work])
        worked.append(len(kept[-1]) / len(mine[1]))
        goodput.append(sum(fmean(second[each].values()) for each in both) / whole)
        for each in both:
            slow.setdefault(each, []).append(fmean(second[each].values()) / means[each])
    shares = [fmean(each) for each in slow.values()]
    every = sorted(share for each in kept for share in each)
    blocks = [(_isolated(x), _isolated(y)) for x, y in zip(alone_kept, kept, strict=True) if y]
    apart = [y - x for x, y in blocks]
    low, high = (statistics.around(apart) or (None, None)) if len(set(apart)) > 1 else (None, None)
    enough = len(every) >= 100
    return {
        "isolation": fmean(y for _, y in blocks) if blocks else None,
        "alone": fmean(x for x, _ in blocks) if blocks else None,
        "lost_low": low, "lost_high": high,
        "by_block": {"isolation": [y for _, y in blocks], "lost": [x - y for x, y in blocks]},
        "first": every[math.ceil(len(every) / 100) - 1] if enough else None,
        "worst": every[0] if every and not enough else None,
        "worked": fmean(worked) if worked else None,
        "least": min(shares, default=None),
        "fairness": sum(shares) ** 2 / (len(shares) * sum(x * x for x in shares))
        if any(shares) else None,
        "mean_goodput": fmean(goodput) if goodput else None,
    }  # fmt: skip


def _isolated(shares: Sequence[float]) -> float:
    return sum(each >= KEPT for each in shares) / len(shares)


def _counts(files: Files, window_id: str) -> dict[str, dict[float, int]]:
    """By tenant and begin of each measured second, what it completed."""
    path = f"'{files.root}/windows/*/tenant_seconds.parquet'"
    rows = files.rows(
        f"SELECT tenant, at_s, completed FROM read_parquet({path}) WHERE window_id = ? AND "
        "phase = 'measure' ORDER BY second", (window_id,),
    )  # fmt: skip
    found: dict[str, dict[float, int]] = {}
    for row in rows:
        found.setdefault(row["tenant"], {})[row["at_s"]] = row["completed"]
    return found


def _by_second(
    counts: Mapping[str, Mapping[float, int]], both: Sequence[str], whole: float
) -> list[float]:
    series = [list(counts[each].values()) for each in both]
    return [sum(second) / whole for second in zip(*series, strict=False)]


def _at_work(files: Files, window_id: str, at_s: Sequence[float]) -> list[bool]:
    """Whether the neighbour worked in a second."""
    times = _times(files, window_id)
    return [not times or any(a < at + 1 and at < b for a, b in times) for at in at_s]


def _times(files: Files, window_id: str) -> list[tuple[float, float]]:
    """When it worked: in its cycles, without any all of its time."""
    path = f"'{files.root}/windows/*/spans.parquet'"
    spans = files.rows(
        f"SELECT * FROM read_parquet({path}) WHERE window_id = ? AND name LIKE 'neighbour%'",
        (window_id,),
    )  # fmt: skip
    cycles = [each for each in spans if re.fullmatch(r"neighbour \d+", each["name"])]
    whole = [each for each in spans if each["name"] == "neighbour"]
    use = cycles if any(each["outcome"] != "failed" for each in cycles) or not whole else whole
    return [(each["from_s"], each["to_s"]) for each in use if each["to_s"] is not None]


def _felt(files: Files, pairs: Sequence[tuple[str, str]]) -> Row:
    """How many cycles the tenants felt, when, and how many they would have felt alone."""
    beside: list[tuple[float | None, float | None]] = []
    alone: list[tuple[float | None, float | None]] = []
    for one, other in pairs:
        first, second = (_counts(files, each) for each in (one, other))
        both = [each for each in first if sum(first[each].values()) and second.get(each)]
        if both:
            whole = sum(fmean(first[each].values()) for each in both)
            at_s = max((list(each) for each in second.values()), key=len)
            spans = sorted(_cycles(files, other))
            beside += _reactions(at_s, _by_second(second, both, whole), spans)
            alone += _reactions(at_s, _by_second(first, both, whole), spans)
    if not beside:
        return dict.fromkeys(("cycles", "felt", "chance", "onset", "settling"))
    onsets = [onset for onset, _ in beside if onset is not None]
    settled = [again for onset, again in beside if onset is not None and again is not None]
    chance = sum(onset is not None for onset, _ in alone)
    shown = 2 * chance < len(onsets)
    return {
        "cycles": len(beside), "felt": len(onsets), "chance": chance,
        "onset": median(onsets) if onsets and shown else None,
        "settling": median(settled) if settled and shown else None,
    }  # fmt: skip


def _cycles(files: Files, window_id: str) -> list[tuple[float, float]]:
    """When the neighbour worked; what overlaps, or is less than three seconds apart, as one."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(_times(files, window_id)):
        if found and begin - found[-1][1] < 3:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _reactions(
    at_s: Sequence[float], kept: Sequence[float], spans: Sequence[tuple[float, float]]
) -> list[tuple[float | None, float | None]]:
    """Of each cycle that was seen from its begin: seconds until it was felt, and until it was not.

    Three seconds in a row make it so. Work in all seconds was not seen from its begin.
    """
    always = [all(a < at + 1 and at < b for at in at_s) for a, b in spans]
    seen = [each for each, is_whole in zip(spans, always, strict=True)
            if each[0] > at_s[0] - 1 and not is_whole]  # fmt: skip
    found = []
    for number, (begin, end) in enumerate(seen):
        until = seen[number + 1][0] if number + 1 < len(seen) else math.inf
        timed = list(zip(at_s, kept, strict=False))
        inside = [(at, share < KEPT) for at, share in timed if begin < at + 1 and at < end]
        after = [(at, share >= KEPT) for at, share in timed if end < at + 1 and at < until]
        if inside:
            onset, again = _third(inside), _third(after)
            felt = None if onset is None else max(0.0, round(onset - begin))
            over = None if again is None else max(0.0, round(again - end))
            found.append((felt, over if felt is not None else None))
    return found


def _third(seconds: Sequence[tuple[float, bool]]) -> float | None:
    """The begin of the first three in a row that are so."""
    for number in range(len(seconds) - 2):
        if all(each for _, each in seconds[number : number + 3]):
            return seconds[number][0]
    return None


IMPACTS = {"backup.throughput_ratio": "tpm", "backup.p95_ratio": "p95", "backup.p99_ratio": "p99",
           "neighbour.throughput_ratio": "tpm", "neighbour.p95_ratio": "p95",
           "neighbour.p99_ratio": "p99"}  # fmt: skip


def _of_point(files: Files, name: str, at: Mapping[str, str], metric: str) -> float | None:
    """The value of a paired metric of a candidate at a point."""
    if metric.startswith("backup."):
        value = _of_backups(files, name, tuple(at.items()))[IMPACTS[metric]]["value"]
        return None if value is None else float(value)
    pairs = _pairs(_at(files, name, {**at, "neighbour": "0"}), _at(files, name, at))
    if metric in IMPACTS:
        value = _ratio(files, pairs, IMPACTS[metric])["value"]
    else:
        shares = _shares(files, [(one["window_id"], other["window_id"]) for one, other in pairs])
        isolation, alone = shares["isolation"], shares["alone"]
        lost = None if isolation is None else alone - isolation
        value = lost if metric == "isolation_lost" else isolation
    return None if value is None else float(value)


def measured(files: Files, row: Row) -> Expected | None:
    """What was measured at a point: of what is paired the effect, of the rest a mean."""
    points = _matching(files, row)
    found: Row = {}
    for at in points:
        beside = at.get("backup") == "on" or at.get("neighbour", "0") != "0"
        mine = _at(files, row["candidate"], at).values()
        for metric in row:
            if metric in IMPACTS or metric in ("isolation", "isolation_lost"):
                found[metric] = _of_point(files, row["candidate"], at, metric) if beside else None
            elif row["of"] == "all" and "." in metric:
                keys = ((each["window_id"], metric) for each in mine)
                known = [_values(files)[key] for key in keys if key in _values(files)]
                found[metric] = fmean(known) if known else None
        found |= _factors(row, at)
    return found if len(points) == 1 else None


def finding(files: Files, row: Row) -> Expected | None:
    """A number of a finding of this kind: the value of a candidate or an end of its interval."""
    found = re.fullmatch(r"of\.(.+)\.([123])", row["number"])
    if row["kind"] != "impact" or not found:
        return None
    every = [dict(_parsed(each)) for each in files.column("SELECT DISTINCT point FROM win")]
    word = ("value", "low", "high")[int(found[2]) - 1]
    effects = [each for at in every for each in _effects(files, found[1], at)]
    return {"finding": row["finding"], "value": [each[word] for each in effects]}


def _effects(files: Files, name: str, at: Mapping[str, str]) -> list[Effect]:
    """All that a candidate loses at a point."""
    if at.get("backup") == "on":
        of = _of_backups(files, name, tuple(at.items()))
        return [of[each] for each in ("tpm", "p95", "p99")]
    if at.get("neighbour", "0") == "0":
        return []
    pairs = _pairs(_at(files, name, {**at, "neighbour": "0"}), _at(files, name, at))
    ids = [(one["window_id"], other["window_id"]) for one, other in pairs]
    found = [_ratio(files, pairs, each) for each in ("tpm", "p95", "p99")]
    shares = _shares(files, ids)
    return [*found, *(_mean_of(shares["by_block"][each]) for each in ("isolation", "lost"))]


def _mean_of(values: Sequence[float]) -> Effect:
    low, high = (
        (statistics.around(values) or (None, None)) if len(set(values)) > 1 else (None, None)
    )
    return {"value": fmean(values) if values else None, "low": low, "high": high}


TABLES: dict[str, Callable[[Files, Row], Expected | None]] = {
    "backup": of_backups, "neighbours": of_neighbours, "measured": measured,
}  # fmt: skip
"""Tables of such runs that are recomputed, beside those of single windows."""


BEYOND_USERS = "it is recomputed by users alone, and here more than users tells windows apart"
"""Why the rest of such a report is not."""
