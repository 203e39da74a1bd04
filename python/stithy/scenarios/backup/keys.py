"""The keys of the scenario: how a database is backed up, and what users do meanwhile.

They arrive at a rate, wait for answers, or do nothing.

Shares are of a maximum that the study measures first: as many users as the load has, back to back,
on each candidate without backups.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainSerializer, PlainValidator, ValidationError, WithJsonSchema

from stithy.activities.backup.keys import (
    Compression,
    Kind,
    MethodName,
    Processes,
    describe_default,
    describe_methods,
    fill_method,
)
from stithy.activities.hammer.declared import USERS
from stithy.engines.backup import FULL, BackupMethod, BackupOptions
from stithy.engines.engine import get_engine
from stithy.errors import UserError
from stithy.point import OFF, Point
from stithy.study.load_keys import AgentName, Load
from stithy.study.problems import Violation
from stithy.study.scenario import ScenarioKeys
from stithy.units import FinePercent, ShownBytesOrNone, limit_quantity, make_rule_error

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
    USERS.name, "find", "find_within", "find_width", "limit", "connections", "pace", "rate_per_s",
    "arrivals", "touch_percent", "ramp_up_s", "duration_s", "isolation", "ledger", "error_limit",
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


def group_alike(at: MethodAt, engine: str, off: Sequence[Point]) -> Iterator[Point]:
    """Of the points without backups, those that differ from an earlier one in settings alone.

    Those of a method that keeps a repository are not among them: its server archives by them.
    Another method has points of its own.
    """
    seen = set()
    for point in off:
        known = _find_known(at, engine, point)
        if known is None or known[0].keeps_repository:
            continue
        if (key := (known[0], drop_settings(point))) in seen:
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


NAME = "backup"

SETTINGS = f"scenario.{NAME}."
"""Before the keys of the scenario that are factors."""

BACKUP = "backup"
"""The factor: whether the database is backed up during a window."""

RATE = "rate"
"""The factor of shares of a maximum."""

MAXIMUM = "max"
"""Its value where the maximum is measured."""

LIMIT_PERCENT = 20.0
"""Source: CockroachDB's goal for backups, p99 + 20 % at 80 % load."""

CYCLES_MOST = 1000

HERE = "none"
"""As `agent`: this host makes backups."""


