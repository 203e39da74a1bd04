"""Rates of requests as a study writes them: shares of a maximum, or requests a second."""

import re
from contextlib import suppress
from typing import Any

from stithy.errors import TextError
from stithy.point import Value
from stithy.study.problems import Violation, make_rule_error, refuse
from stithy.units import parse_rate

RATE = "rate"
"""The factor."""

MAXIMUM = "max"
"""Its value for a window as fast as it goes, in whose rate the shares are counted."""

SHARES_STEP = 10
PERCENT_MOST = 300
POINTS_MOST = 30
RATES_RIGHT = (
    "`10-120%`, `5-50% by 5%`, a list such as [10%, 50%, 90%], or requests a second: [500, 1000/s]"
)

_RANGE = re.compile(r"(\d+)\s*(%?)\s*-\s*(\d+)\s*(%?)(?:\s+by\s+(\d+)\s*(%?))?")
_SHARE = re.compile(r"(\d+(?:\.\d{1,3})?)\s*%")


def read_rates(value: Any) -> tuple[Value, ...] | None:
    """The points of a sweep in rising order. Raises what a study file's reader understands."""
    if value is None:
        return None
    listed = value if isinstance(value, list | tuple) else [value]
    found = [each for item in listed for each in _read_item(item)]
    kinds = {type(each) is str for each in found}
    if not found or len(found) > POINTS_MOST or len(kinds) > 1:
        raise make_rule_error(
            "not rates", f"1 to {POINTS_MOST}, all shares or all requests a second"
        )
    refuse(
        Violation("a rate given twice", "keep one of them", each, ())
        for i, each in enumerate(found)
        if each in found[:i]
    )
    return tuple(sorted(found, key=convert_to_amount))


def _read_item(value: Any) -> list[Value]:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e8:
        return [int(value) if value == int(value) else float(value)]
    text = value.strip() if isinstance(value, str) else ""
    if match := _SHARE.fullmatch(text):
        return [_read_share(float(match[1]))]
    if "/" in text:
        with suppress(TextError):
            return _read_item(parse_rate(text))
    match = _RANGE.fullmatch(text.replace("/s", ""))
    if match is None or not (match[4] or (match[5] and not match[2] + match[6])):
        raise make_rule_error("not a rate", RATES_RIGHT)
    first, last, step = int(match[1]), int(match[3]), int(match[5] or SHARES_STEP)
    if not 0 < first <= last or step == 0 or (last - first) // step >= POINTS_MOST:
        raise make_rule_error("not a range of rates", RATES_RIGHT)
    every = range(first, last + 1, step)
    return [_read_share(each) if match[4] else each for each in every]


def _read_share(percent: float) -> str:
    if not 0 < percent <= PERCENT_MOST:
        raise make_rule_error(
            "not a share of the maximum", f"more than 0%, at most {PERCENT_MOST}%"
        )
    return f"{percent:g}%"


def find_share(value: Value) -> float | None:
    """The share of the maximum that a point asks for; None for requests a second."""
    return float(value.removesuffix("%")) / 100 if isinstance(value, str) else None


def convert_to_amount(value: Value) -> float:
    """By what the rates of a sweep are in order; the maximum comes first."""
    if value == MAXIMUM:
        return 0.0
    share = find_share(value)
    return float(value) if share is None else share
