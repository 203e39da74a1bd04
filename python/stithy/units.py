"""Keys, durations and sizes as people write them; inside the code only seconds and bytes.

Decimal units are powers of 1000 and binary ones powers of 1024; so are K, M, G and T alone, as fio
and dd have them. PostgreSQL's own `kB`, `MB`, `GB` are passed through in `database.settings` and
never read by this module.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from stithy.errors import TextError


class FrozenModel(BaseModel):
    """Keys as somebody wrote them: frozen, and one that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


SECONDS_BY_UNIT = {
    "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0,
    "min": 60.0, "minute": 60.0, "minutes": 60.0, "m": 60.0,
    "h": 3600.0, "hour": 3600.0, "hours": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip

BYTES_BY_UNIT = {
    "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
    "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40,
}  # fmt: skip

BITS_BY_UNIT = {"gbit/s": 1e9, "mbit/s": 1e6, "kbit/s": 1e3}

_PERCENT = re.compile(r"^\s*(\d{1,3})\s*%\s*$")
_FINE_PERCENT = re.compile(r"^\s*(\d{1,3}(?:\.\d{1,3})?)\s*%\s*$", re.ASCII)
_RATE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*/\s*([A-Za-z]+)\s*$")
_BIT_RATE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+/s)\s*$")
_SCALE = re.compile(r"^\s*1\s*/\s*(\d+(?:\.\d+)?)\s*$")
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ]+)\s*")


def parse_duration(text: object) -> float:
    """Seconds of a text such as `2 min`, `90s`, `500 ms`, `1 h 30 min`.

    Raises TextError, with what would be right, for a bare number, an unknown unit or a negative.
    """
    total_s = 0.0
    for value, unit in _split(text, "5 s, 90s or 2 min"):
        if unit.lower() not in SECONDS_BY_UNIT:
            raise TextError(f"unknown unit of time {unit!r}: use us, ms, s, min, h or d")
        # By decimals: 1.965 ms are 0.001965 s, and are written as they were given.
        total_s += float(value * Decimal(repr(SECONDS_BY_UNIT[unit.lower()])))
    return _require_finite(total_s, "5 s")


def parse_size(text: object) -> int:
    """Bytes of a text such as `1 GiB`, `384MB`, `512 KiB`.

    Raises TextError, with what would be right, for a bare number, an unknown unit or a negative.
    """
    [(value, unit), *more] = _split(text, example := "1 GiB, 384MB or 512 KiB")
    if more:
        raise TextError(f"a number with a unit is needed, such as {example}")
    if unit.lower() not in BYTES_BY_UNIT:
        raise TextError(f"unknown unit of size {unit!r}: use KiB, MiB, GiB, TiB, kB, MB, GB or TB")
    return round(_require_finite(float(value * BYTES_BY_UNIT[unit.lower()]), "1 GiB"))


def parse_percent(text: object) -> int:
    """Whole percent of a text such as `50%` or `50 %`, from 0 to 100.

    Raises TextError, with what would be right, for a bare number or one outside.
    """
    return int(_percent(text, _PERCENT, "whole percent from 0% to 100% are needed, such as 50%"))


def parse_fine_percent(text: object) -> float:
    """Percent of a text such as `1.5%` or `2 %`, from 0 to 100, with three decimals at most.

    Raises TextError, with what would be right, for a bare number or one outside.
    """
    return _percent(text, _FINE_PERCENT, "percent from 0% to 100% are needed, such as 2% or 1.5%")


def _percent(text: object, pattern: re.Pattern[str], right: str) -> float:
    match = pattern.match(text) if isinstance(text, str) else None
    if match is None or float(match[1]) > 100:
        raise TextError(right)
    return float(match[1])


def parse_rate(text: object) -> float:
    """Times a second of a text such as `500/s` or `30000/min`.

    Raises TextError, with what would be right, for a bare number or an unknown unit.
    """
    match = _RATE.match(text) if isinstance(text, str) else None
    if match is None or match[2].lower() not in SECONDS_BY_UNIT:
        raise TextError("a number by a unit of time is needed, such as 500/s or 30000/min")
    return _require_finite(float(match[1]) / SECONDS_BY_UNIT[match[2].lower()], "500/s")


def parse_bit_rate(text: object) -> float:
    """Bits a second of a text such as `1 Gbit/s` or `100 Mbit/s`.

    Raises TextError, with what would be right, for a bare number or an unknown unit.
    """
    match = _BIT_RATE.match(text) if isinstance(text, str) else None
    if match is None or match[2].lower() not in BITS_BY_UNIT:
        raise TextError("a number of kbit/s, Mbit/s or Gbit/s is needed, such as 1 Gbit/s")
    return _require_finite(float(match[1]) * BITS_BY_UNIT[match[2].lower()], "1 Gbit/s")


def read_rate(value: Any) -> Any:
    """Times a second of a text; what is no text is a number of them already."""
    return parse_rate(value) if isinstance(value, str) else value


