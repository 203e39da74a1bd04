"""A point: one setting of all that a study varies, such as `users=13, database.memory=1 GiB`.

A factor is named by its key in the study, or by the scenario that varies it. The text of a point is
canonical: it stands in results and is read again as the same point.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, total_ordering
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from stithy.activity import get_factor, get_level_factor
from stithy.names import hash_name, is_name
from stithy.units import parse_bit_rate, parse_duration, parse_size

Value = bool | int | float | str

ON, OFF = "on", "off"
SWITCH: Mapping[Value, str] = {ON: "with", OFF: "without"}
"""The values of a scenario's own factor that is switched, whose name is said in the plural."""

_FACTOR = re.compile(r'([^\s=,"]+)=("(?:[^"\\]|\\.)*"|[^,"]+)(?:, |$)')


@total_ordering
@dataclass(frozen=True)
class Point:
    """The values of all factors, by the factor's name; in the order of the study, the level first.

    The level is the value of a factor that counts (`stithy.activity`). Points are in order of the
    other factors first, then of the level; sizes, times and shares by how much they are.
    """

    factors: tuple[tuple[str, Value], ...]

    @classmethod
    def of(cls, **values: Value) -> "Point":
        """The point of these values: `Point.of(users=4)`."""
        return cls(tuple(values.items()))

    @classmethod
    def parse(cls, text: str) -> "Point":
        """The point that a text writes. Raises ValueError for any other text."""
        found = list(_FACTOR.finditer(text))
        if not text or "".join(each[0] for each in found) != text or text.endswith(", "):
            raise ValueError(f"not a point: {text!r:.80}")
        return cls(tuple((each[1], _read(each[2])) for each in found))

    @cached_property
    def values(self) -> Mapping[str, Value]:
        return dict(self.factors)

    @cached_property
    def counted(self) -> str | None:
        """The factor of the level, if one of them counts."""
        return next((name for name, _ in self.factors if get_factor(name).counts), None)

    @property
    def level(self) -> int:
        """What a point with a level counts: virtual users, or in an open loop connections."""
        return int(self.values[self.counted or ""])

    @property
    def others(self) -> tuple[tuple[str, Value], ...]:
        """All factors but that of the level."""
        return tuple(factor for factor in self.factors if factor[0] != self.counted)

    def at_level(self, level: int) -> "Point":
        """The same setting of all other factors with this level."""
        return Point(((self.counted or get_level_factor().name, level), *self.others))

    def replaced(self, name: str, value: Value) -> "Point":
        """The same with another value of a factor that it has."""
        return Point(tuple((key, value if key == name else old) for key, old in self.factors))

    @cached_property
    def slug(self) -> str:
        """A word for names of files, each point's own: `u13`, `u13-memory1gib`.

        It can be read back, whatever is joined before it; else it ends with a hash. Points that
        differ in the blank of an amount alone (`4MB`, `4 MB`) have one: no study has both.
        """
        shorts = [
            get_factor(name).short or re.sub(r"[\W_]", "", name.rpartition(".")[2]).lower()
            for name, _ in self.factors
        ]
        values = [name_value(value) for _, value in self.factors]
        slug = "-".join(f"{short}{text}" for short, (text, _) in zip(shorts, values, strict=True))
        joints = re.compile("|".join(("_at_", *(f"-{re.escape(short)}" for short in shorts))))
        is_clear = all(clear and not joints.search(text) for text, clear in values)
        return slug if not slug or (is_clear and is_name(slug)) else hash_name(slug, str(self))

    @property
    def word(self) -> str:
        """A word for names of values: `13`, and with other factors as in names of files."""
        return self.slug if self.others else str(self.level)

    @property
    def brief(self) -> str:
        """In a cell: `1,500`, `8, 512 MiB`."""
        return ", ".join(format_value(value) for _, value in self.factors)

    def in_words(self, unit: str | None = None) -> str:
        """As people say it: `1,500 users`, `8 users with database.memory 512 MiB, with backups`.

        `unit`: one of what its level counts, if not as it is declared.
        """
        named = ", ".join(
            f"{name} {format_value(value)}"
            for name, value in self.others
            if not _is_switch(name, value)
        )
        switched = [
            f"{SWITCH[value]} {name}s" for name, value in self.others if _is_switch(name, value)
        ]
        if self.counted is None:
            return ", ".join([*([named] if named else []), *switched])
        one = unit or get_factor(self.counted).unit
        level = f"{self.level:,} {one}{'' if self.level == 1 else 's'}"
        others = ", ".join([*([f"with {named}"] if named else []), *switched])
        return f"{level} {others}".rstrip()

    def at(self, unit: str | None = None) -> str:
        """Where a value was measured: `at 1,500 users`, `with backups`."""
        words = self.in_words(unit)
        return words if words.startswith(tuple(SWITCH.values())) else f"at {words}"

    def __str__(self) -> str:
        return ", ".join(f"{name}={write_value(value)}" for name, value in self.factors)

    def __lt__(self, other: "Point") -> bool:
        return self._order < other._order

    @cached_property
    def _order(self) -> tuple[tuple[int, float, str], ...]:
        ordered = (*self.others, *(factor for factor in self.factors if factor[0] == self.counted))
        return tuple(order(value) for _, value in ordered)


