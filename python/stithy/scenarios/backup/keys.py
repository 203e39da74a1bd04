"""What users do while their database is backed up: arrive at a rate, wait for answers, or nothing.

Shares are of a maximum that the study measures first: as many users as the load has, back to back,
on each candidate without backups.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationError, WithJsonSchema

from stithy.activities.hammer.declared import USERS
from stithy.engines.backup import BackupMethod, BackupOptions
from stithy.engines.engine import get_engine
from stithy.errors import UserError
from stithy.point import Point
from stithy.study.load_keys import Load
from stithy.study.problems import Violation, make_rule_error

SHARES = ("50%", "80%")
"""Of the maximum, where the study says nothing. Sources: 50 % is the load of CockroachDB's
perturbation tests, 80 % that of its goal for backups."""

SHARES_MOST = 10
OWN = "own"
OF = ("slowest", OWN)
RIGHT = "`idle`, `{rate: 50%}`, `{rate: [50%, 80%], of: own}` or `{users: 13}`"
_SHARE = re.compile(r"(\d{1,3}(?:\.\d)?)\s*%")


@dataclass(frozen=True)
class During:
    """`kind` says which: `rate` at `shares` of the maximum, `users` in a closed loop, or `idle`.

    `of`: whose maximum it is, the slowest candidate's or each one's own.
    """

    kind: str
    shares: tuple[str, ...] = ()
    users: tuple[int, ...] = ()
    of: str = OF[0]

    def __str__(self) -> str:
        """As a study has it."""
        if self.kind == "idle":
            return "idle"
        listed = ", ".join(map(str, self.shares or self.users))
        several = len(self.shares or self.users) > 1
        value = f"[{listed}]" if several else listed
        own = f", of: {self.of}" if self.kind == "rate" and self.of != OF[0] else ""
        return f"{{{self.kind}: {value}{own}}}"


def read_during(value: Any) -> During | None:
    """What a study has at its key. Raises what a study file's reader understands."""
    if value is None or isinstance(value, During):
        return value
    if value == "idle":
        return During("idle")
    if isinstance(value, dict):
        of = value.get("of", OF[0])
        if value.keys() <= {"rate", "of"} and "rate" in value and of in OF:
            return During("rate", shares=_write_list(value["rate"], _read_share), of=of)
        if value.keys() == {USERS.name}:
            return During(USERS.name, users=_write_list(value[USERS.name], _read_level))
    raise make_rule_error("not what users do during a backup", f"one of {RIGHT}")


def _write_list(value: Any, read: Any) -> tuple[Any, ...]:
    listed = value if isinstance(value, list | tuple) else [value]
    found = tuple(map(read, listed))
    if not 0 < len(found) <= SHARES_MOST or len(set(found)) < len(found):
        raise make_rule_error("not a list of levels", f"1 to {SHARES_MOST}, each once")
    return found


def _read_share(value: Any) -> str:
    match = _SHARE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or not 0 < float(match[1]) <= 100:
        raise make_rule_error(
            f"not a share of the maximum, `{value}`",
            "such as 50%, at most 100%; a rate in transactions per second is `load.rate`",
        )
    return f"{float(match[1]):g}%"


def _read_level(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise make_rule_error(f"not a number of users, `{value}`", "a level of `load.users`")
    return value


DuringValue = Annotated[
    During | None,
    PlainValidator(read_during),
    PlainSerializer(lambda during: None if during is None else str(during), when_used="json"),
    WithJsonSchema({"anyOf": [{"enum": ["idle"]}, {"type": "object"}]}),
]
"""What users do during a backup, in a study file."""


def during_of(given: During | None, load: Load) -> During | None:
    """What holds with a load: as the study says, else shares; None at the rate of the load."""
    if given is None and load.rate_per_s is None:
        return During("rate", shares=SHARES)
    return given


def find_misfits(given: During | None, load: Load) -> Iterator[Violation]:
    """What of a load contradicts it, each at the key to change."""
    if given is None:
        return
    if given.kind == "idle":
        for key in sorted(load.model_fields_set & _OF_USERS):
            name = Load.model_fields[key].alias or key
            if key != USERS.name or load.levels != (0,):
                what = f"`{name}` of an idle database, which has no users"
                yield Violation(what, "leave it out, or change `during`", None, (name,))
        return
    if load.rate_per_s is not None:
        right = f"leave it out, or `during: {given}`"
        yield Violation("a rate beside what users do during a backup", right, None, ("rate",))
    for level in given.users:
        if level not in load.levels:
            listed = list(load.levels)
            yield Violation(f"no level of {level} users", f"list {level}", listed, (USERS.name,))


_OF_USERS = frozenset({
    USERS.name, "find", "find_within", "limit", "connections", "pace", "rate_per_s", "arrivals",
    "touch_percent", "ramp_up_s", "duration_s", "isolation", "ledger", "error_limit",
})  # fmt: skip


def find_share(rate: str) -> float:
    """A share as it is written."""
    return float(rate.removesuffix("%")) / 100


MethodAt = Callable[[Point], tuple[str, BackupOptions]]
"""The name of the method at a point, with its options. Raises ValidationError for a wrong value."""


def find_impossible(at: MethodAt, engine: str, settings: Sequence[Point]) -> Mapping[Point, str]:
    """The settings that their method cannot have, with its reason.

    None if a value would be left that no possible one has: that is a wrong value, and no wrong
    combination.
    """
    found = {
        setting: problem
        for setting in settings
        if (known := _find_known(at, engine, setting))
        and (problem := known[0].explain_refusal(known[1]))
    }
    possible = {pair for each in settings if each not in found for pair in each.factors}
    every = {pair for each in settings for pair in each.factors}
    return found if possible == every else {}


def group_alike(
    at: MethodAt, load_of: Callable[[Point], Point], engine: str, off: Sequence[Point]
) -> Iterator[Point]:
    """Of the points without backups, those that differ from an earlier one in settings alone.

    Those of a method that keeps a repository are not among them: its server archives by them.
    Another method has points of its own.
    """
    seen = set()
    for point in off:
        known = _find_known(at, engine, point)
        if known is None or known[0].keeps_repository:
            continue
        if (key := (known[0], load_of(point))) in seen:
            yield point
        seen.add(key)


def _find_known(
    at: MethodAt, engine: str, point: Point
) -> tuple[BackupMethod, BackupOptions] | None:
    """The method of a point with its options; None if a value is wrong, which is said elsewhere."""
    try:
        name, options = at(point)
        return get_engine(engine).get_backup(name), options
    except (ValidationError, UserError):
        return None