def parse_scale(text: object) -> float:
    """The divisor of a scale such as `1/8`: 8. The whole thing, `1` or `1/1`, is 1.

    Raises TextError, with what would be right, for anything else or a divisor below 1.
    """
    match = _SCALE.match(str(text)) if isinstance(text, str | int) else None
    divisor = float(match[1]) if match else 1.0
    if (match is None and str(text).strip() != "1") or not 1 <= divisor < math.inf:
        raise TextError("one part of the whole is needed, such as 1/8, or 1")
    return divisor


def _split(text: object, example: str) -> list[tuple[Decimal, str]]:
    parts = _QUANTITY.findall(text) if isinstance(text, str) else []
    if not parts or _QUANTITY.sub("", str(text)):
        raise TextError(f"a number with a unit is needed, such as {example}")
    return [(Decimal(value), unit) for value, unit in parts]


def _require_finite(value: float, example: str) -> float:
    if not math.isfinite(value):
        raise TextError(f"a smaller number is needed, such as {example}")
    return value


def _tell_unit(parse: Callable[[object], Any], what: str) -> Callable[[Any], Any]:
    """`parse` for a study file: a TextError becomes an error that says what the value is not."""

    def checked(text: Any) -> Any:
        try:
            return parse(text)
        except TextError as error:
            context = {"what": what, "right": str(error)}
            raise PydanticCustomError("quantity", "{what}: {right}", context) from error

    return checked


def make_rule_error(
    what: str, right: str, part: tuple[int, int] | None = None
) -> PydanticCustomError:
    """An error about the value of a study that is being checked, or a part of it; to be raised."""
    context = {"what": what, "right": right, "part": part}
    return PydanticCustomError("rule", "{what}: {right}", context)