class BackupSpec(ScenarioKeys):
    """How the database is backed up while users work."""

    FIXED: ClassVar = frozenset({"verify", "during", "limit"})
    IMPLIED: ClassVar = frozenset({"limit"})
    AGENTS_KEY: ClassVar = "agent"

    method: MethodName = Field(
        default="",
        json_schema_extra={"default": describe_default()},
        description=(
            "The method of the engine with which the database is backed up. " + describe_methods()
        ),
        examples=["dump"],
    )
    kind: Kind = Field(
        default=FULL,
        description=(
            "Whether a backup holds everything, what changed since the last backup, or what "
            "changed since the last full one. A full backup is made before each window where one "
            "is needed, and does not count."
        ),
        examples=["incremental"],
    )
    cycles: Annotated[int, Field(ge=1, le=CYCLES_MOST)] | None = Field(
        default=None,
        json_schema_extra={"default": "until the end; 1 if idle or incremental"},
        description=(
            "Number of backups in a window, one after the other, from the start of the "
            "measurement. None begins after its end. If left out, they follow each other until the "
            "end, so that every second of the users has a backup. Of an idle database, which has "
            "no end, and of `incremental` backups, which all need room, there is one."
        ),
        examples=[2],
    )
    processes: Processes = Field(
        default=1,
        description="Number of processes or threads of a backup and its restore.",
        examples=[2],
    )
    compression: Compression = Field(
        default="none", description="How a backup is compressed.", examples=["zstd"]
    )
    bytes_per_s: ShownBytesOrNone = Field(
        alias="bandwidth",
        default=None,
        json_schema_extra={"default": "as fast as it can"},
        description=(
            "Bytes per second at which a backup reads the database at most. A slower backup takes "
            "longer and costs users less."
        ),
        examples=["32 MiB"],
    )
    during: DuringValue = Field(
        default=None,
        json_schema_extra={
            "default": "the rate of `load`, if it has one; else `{rate: [50%, 80%]}`"
        },
        description=(
            "What users do meanwhile. `{rate: 50%}`: transactions arrive at this share of the "
            "maximum, whether or not earlier ones were answered. The maximum is what the users of "
            "`load` do back to back without backups. It is measured once, before all else. It is "
            "that of the slowest candidate, so that all do the same work; with `of: own` it is "
            "each candidate's own. `{users: 13}`: this level of `load.users`, who wait for "
            "answers. `idle`: nobody works, each backup is restored, and `load.users` is left out."
        ),
        examples=[{"rate": ["50%", "80%"], "of": "own"}, {USERS.name: 13}, "idle"],
    )
    limit_percent: Annotated[
        FinePercent,
        limit_quantity(1, 999, lambda value: f"{value:g}%"),
        PlainSerializer(lambda value: f"{value:g}%", when_used="json"),
    ] = Field(
        alias="limit",
        default=LIMIT_PERCENT,
        json_schema_extra={"default": f"{LIMIT_PERCENT:g}%"},
        description=(
            "The most that a backup may add to p99. The report names the fastest setting whose "
            "p99 stays within it, by the upper end of the interval."
        ),
        examples=["10%"],
    )
    agent: AgentName = Field(
        default=HERE,
        description=(
            "Agent at which the program of a backup runs, by name: a host on which `stithy agent` "
            "runs, on the machine of the database; `none` is this host. Restores and checks stay "
            "here. It drives no users. Methods that read files by themselves have none. `stithy "
            "run --scheduler` says where agents meet."
        ),
        examples=["host-b"],
    )
    verify: bool = Field(
        default=True,
        description=(
            "Whether the last backup of each window is restored and checked, and whether each "
            "candidate's database is backed up and compared row by row at the end. A backup that "
            "does not restore to an equal database fails the study with exit code 5."
        ),
        examples=[False],
    )

    @classmethod
    def fill_defaults(cls, keys: Mapping[str, object], engine: str) -> Mapping[str, object]:
        return fill_method(keys, engine)

    def has_shares(self, load: Load) -> bool:
        during = during_of(self.during, load)
        return during is not None and during.kind == "rate"

    def find_conflicts(self, load: Load) -> Iterator[Violation]:
        yield from find_misfits(self.during, load)
        if set(self.list_agents()) & set(load.agents):
            what = f"{self.agent}, which makes backups: an agent does one thing at a time"
            yield Violation(what, "give backups an agent of their own", [*load.agents], ("agents",))

    def list_agents(self) -> tuple[str, ...]:
        return () if self.agent == HERE else (self.agent,)

    @classmethod
    def has_users(cls, keys: Mapping[str, object]) -> bool:
        return keys.get("during") != "idle"

    def list_first_points(self, points: Sequence[Point]) -> tuple[Point, ...]:
        """The maxima that the shares are of, which no setting of backups changes."""
        paced = [point for point in points if RATE in point.values]
        return tuple(dict.fromkeys(find_maximum(each, points[0]) for each in paced))

    def find_impossible(self, engine: str, settings: Sequence[Point]) -> Mapping[Point, str]:
        return find_impossible(self._find_method, engine, settings)

    def list_spared_points(self, engine: str, points: Sequence[Point]) -> tuple[Point, ...]:
        """Those without backups for which another stands, with other settings of backups."""
        off = [point for point in points if point.values.get(BACKUP) == OFF]
        return tuple(group_alike(self._find_method, engine, off))

    def _find_method(self, point: Point) -> tuple[str, BackupOptions]:
        own = {name.removeprefix(SETTINGS): value for name, value in point.factors
               if name.startswith(SETTINGS)}  # fmt: skip
        fixed = {"verify", "during", "limit_percent"}
        given = self.model_dump(by_alias=True, exclude_unset=True, exclude=fixed)
        there = type(self).model_validate({**given, **own})
        return there.method, there.options

    @property
    def is_idle(self) -> bool:
        return self.during is not None and self.during.kind == "idle"

    @property
    def cycles_most(self) -> int:
        """How many backups a window has at most: without a number until its end."""
        if self.cycles is not None:
            return self.cycles
        return 1 if self.is_idle or self.kind == "incremental" else CYCLES_MOST

    @property
    def options(self) -> BackupOptions:
        """As a method takes them."""
        agent = "".join(self.list_agents())
        return BackupOptions(self.processes, self.compression, self.bytes_per_s, self.kind, agent)


def drop_settings(point: Point) -> Point:
    """All but the settings of backups: what is compared with each other has it in common."""
    factors = (factor for factor in point.factors if not factor[0].startswith(SETTINGS))
    return Point(tuple(each for each in factors if each[0] != BACKUP))


def find_maximum(point: Point, first: Point) -> Point:
    """Where the maximum is measured that a point's share is of: with the first of all settings."""
    at = point.replaced(RATE, MAXIMUM).replaced(BACKUP, OFF)
    for name in at.values:
        if name.startswith(SETTINGS):
            at = at.replaced(name, first.values[name])
    return at
