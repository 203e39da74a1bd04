"""Options that the commands of `stithy drive` share, and what is made of them."""

from stithy.cli.talk.options import read
from stithy.errors import UserError


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

    return read(parse_scale, text, option, "a scale")
