"""What the numbers of a report's sentences must be: by the words around them.

A number that no rule knows is reported as such.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from recompute import asked, bounds, method, studies, work
from recompute.files import Files, Row
from recompute.levels import metric_of, needed
from recompute.printed import NUMBER, shown
from recompute.rules import Expected, Match, Rules, fact, fixed, once
from recompute.studies import ends, limit_s
from recompute.tables import (
    a_first,
    compared,
    question,
)


def levels(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """A level of the run: where the row has one, that."""
    return [[row["users"]] if row.get("users") else files.levels]


def verdict(*keys: str) -> Expected:
    """Of the ratio of the second to the first, or of their difference: value, bounds, blocks."""
    return lambda files, row, match: [compared(files, row)[each] for each in keys]


def _firsts(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """In how many blocks each came first; all of them."""
    first = a_first(files, row)
    return [sum(first), len(first) - sum(first), len(first)]


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


def _storage(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """The most of a candidate beside its database, and the first level that has it."""
    sql = f"SELECT users, by_server FROM ({work.STORAGE_CPU}) WHERE candidate = '{match['name']}'"
    most = max(each["by_server"] or 0 for each in files.rows(sql))
    return [most, min(each["users"] for each in files.rows(sql)
                      if (each["by_server"] or 0) > 0.999999 * most)]  # fmt: skip


def _ids(less: int = 0) -> Expected:
    return lambda files, row, match: [len(row["window_ids"].split(", ")) - less]


def _seen(name: str) -> Expected:
    """What limited: of any window that the row speaks of."""

    def values(files: Files, row: Row, match: Match) -> Sequence[Any]:
        found = bounds.of_windows(files)
        names = [row["window_id"]] if row.get("window_id") else list(found)
        return [[found[each].get(name) for each in names]]

    return values


RULES: Rules = [
    *method.RULES, *studies.RULES,
    (r"Unexpected errors: #", lambda f, r, m: [f.column("SELECT errors FROM win")]),
    (r"fifth of it has fewer than # transactions", fixed(800)),
    (r"Verified after loading only.*: number #(?:, #)*", lambda f, r, m: [f.column(
        "SELECT number FROM run_conditions WHERE moment = 'load' EXCEPT "
        "SELECT number FROM run_conditions WHERE moment = 'end' ORDER BY 1")]),
    (r"[Aa]t # users?\b", levels),
    (r"[Ff]rom # to # users?", lambda f, r, m: [min(f.levels), max(f.levels)]),
    (r"(?:plain|conservative) #(?: t)?", fixed(0.95)),
    (r"^(?P<x>\S+) #, (?P<y>\S+) #$", _firsts),
    (r"to \(#(?=[,)])", fixed(0.95)),
    (r"interval contains (?:both )?#", fixed(1)),
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
    (r"^all #(?: of|$)", _ids()),
    (r"# wait samples are", _seen("looks")),
    (r"^(?:at least )?#(?:, not #)?$", ends("low", "high")), (r"^not #$", ends("high")),
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
