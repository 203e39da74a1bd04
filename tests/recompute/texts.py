"""What the numbers of a report's sentences must be: by the words around them.

A number that no rule knows is reported as such.
"""

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import fmean
from typing import Any

from recompute import asked, bounds, delays, method, reasons, stalls, studies, work
from recompute.files import Files, Row
from recompute.levels import bounds_of, by_block, level, metric_of, needed
from recompute.printed import NUMBER, shown
from recompute.rules import Expected, Match, Rules, fact, fixed, of, once
from recompute.studies import ends, limit_s
from recompute.tables import (
    a_first,
    compared,
    limited_most,
    position,
    question,
    shares_of_most,
)


def levels(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """A level of the run: where the row has one, that."""
    return [[row["users"]] if row.get("users") else files.levels]


def verdict(*keys: str) -> Expected:
    """Of the ratio of the second to the first, or of their difference: value, bounds, blocks."""
    return lambda files, row, match: [compared(files, row)[each] for each in keys]


def _either(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """The values of the candidates that stand beside them."""
    return [level(files, match[x].rstrip("."), row["users"], row["metric"]) for x in ("x", "y")]


def _firsts(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """In how many blocks each came first; all of them."""
    first = a_first(files, row)
    return [sum(first), len(first) - sum(first), len(first)]


def _later(files: Files, row: Row, match: Match) -> Sequence[Any]:
    found = position(files, row)
    return [found["value"], 0.95, found["low"], found["high"]]


def _of_a_unit(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """The most work for a warehouse, of which each tenant has those of the study."""
    most = files.one(
        "SELECT max(headline_per_min / greatest(1, tenants)) FROM win LEFT JOIN (SELECT window_id, "
        "count(value) AS tenants FROM read_parquet(?) WHERE metric = 'tenant.tpm' GROUP BY ALL) "
        "USING (window_id)", f"{files.root}/windows/*/values.parquet",
    )  # fmt: skip
    return [most / files.manifest["workload"]["size"]["warehouses"]]


def _too_few(by: str) -> Expected:
    """The values that a percentile needs, and those of windows, or of a candidate at a level."""

    def values(files: Files, row: Row, match: Match) -> Sequence[Any]:
        column, kind = metric_of(match["m"])
        counts = files.column(
            "SELECT sum(committed + rolled_back) FROM tx WHERE valid AND transaction = ? "
            f"GROUP BY {by}", (kind,),
        )  # fmt: skip
        return [needed(column), counts, counts]

    return values


def _assumed(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Of the numbers of a profile, without version and capacity: the assumed ones, and all."""
    drives = [d for each in files.manifest["candidates"] for d in each["drives"]]
    drive = next(each for each in drives if each["profile_name"] == match["c"])
    table, ways = "", []
    for line in drive["profile"].splitlines():
        if found := re.match(r"\[(\w+)\]$", line):
            table = found[1]
        elif (found := re.match(r"(\w+) = [\d\[]", line)) and table != "provenance":
            ways.append((table or found[1], f"{table}.{found[1]}" if table else found[1]))
    deciding = [way for way in ways if way[1] not in ("version", "capacity_bytes")]
    return [sum(not {*way}.isdisjoint(drive["assumed"]) for way in deciding), len(deciding)]


def _storage(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """The most of a candidate beside its database, and the first level that has it."""
    sql = f"SELECT users, by_server FROM ({work.STORAGE_CPU}) WHERE candidate = '{match['name']}'"
    most = max(each["by_server"] or 0 for each in files.rows(sql))
    return [most, min(each["users"] for each in files.rows(sql)
                      if (each["by_server"] or 0) > 0.999999 * most)]  # fmt: skip


def _sampled(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """The ends of the interval of a share of few samples: of a window, or of most of a level."""
    every = bounds.of_windows(files)
    named = [every[row["window_id"]]] if row.get("window_id") in every else list(every.values())
    ends: list[list[Any]] = [[each[k] for each in named for k in each if k.endswith(end)]
                             for end in ("_low", "_high")]  # fmt: skip
    for name in files.candidates:
        for users in files.levels:
            _, _, mine = limited_most(files, name, users) or (0, [], [])
            seen = [every[each] for each in mine]
            samples = sum(each.get("samples", 0) for each in seen)
            for share in shares_of_most(files, name, users) if samples else ():
                for end, value in zip(ends, bounds.interval(min(1.0, share), samples), strict=True):
                    end.append(value)
    return [0.95, *ends]


def _most(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """In how many windows what limited most of them did, and of how many."""
    of = match["c"] or row.get("candidate") or ""
    names = [of] if of in files.candidates else files.candidates
    users = [row["users"]] if row.get("users") else files.levels
    found = [limited_most(files, name, level) for name in names for level in users]
    return [[each[0] for each in found if each], [len(each[1]) for each in found if each]]


def _number_of(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """How much of a bound was reached by the windows of a level that had it."""
    _, _, mine = limited_most(files, row["candidate"], row["users"]) or (0, [], [])
    key = {"connections": "pool", "users": "demand"}[match["b"]]
    return [fmean(bounds.of_windows(files)[each][key] for each in mine) if mine else None]


def _alone(files: Files, row: Row, match: Match) -> Sequence[Any]:
    windows = by_block(files, match["c"], row["users"], "NOPM")
    return [level(files, match["c"], row["users"], "NOPM"), len(windows)]


def _ids(less: int = 0) -> Expected:
    return lambda files, row, match: [len(row["window_ids"].split(", ")) - less]


def _invalid(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Windows that are invalid by themselves, all, and those that only stand beside such a one."""
    own, any_of = asked.invalid(files)
    return [len(own), files.one("SELECT count(*) FROM win"), len(any_of - own)]


def _growth(files: Files, row: Row, match: Match) -> Sequence[Any]:
    low, high = (
        level(files, match["c"], u, "NOPM") for u in (min(files.levels), max(files.levels))
    )
    return [high / low if low and high else None]


def _seen(name: str) -> Expected:
    """What limited: of any window that the row speaks of."""

    def values(files: Files, row: Row, match: Match) -> Sequence[Any]:
        found = bounds.of_windows(files)
        names = [row["window_id"]] if row.get("window_id") else list(found)
        return [[found[each].get(name) for each in names]]

    return values


def _per_cent_up(values: Iterable[float | None]) -> list[float]:
    """Rounded up, as what nothing was more than is said; below one per cent by its tenths."""
    known = [(each, 1000 if each < 0.01 else 100) for each in values if each is not None]
    return [-(-(each * by - 1e-9) // 1) / by for each, by in known]


def _room(files: Files, row: Row, match: Match) -> Sequence[Any]:
    facts = files.manifest["calibration"]
    shares = [files.one(f"SELECT max({each}) FROM win") for each in (
        reasons.ASKED, "users / driver_users_max")]  # fmt: skip
    reported = [[*_per_cent_up([each]), each] for each in shares if each is not None]
    return [*reported, facts["rate_per_s_max"], facts["connections"], facts["users_max"]]


LEDGER = (
    "SELECT sum(acknowledged) FILTER (deal = 'order'), sum(acknowledged) FILTER (deal = 'payment')"
    "{} FROM ledger"
)


def _disturbed(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Blocks of a comparison that a delay can have changed, all of its blocks, and the most."""
    found = bounds_of(files, row["a"], row["b"], row["users"], row["metric"])
    most = max(map(max, found), default=0.0)
    return [sum(map(any, found)), len(found), math.expm1(most)]


RULES: Rules = [
    *method.RULES, *studies.RULES,
    (r"Unexpected errors: #", of("win", "errors")),
    (r"was late by # in the mean \(99th percentile #\), # of the mean response time",
     of(reasons.TIMES, "lateness_mean_s", "lateness_p99_s", "lateness_mean_s / response_mean_s")),
    (r"(?:: |, |and )flushe?s #(?=,|\.| and)", once(
        f"{delays.DUE} SELECT any_value(floor) FROM dues WHERE operation = 'flush'")),
    (r"fifth of it has fewer than # transactions", fixed(800)),
    (r"Verified after loading only.*: number #(?:, #)*", lambda f, r, m: [f.column(
        "SELECT number FROM run_conditions WHERE moment = 'load' EXCEPT "
        "SELECT number FROM run_conditions WHERE moment = 'end' ORDER BY 1")]),
    (r"ledgers of # windows? show # ", once(
        "SELECT count(DISTINCT window_id), [sum(lost), sum(differing), sum(returned)] FROM ledger "
        "WHERE lost + differing + returned > 0")),
    (r"# ledgers? could not be compared",
     once("SELECT count(ledger_unverified_because) FROM win")),
    (r"# ledgers? ended early", once("SELECT count(ledger_problem) FROM win")),
    (r"[Aa]t # users?\b", levels),
    (r"[Ff]rom # to # users?", lambda f, r, m: [min(f.levels), max(f.levels)]),
    (r"(?P<c>[\w.-]+) (?:grew|fell) to # times", _growth),
    (r"# times as (?:many|long|much)", verdict("value")),
    (r"(?:was|were|came to) # on (?P<x>[\w.-]+) and # on (?P<y>[\w.-]+)", _either),
    (r"the mean difference within blocks was [+−]#(?: \([+−]# to [+−]#\))?",
     verdict("less", "less_low", "less_high")),
    (r"is #, between # and # \([^,]*?intervals, # blocks?\)",
     verdict("value", "low", "high", "blocks")),
    (r"# of # blocks? were disturbed .*?, which changed a (?:ratio|difference) by at most #",
     _disturbed),
    (r"not tested, # blocks?", verdict("blocks")), (r"[aA] test needs at least # blocks", fixed(4)),
    (r"(?:plain|conservative) #(?: t)?", fixed(0.95)),
    (r"^(?P<x>\S+) #, (?P<y>\S+) #$", _firsts),
    (r"came first in # of # valid blocks", lambda f, r, m: _firsts(f, r, m)[::2]),
    (r"to \(#(?=[,)])", fixed(0.95)),
    (r"the test needs # blocks of each order", fixed(2)),
    (r"interval contains (?:both )?#", fixed(1)),
    (r"was # times the earlier one \(# interval # to #\)", _later),
    (r"# blocks?, at least # are needed", lambda f, r, m: [
        compared(f, r)["blocks"], 4]),
    (r"# blocks? cannot give a verdict: at least # are needed",
     lambda f, r, m: [compared(f, question(f))["blocks"], 4]),
    (r"(?P<m>p[\d.]+(?: of [\w-]+)?) needs # values in each window, and one window has #",
     _too_few("window_id")),
    (r"(?P<m>p[\d.]+) \(needs # values, and there are #(?: to #)?\)", _too_few("candidate, users")),
    (r"fewer than # values lie", fixed(100)),
    (r"window of block #(?:, the median of #)?", once(
        "SELECT list(block), [count(DISTINCT block), max(block)] FROM win")),
    (r"there (?:is|are) # baseline checks? with numbers, at least # are needed",
     once("SELECT count(*), 4 FROM baseline")),
    (r"no window is valid \(# by", lambda f, r, m: [len(asked.invalid(f)[0])]),
    (r"(?:profiles, |, | and )# of # of (?P<c>[\w-]+)(?=[^.]* assumed)", _assumed),
    (r"# of # windows? (?:is|are) invalid(?:, and # more belong)?", _invalid),
    (r"^all #(?: of|$)", _ids()),
    (r"All # windows are valid", once("SELECT count(*) FROM win")),
    (r"All # verified consistency conditions held",
     once("SELECT count(*) FROM (SELECT holds FROM run_conditions UNION ALL SELECT holds FROM "
          "window_conditions) WHERE holds")),
    (r"(?:used at most|needed) # of the rate (?:and # of the users )?that .*\(# transactions per "
     r"second over # connections?(?:, (?:at least )?# users who pause)?\)", _room),
    (r"# restores? gave files identical", once("SELECT count(*) FROM restores")),
    (r"In # of # windows other programs or the hypervisor took",
     lambda f, r, m: [f.one("SELECT sum(len(string_split(window_ids, ', '))) FROM (SELECT DISTINCT "
                            "window_ids FROM read_parquet(?) WHERE sentence LIKE 'There was "
                            "interference%')", str(f.root / "report/tables/reasons.parquet")),
                      f.one("SELECT count(*) FROM win")]),
    (r"# of # blocks (?:was|were) measured on a machine",
     lambda f, r, m: [bounds.odd_blocks(f), f.one("SELECT count(*) FROM baseline")]),
    (r"(?P<c>\S+) completed # new orders per minute in (?:one window|# windows)", _alone),
    (r"^the number of (?P<b>connections|users) \(#", _number_of),
    (r"# attempts? (?:was|were) repeated after conflicts, # per # transactions",
     once("SELECT sum(retries), 1000 * sum(retries) / sum(transactions), 1000 FROM win")),
    (r"had up to # NOPM per warehouse", _of_a_unit),
    (r"They give at most #", fixed(12.86)),
    (r"host's CPUs were busy #", _seen("host-cpu")),
    (r"database's CPUs? (?:was|were) busy #", _seen("server-cpu")),
    (r"# wait samples are", _seen("looks")),
    (r"all users of (?P<c>[\w.-]+) stalled in # seconds? of #, # of their time",
     lambda f, r, m: stalls.said(f, m["c"])),
    *((rf"{words} #", lambda f, r, m: [stalls.shares(f)]) for words, _ in stalls.ORDER),
    (r"waits for a connection took #", _seen("pool")),
    (r"\w+ was in use # of the time", _seen("used")),
    (r"pauses took # of the users' time", _seen("paused")),
    (r"stalls in checkpoints cost #", _seen("checkpoints")),
    (r"the users' own work took #|database's own work took #", _seen("own")),
    (r"; # users did # times as much",
     lambda f, r, m: [[*f.levels], *_seen("growth")(f, r, m)]),
    (r"(?:(?P<c>\S+) \((?:[^()]*, )?)?in # of # windows?", _most),
    (r"^(?:at least )?#(?:, not #)?$", ends("low", "high")), (r"^not #$", ends("high")),
    (r"equivalent within #", lambda f, r, m: [
        (f.manifest["plan"]["question"] or {}).get("margin_share") or 0.02]),
    (r"within #", limit_s), (r"≤ #", limit_s),
    (r"shorter than #(?: s|$)", fixed(15)),
    (r"^# [A-Z]{3}$", lambda f, r, m: [
        [(each["cost"] or {}).get("amount") for each in f.manifest["candidates"]]]),
    (r"seed #", fact("seed")),
    (r"# ramp-up, # measured", fact("load.ramp_up_s", "load.duration_s")),
    (r"think #", fact("load.think_s")), (r"over # connections?(?: ·|,)", fact("load.connections")),
    (r"· # blocks?\b", once("SELECT count(DISTINCT block) FROM win")),
    (r"memory limit # to #",
     lambda f, r, m: [end(map(f.memory_limit, f.candidates)) for end in (min, max)]),
    (r"memory limit #", lambda f, r, m: [[*map(f.memory_limit, f.candidates)]]),
    (r"storage of (?P<name>.+) took # times the CPU time of its database server at #", _storage),
    (r"took # times the CPU time of its database",
     once(f"SELECT max(by_server) FROM ({work.STORAGE_CPU})")),
    (r"server on # of # CPUs", lambda f, r, m: [
        f.one("SELECT max(server_cpus) FROM win"), f.manifest["environment"]["cpus"]["value"]]),
]  # fmt: skip
"""By words of a sentence, its numbers."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("#", f"({NUMBER})"))


def check(
    files: Files, text: str, row: Row, pool: Sequence[float] = ()
) -> tuple[list[str], list[str], int]:
    """Numbers that are others than the files give, those that no rule knows, and how many were.

    `pool`: where a text has no rules, all values that it may speak of.
    """
    quoted = text
    for each in files.quotes:
        quoted = quoted.replace(each, "…" * len(each))
    rules = RULES if not pool else ()
    found = {(one.start, one.end): one for one in shown(quoted)}
    known: dict[tuple[int, int], Any] = {}
    for pattern, expected in rules if found else ():
        for match in _compiled(pattern).finditer(quoted):
            names = {*match.re.groupindex.values()}
            slots = [n for n in range(1, match.re.groups + 1) if n not in names and match[n]]
            if not slots or match.span(slots[0]) in known:
                continue
            try:
                values = expected(files, row, match)
            except (KeyError, TypeError):
                continue  # the row does not say of whom it speaks
            known |= {match.span(n): v for n, v in zip(slots, values, strict=False)}
    if pool:
        known = dict.fromkeys(found, list(pool))
    wrong = [
        f"{quoted[slice(*span)]} ({values}) in: {text}"
        for span, values in known.items()
        if span in found
        and not any(
            found[span].is_of(v) for v in (values if isinstance(values, list | tuple) else [values])
        )
    ]
    silent = [f"{quoted[slice(*span)]} in: {text}" for span in found.keys() - known.keys()]
    return wrong, silent, len(found.keys() & known.keys())
