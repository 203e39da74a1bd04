"""What a study asks of a level: a limit of response time, a search within it, thresholds."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from recompute.files import Files, Row
from recompute.levels import in_report, level, metric_of, needed, printed

Expected = Mapping[str, Any]

AGAIN = "Its block was measured once more"


@cache
def invalid(files: Files) -> tuple[set[str], set[str]]:
    """Windows that are invalid by themselves, and all that are: by the words of the report."""
    own, any_of = set[str](), set[str]()
    for each in in_report(files, "reasons"):
        names = {*each["window_ids"].split(", ")} if each["weight"] == "invalid" else set()
        any_of |= names
        own |= set() if each["sentence"].startswith(AGAIN) else names
    return own, any_of


def limit_of(files: Files) -> tuple[Row, str] | None:
    """The study's limit, searched for or not, and its metric as it is labelled."""
    plan = files.manifest["plan"]
    limit: Row | None = plan["limit"] or plan["search"]
    if limit is None:
        return None
    of = limit["transaction"]
    return limit, f"{limit['percentile']} of {of}" if of else limit["percentile"]


@cache
def obeying(files: Files, name: str) -> list[Row]:
    """By level: windows that obey the limit, that miss it, and that say nothing; how few answers
    there were, the value over all of them, and the least and the most of those that bear it.
    """
    if (known := limit_of(files)) is None:
        return []
    limit, label = known
    column, kind = metric_of(label)
    least, most = (limit.get(f"users_{each}") for each in ("least", "most"))
    found = files.rows(
        f"SELECT w.users, count(*) FILTER (w.valid AND {column} <= $1) AS obeyed, count(*) FILTER "
        f"(w.valid AND {column} > $1) AS missed, count(*) FILTER (w.valid OR list_contains($2, "
        "w.window_id)) - obeyed - missed AS silent, count(*) FILTER (w.valid) AS valid, count(*) "
        "AS windows, min(coalesce(committed + rolled_back, 0)) FILTER (w.valid) AS answers_least, "
        f"min({column}) FILTER (w.valid AND committed + rolled_back >= $3) AS low, max({column}) "
        "FILTER (w.valid AND committed + rolled_back >= $3) AS high FROM win w LEFT JOIN tx ON "
        "tx.window_id = w.window_id AND transaction = $4 WHERE w.candidate = $5 AND w.users "
        "BETWEEN coalesce($6, w.users) AND coalesce($7, w.users) GROUP BY w.users ORDER BY w.users",
        (limit["limit_s"], sorted(invalid(files)[0]), needed(column), kind, name, least, most),
    )  # fmt: skip
    value = {each["users"]: printed(files, name, each["users"], label) for each in found}
    return [{**each, "candidate": name, "value": value[each["users"]]} for each in found]


@dataclass(frozen=True)
class Bracket:
    """The highest level that obeys with nothing below it that may not; the next that does not.

    `wall`: the next that is not known to obey. `again`: levels that obey above a doubtful one.
    """

    low: int | None
    high: int | None
    wall: int | None
    doubtful: Sequence[int]
    split: Sequence[int]
    again: Sequence[int]


def bracket(files: Files, name: str) -> Bracket:
    """Of a candidate, by what its windows say level by level."""
    rows = obeying(files, name)
    doubtful = [each["users"] for each in rows if each["missed"]]
    obeys = [each["users"] for each in rows if each["obeyed"] and not each["missed"]]
    below = [each for each in obeys if not doubtful or each < doubtful[0]]
    low = below[-1] if below else None
    above = [each for each in rows if low is None or each["users"] > low]
    missed = [each["users"] for each in above if each["missed"] and not each["obeyed"]]
    unsure = [each["users"] for each in above if each["missed"] or not each["obeyed"]]
    return Bracket(
        low, next(iter(missed), None), next(iter(unsure), None), doubtful,
        [each["users"] for each in rows if each["missed"] and each["obeyed"]],
        [each for each in obeys if each not in below],
    )  # fmt: skip


def searched(files: Files, row: Row) -> Expected | None:
    """A level that a search looked at."""
    found = obeying(files, row["candidate"])
    return next((each for each in found if each["users"] == row["users"]), None)


def at_end(files: Files, name: str, users: int | None) -> float | None:
    """What a candidate's windows at an end of its bracket came to."""
    known = limit_of(files)
    return level(files, name, users, known[1]) if known and users is not None else None


def of_search(files: Files, number: str) -> float | None:
    """A number of what a search found, by the way to it: `of.0.high.value_s`."""
    head, _, rest = number.partition(".")
    if head == "search":
        key, _, index = rest.removeprefix("limit.").partition(".")
        value = files.manifest["plan"]["search"][key]
        return float(value[int(index)] if index else value)
    index, _, what = rest.partition(".")
    name = files.candidates[int(index)]
    found = bracket(files, name)
    end, _, column = what.partition(".")
    if end in ("split", "again"):
        return float((found.split if end == "split" else found.again)[int(column)])
    if end == "stopped_at":
        return None if found.high else found.wall
    users = found.low if end == "low" else found.high
    rows = {each["users"]: each for each in obeying(files, name)}
    windows = rows[users]["obeyed"] + rows[users]["missed"] if users in rows else None
    return {"users": users, "value_s": at_end(files, name, users), "windows": windows}[column]


def threshold(files: Files, row: Row) -> Expected | None:
    """Both sides of a threshold, found in the manifest by its text."""
    for facts in files.manifest["thresholds"]:
        sides = [facts["left"], facts["right"]]
        names = [_name(each) for each in sides if "candidate" in each]
        said = re.split(r" [<>]=? | \* ", row["threshold"])
        if {*names} <= {*said} and f" {facts['relation']} " in row["threshold"]:
            left, right = (_side(files, each) for each in sides)
            return {"left": left, "right": right, "constants": [
                each[key] for each in sides for key in ("factor", "value") if key in each
            ]}  # fmt: skip
    return None


def _name(side: Row) -> str:
    of = f"{side['of']}." if side["of"] else ""
    return f"{side['candidate']}.{of}{side['metric']}_at_{side['point'].removeprefix('users=')}"


def _side(files: Files, side: Row) -> float | None:
    if "value" in side:
        return float(side["value"])
    of = f" of {side['of']}" if side["of"] else ""
    value = level(
        files, side["candidate"], int(side["point"].removeprefix("users=")), f"{side['metric']}{of}"
    )
    return None if value is None else side["factor"] * value
