"""What the neighbour's spans are called: all of its work, its cycles, and their parts."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

WHOLE = "neighbour"
_CYCLE = re.compile(rf"{WHOLE} (?P<number>\d+)(?:: (?P<part>.+))?")

Row = Mapping[str, Any]


def cycle_name(number: int, part: str | None = None) -> str:
    """A cycle, counted from 1; or a part of it, such as its backup."""
    return f"{WHOLE} {number}" if part is None else f"{WHOLE} {number}: {part}"


def part_of(name: str) -> str | None:
    """The part of a cycle that a span is; None where it is none."""
    found = _CYCLE.fullmatch(name)
    return found["part"] if found else None


def cycles(spans: Iterable[Row]) -> list[Row]:
    """The cycles among the spans of a window, in their order."""
    found = [(match, each) for each in spans if (match := _CYCLE.fullmatch(each["name"]))]
    return [each for match, each in found if match["part"] is None]


def parts(spans: Iterable[Row]) -> list[Row]:
    """The parts of cycles among them."""
    return [each for each in spans if part_of(each["name"]) is not None]


def at_work(spans: Iterable[Row]) -> list[tuple[float, float]]:
    """When the neighbour worked, Unix time: in its cycles; without any, from begin to end.

    Of one that works at once all the time only cycles that failed may be spans.
    """
    every = list(spans)
    found = cycles(every)
    is_all = any(each["outcome"] != "failed" for each in found)
    whole = [each for each in every if each["name"] == WHOLE]
    chosen = found if is_all or not whole else whole
    return [(each["from_s"], each["to_s"]) for each in chosen if each["to_s"] is not None]
