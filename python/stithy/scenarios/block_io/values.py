"""Rates of requests and numbers of volumes as a study writes them.

A rate is a share of a maximum, or requests a second. A number of volumes stands for so many files
on the candidate's main volume, as a hypervisor has virtual disks. Roles stand for the volumes that
serve them; a role named twice has two files there.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, get_args

from stithy.errors import TextError
from stithy.point import Value
from stithy.storage.provider import ROLES, Role
from stithy.study.problems import Violation, refuse
from stithy.units import make_rule_error, parse_rate

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


VOLUMES_MOST = 64
VOLUMES_RIGHT = f"a number from 1 to {VOLUMES_MOST}, or roles such as [data, log]"

File = tuple[Role, int]
"""What is read and written of a role: its number, from 1."""


def read_volumes(value: Any) -> tuple[Role, ...]:
    """The role of each volume, in the study's order. Raises what a study file's reader understands.

    A text joins roles, as `vary` has them: `data+log`.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        named: Sequence[Any] = ["data"] * min(value, VOLUMES_MOST + 1)
    elif isinstance(value, str):
        named = [part.strip() for part in value.split("+")]
    else:
        named = value if isinstance(value, list | tuple) else []
    if not 0 < len(named) <= VOLUMES_MOST or any(each not in get_args(Role) for each in named):
        raise make_rule_error("not volumes", VOLUMES_RIGHT)
    return tuple(named)


def write_volumes(roles: Sequence[Role]) -> int | list[Role]:
    """As short as a study can say it."""
    return len(roles) if set(roles) == {"data"} else list(roles)


def list_files(roles: Iterable[Role]) -> tuple[File, ...]:
    """A file for each volume, those of a role numbered."""
    seen: dict[Role, int] = {}
    found: list[File] = []
    for role in roles:
        seen[role] = seen.get(role, 0) + 1
        found.append((role, seen[role]))
    return tuple(found)


def name_files(roles: Iterable[Role]) -> tuple[str, ...]:
    """What each volume is called in results: `data`, `data-2`, `log`."""
    return tuple(role if number == 1 else f"{role}-{number}" for role, number in list_files(roles))


def merge_volumes(every: Sequence[Sequence[Role]]) -> tuple[Role, ...]:
    """Each role as often as any of several lists has it."""
    most = {role: max(each.count(role) for each in every) for role in ROLES}
    return tuple(role for role in ROLES for _ in range(most[role]))


def count_on_volumes(roles: Iterable[Role], own: Iterable[Role]) -> Mapping[Role, int]:
    """How many files lie on the volume of each role, where only `own` have volumes of their own.

    The volume of the data serves all other roles.
    """
    held = list(own)
    found: dict[Role, int] = {}
    for role in roles:
        place: Role = role if role in held else "data"
        found[place] = found.get(place, 0) + 1
    return found