NOTHING = "none"
"""The value of a factor at which its scenario does nothing beside users, to be compared with."""


def order(value: Value) -> tuple[int, float, str]:
    """By what values of a factor are sorted: how much they are, and words after all numbers."""
    number = measure_magnitude(value)
    return (1, 0.0, str(value)) if number is None else (0, number, str(value))


def measure_magnitude(value: Value) -> float | None:
    """How much a value is: a number, the bytes of a size, the seconds of a time, a share.

    None for a word.
    """
    if not isinstance(value, str):
        return float(value)
    if value[-1:] not in "kKmMgGtT":  # of a name: among what varies, units are written out
        for read in (float, parse_size, parse_duration, parse_bit_rate, _read_share):
            with suppress(ValueError):
                return number if math.isfinite(number := float(read(value))) else None
    return None


def are_amounts(values: Iterable[Value]) -> bool:
    """Whether values have more and less; words and what is true or false have not."""
    return all(
        not isinstance(value, bool) and measure_magnitude(value) is not None for value in values
    )


def _read_share(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text)
    if match is None:
        raise ValueError(f"not a share: {text!r}")
    return float(match[1]) / 100


def write_value(value: Value) -> str:
    """A value as it stands in the text of a point; quoted where it would be read as another one."""
    if not isinstance(value, str):
        return json.dumps(value)
    plain = value.strip() == value and value and not re.search(r'[,"=]', value)
    return value if plain and _read(value) == value else json.dumps(value, ensure_ascii=False)


def _is_switch(name: str, value: Value) -> bool:
    """A key of the study, which has a dot, is said as it is written."""
    return value in SWITCH and "." not in name


def format_value(value: Value) -> str:
    """A value as people read it: numbers with separators of thousands."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _read(text: str) -> Value:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float | str) else text


_AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ?((?:[kMGT]|[KMGT]i)?B|[um]?s|min|h|d|%|/s|/min|[kMG]bit/s)")
_UNIT = "([kmgt]?i?b|[um]?s|min|h|d|pct|ps|pmin|[kmg]bitps)"
_PART = "[a-z0-9+_-]+"
_CLEAR = re.compile(  # a number, a word, a pattern of a profile, a file in the current directory
    rf"-?\d+(\.\d+)?(e[-+]\d+)?|(?!\d+{_UNIT}$){_PART}|[a-z]{_PART}/{_PART}"
    rf"|\./{_PART}\.[a-z]+(/{_PART})?"
)


def name_value(value: Value) -> tuple[str, bool]:
    """Write a value for names of files, and whether it can be read back from there."""
    text = write_value(value)
    if amount := _AMOUNT.fullmatch(text):
        return amount[1] + amount[2].lower().replace("%", "pct").replace("/", "p"), True
    return text.replace("./", ".").replace("/", "."), _CLEAR.fullmatch(text) is not None


def join_words(value: Value) -> str:
    """Write a value without blanks: `1GiB`."""
    return "".join(str(value).split())


def find_named(points: Sequence[Point], word: str) -> Point | None:
    """The one of the points that a word names; None where there is none, or more than one.

    It is the point's own word, or the value of the only factor of which they have several.
    """
    several = list_telling(points)
    words = [{point: point.slug for point in points}]
    if len(several) == 1:
        words += [{point: join_words(point.values[several[0]]) for point in points}]
    for fold in (str.strip, str.lower):
        for known in words:
            if meant := [point for point in known if fold(known[point]) == fold(word)]:
                return meant[0] if len(meant) == 1 else None
    return None


def list_varied(points: Iterable[Point]) -> tuple[str, ...]:
    """The factors of which the points have more than one value, in the points' order."""
    values: dict[str, set[Value]] = {}
    for point in points:
        for name, value in point.factors:
            values.setdefault(name, set()).add(value)
    return tuple(name for name, known in values.items() if len(known) > 1)


def list_telling(points: Sequence[Point]) -> tuple[str, ...]:
    """What is said of each point: what varies; where nothing does, the first factor."""
    first = [name for name, _ in points[0].factors[:1]] if points else []
    return list_varied(points) or tuple(first) or (get_level_factor().name,)


def _read_point(value: Any) -> Point:
    return value if isinstance(value, Point) else Point.parse(value)


PointText = Annotated[
    Point, PlainValidator(_read_point), PlainSerializer(str), WithJsonSchema({"type": "string"})
]
"""A point in a file, as its canonical text."""