def require(holds: Callable[[Any], object], what: str, right: str) -> AfterValidator:
    """Require that something holds of a value; where it does not, the value is `what`."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise make_rule_error(what, right)
        return value

    return AfterValidator(check)


def limit_quantity(low: float, high: float, show: Callable[[float], str]) -> AfterValidator:
    """Bounds of a quantity, reported in the units of people."""

    def check(value: float) -> float:
        if value < low:
            raise make_rule_error("too small", f"at least {show(low)}")
        if value > high:
            raise make_rule_error("too large", f"at most {show(high)}")
        return value

    return AfterValidator(check)


def _describe_text(units: Iterable[str], example: str, again: str = "") -> WithJsonSchema:
    names = "|".join(sorted(units, key=len, reverse=True))
    pattern = rf"^(\s*\d+(\.\d+)?\s*({names})){again}\s*$"
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


Seconds = Annotated[
    float,
    BeforeValidator(_tell_unit(parse_duration, "not a duration")),
    _describe_text(SECONDS_BY_UNIT, "20 s", "+"),
]
"""A duration in a study file; seconds once read."""

ShownSeconds = Annotated[
    Seconds, PlainSerializer(lambda length_s: format_duration(length_s), when_used="json")
]
"""The same, with its unit where a run says what it was asked."""

_PERCENT_PARTS = (
    BeforeValidator(_tell_unit(parse_percent, "not a percentage")),
    WithJsonSchema({"type": "string", "pattern": r"^\s*\d{1,3}\s*%\s*$", "examples": ["50%"]}),
)
Percent = Annotated[int, *_PERCENT_PARTS]
"""A share in a study file; whole percent once read."""

PositivePercent = Annotated[Percent, limit_quantity(1, 100, lambda share: f"{share:.0f}%")]
"""The same where nothing is no share."""

FinePercent = Annotated[
    float,
    BeforeValidator(_tell_unit(parse_fine_percent, "not a percentage")),
    WithJsonSchema(
        {"type": "string", "pattern": r"^\s*\d{1,3}(\.\d{1,3})?\s*%\s*$", "examples": ["1.5%"]}
    ),
]
"""The same where a fraction of a percent makes a difference; percent once read."""

PercentOrNone = Annotated[int | None, *_PERCENT_PARTS]
"""The same where leaving it out has a meaning of its own."""

ShownPercentOrNone = Annotated[
    PercentOrNone,
    PlainSerializer(lambda share: None if share is None else f"{share}%", when_used="json"),
]
"""The same, with its sign where a run says what it was asked."""

PER_SECOND_MOST = 10_000_000

WholePerSecond = Annotated[
    int,
    Field(ge=1, le=PER_SECOND_MOST),
    BeforeValidator(_tell_unit(read_rate, "not a rate")),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": PER_SECOND_MOST},
                {"type": "string"},
            ]
        }
    ),
]
"""A rate in a study file, a number or a text such as 200/s; whole times a second once read."""

PerSecondOrNone = Annotated[
    float | None,
    BeforeValidator(_tell_unit(parse_rate, "not a rate")),
    WithJsonSchema(
        {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*/\s*(s|min|h)\s*$", "examples": ["500/s"]}
    ),
]
"""A rate in a study file that may be left out; times a second once read."""

_BYTES_PARTS = (
    BeforeValidator(_tell_unit(parse_size, "not a size")),
    _describe_text(["B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", *"KMGTkmgt"], "1 GiB"),
)
Bytes = Annotated[int, *_BYTES_PARTS]
"""A size in a study file; bytes once read."""

BytesOrNone = Annotated[int | None, *_BYTES_PARTS]
"""The same where leaving it out has a meaning of its own."""

ShownBytesOrNone = Annotated[
    BytesOrNone,
    PlainSerializer(lambda size: None if size is None else format_size(size), when_used="json"),
]
"""The same, with its unit where a run says what it was asked."""

Scale = Annotated[
    float,
    BeforeValidator(_tell_unit(parse_scale, "not a scale")),
    PlainSerializer(lambda divisor: format_scale(divisor)),
    WithJsonSchema({"type": "string", "pattern": r"^\s*1(\s*/\s*\d+(\.\d+)?)?\s*$"}),
]
"""A scale in a study file, such as 1/8; the divisor once read, and written as in a study."""


def format_duration(seconds: float) -> str:
    """A duration for people: `850 µs`, `12 ms`, `3.4 s`, `2 min 5 s`, `1 h 10 min`, `-12 µs`."""
    return _read_duration(seconds, _round_three_digits)


def format_measured_duration(seconds: float) -> str:
    """One that was measured, with all three digits that it is known to: `12.0 ms`, `3.40 s`."""
    return _read_duration(seconds, _pad_three_digits)


def _read_duration(seconds: float, digits: Callable[[float], str]) -> str:
    # The next unit begins where rounding would reach it: 999.7 ms are 1 s.
    if seconds < 0:
        text = _read_duration(-seconds, digits)
        return text if text.startswith("0 ") else f"-{text}"
    if 0 < seconds < 0.9995e-3:
        return f"{seconds * 1e6:.0f} µs"
    if 0 < seconds < 0.9995:
        return f"{digits(seconds * 1e3)} ms"
    if seconds < 59.95:
        return f"{digits(seconds)} s"
    whole = round(seconds)
    if whole < 3600:
        return _read_pair(whole // 60, "min", whole % 60, "s")
    return _read_pair(whole // 3600, "h", whole % 3600 // 60, "min")


def _read_pair(big: int, big_unit: str, small: int, small_unit: str) -> str:
    return f"{big} {big_unit} {small} {small_unit}" if small else f"{big} {big_unit}"


def format_size(size_bytes: float) -> str:
    """A size for people, in binary units: `384 MiB`, `1.5 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size_bytes < 1024:
            return f"{_round_three_digits(size_bytes)} {unit}"
        size_bytes /= 1024
    return f"{_round_three_digits(size_bytes)} TiB"


def format_rate(per_s: float) -> str:
    """A rate for people: `500/s`, `0.25/s`, `12,000/s`."""
    return f"{per_s:,.0f}/s" if per_s >= 1000 else f"{per_s:.4g}/s"


def format_bit_rate(bits_per_s: float) -> str:
    """A rate of bits for people, which `parse_bit_rate` reads: `1 Gbit/s`, `100 Mbit/s`."""
    fitting = (each for each in BITS_BY_UNIT.values() if bits_per_s >= each)
    factor = next(fitting, BITS_BY_UNIT["kbit/s"])
    unit = next(unit for unit, each in BITS_BY_UNIT.items() if each == factor)
    return f"{bits_per_s / factor:.6g} {unit.capitalize() if factor > 1e3 else unit}"


def format_percent(share: float) -> str:
    """A share of 1 with the digits that a study gave it: `2%`, `1.5%`."""
    return f"{100 * share:.6g}%"


MINUS = "\N{MINUS SIGN}"


def format_share(share: float) -> str:
    """Format a share of 1 as per cent: `97 %`, `0.4 %`; what would round to nothing is `0 %`.

    It is rounded once: 4.529 % is `5 %`.
    """
    value, finer = 100 * share, round(100 * share, 1)
    text = f"{finer:.1f} %" if 0 < abs(finer) < 1 else f"{round(value):,d} %"
    return text.replace("-", MINUS)


def format_list(items: Sequence[str]) -> str:
    """Format names as a sentence has them: `a`, `a and b`, `a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def format_scale(divisor: float) -> str:
    """A scale for people: `1/8`; `1` for the whole thing."""
    return "1" if divisor == 1 else f"1/{divisor:g}"


def _round_three_digits(value: float) -> str:
    return f"{value:.3g}" if value < 99.95 else f"{value:.0f}"


def _pad_three_digits(value: float) -> str:
    """The same, with zeros at the end; nothing is `0`."""
    if value == 0:
        return "0"
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"
