"""Options that the commands of `stithy drive` share, and what is made of them."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from cyclopts import Parameter

from stithy.errors import UserError

Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON document.")]

T = TypeVar("T")


def size(text: str, option: str) -> int:
    """Bytes of an option. Raises UserError."""
    from stithy.units import parse_size

    return _read(parse_size, text, option, "a size")


def seconds(text: str, option: str) -> float:
    """Seconds of an option. Raises UserError."""
    from stithy.units import parse_duration

    return _read(parse_duration, text, option, "a duration")


def share(text: str, option: str) -> float:
    """A share of an option given in percent, 0 to 1; a part of a percent may be given.

    Raises UserError.
    """
    number = text.strip().removesuffix("%").strip()
    try:
        percent = float(number)
    except ValueError:
        percent = -1.0
    if not text.strip().endswith("%") or not 0 <= percent <= 100:
        raise UserError(
            f"{text!r} is not a share", where=option, remedy="give 0% to 100%, such as 10% or 0.1%"
        )
    return percent / 100


def scale(text: str, option: str) -> float:
    """The divisor of an option such as `1/8`. Raises UserError."""
    from stithy.units import parse_scale

    return _read(parse_scale, text, option, "a scale")


def _read(parse: Callable[[object], T], text: str, option: str, what: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise UserError(f"{text!r} is not {what}", where=option, remedy=str(error)) from error
