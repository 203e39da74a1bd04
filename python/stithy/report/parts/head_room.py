"""What each window asked of the driver, beside what the driver was shown to sustain."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from stithy.analysis.validity.head_room import HeadRoom, head_room
from stithy.report.context import Context
from stithy.report.tables import Show
from stithy.report.words.wording import at_most, count, percent, plural
from stithy.results.manifest import CalibrationFacts


@dataclass(frozen=True)
class Told:
    """The head-room of a run in one sentence; `weakens` is set where it is little, or unknown."""

    text: str
    weakens: bool


def frame(context: Context) -> pl.DataFrame:
    """For each window what it asked, as shares of 1 of what the driver can do."""
    rows = [{"window_id": name, **vars(found)} for name, found in _found(context)]
    schema = {
        "window_id": pl.String, "rate_per_s": pl.Float64, "rate_share": pl.Float64,
        "users_share": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema)


def shows(context: Context) -> tuple[Show, ...]:
    """The columns of `frame` that have anything to show."""
    found = [each for _, each in _found(context)]
    known = [Show("rate_per_s", "Transactions a second", "rate")]
    if any(each.rate_share is not None for each in found):
        known.append(Show("rate_share", "Of what it can do", "share"))
    if any(each.users_share is not None for each in found):
        known.append(Show("users_share", "Of the users it can serve", "share"))
    return tuple(known)


def sentence(context: Context) -> Told | None:
    """How much of the driver the windows used; None where nothing was measured."""
    if context.manifest is None or not any(each.rate_per_s for _, each in _found(context)):
        return None
    facts = context.manifest.calibration
    if (because := _shown_otherwise(context)) is not None:
        return Told(f"The driver's head-room is not proven: {because}.", True)
    if facts is None or facts.rate_per_s_max is None:
        because = facts.missing_because if facts else None
        return Told(f"The driver's head-room is not proven: {because or 'not known why'}.", True)
    little = [(name, each) for name, each in _found(context) if each.is_little]
    return _little(context, little, facts) if little else _enough(context, facts)


def _shown_otherwise(context: Context) -> str | None:
    """What a window showed of the driver that its calibration did not foretell."""
    windows = context.evidence.windows
    refuted = (each.row.get("driver_refuted") for each in windows)
    if (told := next(filter(None, refuted), None)) is not None:
        return str(told)
    for window in (each for each in windows if each.valid):
        limited = context.limited.get(window.id)
        by = limited.by if limited is not None else None
        if by is not None and by.rule == "driver" and not head_room(window.row).is_little:
            return f"{by.says} in {window.id}"
    return None


def _little(context: Context, little: list[tuple[str, HeadRoom]], facts: CalibrationFacts) -> Told:
    name, worst = max(little, key=lambda each: each[1].share or 0.0)
    asked = (
        f"The driver was asked for {_shares(worst)} that it can sustain on this host "
        f"({_limits(facts)}) in {name}"
    )
    if len(little) == 1:
        return Told(f"{asked}: it may be what limits this window.", True)
    windows = f"{len(little)} of {len(context.evidence.windows)} windows"
    text = f"{asked}, and for more than half of it in {windows}: it may be what limits them."
    return Told(text, True)


def _enough(context: Context, facts: CalibrationFacts) -> Told:
    found = [each for _, each in _found(context)]
    rates = [each.rate_share for each in found if each.rate_share is not None]
    users = [each.users_share for each in found if each.users_share is not None]
    most = HeadRoom(None, max(rates, default=None), max(users, default=None))
    plain = context.load is not None and not context.load.procedures
    more = "; as plain SQL a transaction takes several answers, so it was asked for more"
    text = (
        f"The driver used at most {_shares(most, at_most)} that it was shown to sustain on this "
        f"host ({_limits(facts)}){more if plain else ''}."
    )
    return Told(text, plain)


def _shares(found: HeadRoom, shown: Callable[[float], str] = percent) -> str:
    parts = []
    if found.rate_share is not None:
        parts.append(f"{shown(found.rate_share)} of the rate")
    if found.users_share is not None:
        parts.append(f"{shown(found.users_share)} of the users")
    return " and ".join(parts)


def _limits(facts: CalibrationFacts) -> str:
    rate = f"{count(facts.rate_per_s_max or 0)} transactions a second"
    over = f"over {plural(facts.connections or 0, 'connection')}"
    if facts.users_max is None:
        return f"{rate} {over}"
    at_least = "at least " if facts.users_limit_reached else ""
    return f"{rate} {over}, {at_least}{count(facts.users_max)} users who pause"


def _found(context: Context) -> list[tuple[str, HeadRoom]]:
    return [(window.id, head_room(window.row)) for window in context.evidence.windows]
