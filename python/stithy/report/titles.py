"""Titles of figures: the finding in a few words, never beyond the evidence of its points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stithy.report.context import Context
from stithy.report.wording import plural, times

Row = Mapping[str, Any]

CLOSE_FACTOR = 1.10
"""Own: a title claims no difference below a tenth; the tables have the numbers."""


@dataclass(frozen=True)
class Title:
    """A title, and the ratio it states, so that it can be found beside the page as well."""

    text: str
    ratio: float | None = None


def compare_title(context: Context, lines: Sequence[Row], noun: str) -> Title:
    """Which candidate had most of `noun` at the highest level at which at least two have a value.

    With fewer than two candidates to compare it only names what is drawn.
    """
    pair = _farthest(context, lines)
    if pair is None:
        return Title(f"{noun[0].upper()}{noun[1:]} against virtual users")
    low, high, users = pair
    at = f"At {plural(users, 'user')}"
    if low["value"] <= 0:
        return Title(f"{at}, {high['candidate']} has {noun} and {low['candidate']} none")
    if high["value"] / low["value"] < CLOSE_FACTOR:
        return Title(f"{at}, {low['candidate']} and {high['candidate']} are close in {noun}")
    ratio = high["value"] / low["value"]
    claim = f"{high['candidate']} has {times(ratio)} times the {noun} of {low['candidate']}"
    return Title(f"{at}, {claim}", ratio)


def _farthest(context: Context, lines: Sequence[Row]) -> tuple[Row, Row, int] | None:
    for users in reversed(context.evidence.levels):
        here = [row for row in lines if row["users"] == users]
        if len({row["candidate"] for row in here}) > 1:
            low = min(here, key=lambda row: row["value"])
            high = max(here, key=lambda row: row["value"])
            return (low, high, users) if high["value"] > 0 else None
    return None
