"""The numbers of sentences on searches, and of those that hold a run against earlier ones."""

import math
from collections.abc import Sequence
from typing import Any

from recompute import asked, between
from recompute.files import Files, Row
from recompute.levels import metric_of, needed
from recompute.rules import Expected, Match, Rules, fixed

BEYOND = r"\(?(?:at #, )?p[\d.]+ of \S+ is (?:#|longer|not always shorter)\)"


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


def _few_answers(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Windows of a search that bear no percentile, all that say something, and what one needs."""
    found = asked.limit_of(files)
    assert found is not None
    column, kind = metric_of(found[1])
    counts = files.rows(
        f"SELECT committed + rolled_back AS v FROM tx WHERE valid AND transaction = ? AND {column} "
        "IS NOT NULL", (kind,),
    )  # fmt: skip
    least = needed(column)
    return [sum(each["v"] < least for each in counts), len(counts), least]


def _windows(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """On how many windows the ends of the brackets rest."""
    found = []
    for name in files.candidates:
        ends_of = asked.bracket(files, name)
        found += [each["obeyed"] + each["missed"] for each in asked.obeying(files, name)
                  if each["users"] in (ends_of.low, ends_of.high)]  # fmt: skip
    return [min(found)]


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


def _unknown(files: Files, row: Row, match: Match) -> Sequence[Any]:
    return _counted(files, row, match)[2:]


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


def _machine(name: str) -> Expected:
    return lambda files, row, match: [
        [between.machine(each, files).get(name, math.nan) - 1 for each in files.others]
    ]


def _taken(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """What others took where that differs most."""
    found = []
    for rows, other in zip(_runs(files, row), files.others, strict=True):
        cells = dict.fromkeys((each["candidate"], each["users"]) for each in rows)
        known = [between.taken(other, files, *each) for each in cells]
        most = max((each for each in known if each), key=between.apart, default=None)
        found += [most] if most else []
    return [[each[0] for each in found], [each[1] for each in found]]


def _drift(files: Files, row: Row, match: Match) -> Sequence[Any]:
    return [[max(each["drift_share"] for each in rows) for rows in _runs(files, row)]]


RULES: Rules = [
    (r"seed: # and #", lambda f, r, m: [
        [each.manifest["seed"] for each in f.others], f.manifest["seed"]]),
    (r"a search with # (?:or more )?windows", _windows),
    (r"Of # values that .+? both have, (?:none|# differs?)", _counted),
    (r"\. # of them could not be tested", _unknown),
    (r" of \S+ at level #, [+×-]?# \(# interval [+×-]?# to [+×-]?#\)", _largest),
    (r"at most # of # such", fixed(5, 100)), (r"Bars are # intervals", fixed(0.95)),
    (r"baseline checks, in [^;]*?one CPU did #", _machine("one_rounds_per_s")),
    (r"baseline checks, in [^;]*?all CPUs did #", _machine("all_rounds_per_s")),
    (r"baseline checks, in [^;]*?reads took #", _machine("read_p50_s")),
    (r"programs took up to # of the machine in \S+ and #", _taken),
    (r"intervals are wider by up to \+#", _drift), (r"with its # interval", fixed(0.95)),
    (rf"(?P<c>[\w.-]+) serves # users? within # {BEYOND}",
     ends("low", "limit", "high", "value")),
    (r"(?P<c>[\w.-]+) serves (?:at least )?# users? within #", ends("low", "limit")),
    (rf"(?P<c>[\w.-]+) does not serve (?:even )?# users? within # {BEYOND}",
     ends("least", "limit", "value")),
    (rf"no level of (?P<c>[\w.-]+) is certain to be within # {BEYOND}",
     ends("limit", "high", "value")),
    (r"whether (?P<c>[\w.-]+) serves # users? within #",
     lambda f, r, m: [[*ends("wall", "least")(f, r, m)], *limit_s(f, r, m)]),
    (r"(?P<c>[\w.-]+) serves at least [^;]*; at #, ", ends("wall")),
    (r"response time of (?P<c>[\w.-]+) does not grow [^:]*: it meets the target at #(?:, #)*"
     "(?: and #)?, and not always at #", lambda f, r, m: [*ends("again")(f, r, m)[0],
                                                          *ends("doubtful")(f, r, m)]),
    (r"Windows of (?P<c>[\w.-]+) at #(?:, #)*(?: and #)? disagree",
     lambda f, r, m: ends("split")(f, r, m)[0]),
    (r"# of # windows? of the search completed fewer than # transactions", _few_answers),
]  # fmt: skip
