"""The numbers of sentences on searches, and of those that hold a run against earlier ones."""

import math
from collections.abc import Sequence
from typing import Any

from recompute import asked, between
from recompute.files import Files, Row
from recompute.rules import Expected, Match, Rules, fixed


def limit_s(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """The study's limit of response time."""
    plan = files.manifest["plan"]
    return [(plan["limit"] or plan["search"])["limit_s"]]


def ends(*keys: str) -> Expected:
    """Of the bracket of a candidate: a level, a level's value, the limit, the fewest searched."""

    def values(files: Files, row: Row, match: Match) -> Sequence[Any]:
        of = match["c"] if "c" in match.re.groupindex else row["candidate"]
        found, search = asked.bracket(files, of), files.manifest["plan"]["search"] or {}
        known = {
            "low": found.low, "high": found.high, "limit": limit_s(files, row, match)[0],
            "value": asked.at_end(files, of, found.high), "least": search.get("users_least"),
            "wall": found.wall, "split": list(found.split), "again": list(found.again),
            "doubtful": next(iter(found.doubtful), None),
        }  # fmt: skip
        return [known[each] for each in keys]

    return values


def _runs(files: Files, row: Row) -> list[Sequence[Row]]:
    """The changes to each of the other runs."""
    return [
        between.changes(other, files, between.labels(files, number))
        for number, other in enumerate(files.others, start=1)
    ]


def _counted(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Values that both runs have, those distinguished, and those of which it is not known."""
    known = [[each for each in rows if each["ratio"]] for rows in _runs(files, row)]
    return [
        [len(each) for each in known], [sum(map(between.is_apart, each)) for each in known],
        [sum(one["chance_share"] is None for one in each) for each in known],
    ]  # fmt: skip


def _largest(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """The level of the largest distinguished change, its share and interval; or a factor."""
    found = []
    for rows in _runs(files, row):
        found += sorted(
            filter(between.is_apart, rows), key=lambda each: -abs(math.log(each["ratio"]))
        )[:1]
    ends = [[x for each in found for x in (each[key] - 1, each[key])]
            for key in ("ratio", "low", "high")]  # fmt: skip
    return [[each["users"] for each in found], ends[0], 0.95, ends[1], ends[2]]


RULES: Rules = [
    (r"seed: # and #", lambda f, r, m: [
        [each.manifest["seed"] for each in f.others], f.manifest["seed"]]),
    (r"Of # values that .+? both have, (?:none|# differs?)", _counted),
    (r" of \S+ at level #, [+×-]?# \(# interval [+×-]?# to [+×-]?#\)", _largest),
    (r"at most # of # such", fixed(5, 100)),
]  # fmt: skip
