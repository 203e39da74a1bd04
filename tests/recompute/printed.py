"""Numbers as they are printed: found in a text, and held against a value."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

UNITS = {
    "": 1.0, "%": 0.01, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0,
    "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
    "MB/s": 1.0, "/s": 1.0, "/min": 1.0, "W": 1.0, "J": 1.0,
}  # fmt: skip
ONE = (
    r"(?<![\w.⁄/])(?<![^\s(]-)(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\w|/\d)"
    r"(?:[ \N{NO-BREAK SPACE}](?:%|µs|ms|s|min|h|(?:[KMGT]i)?B(?:/s)?|MB/s|W|J)(?!\w)"
    r"|/(?:s|min)(?!\w))?"
)
NUMBER = rf"{ONE}(?:(?<=min) \d+ s|(?<= h) \d+ min)?"
_PARTS = re.compile(r"([\d,]+(?:\.\d+)?)[ \N{NO-BREAK SPACE}]?(\D*)")


@dataclass(frozen=True)
class Shown:
    """A number of a text: where it stands, its value, and by how much rounding may be off."""

    start: int
    end: int
    value: float
    off: float

    def is_of(self, value: float | None) -> bool:
        """Whether it is this value, rounded to the digits that are shown, up or down."""
        return value is not None and math.isfinite(value) and (
            abs(self.value - abs(value)) <= self.off * 0.5001 + 1e-12 * abs(value)
        )  # fmt: skip


def shown(text: str) -> Iterator[Shown]:
    """The numbers of a text, each with its unit; those within names and words are none."""
    for found in re.finditer(NUMBER, text):
        value = off = 0.0
        for number, unit in _PARTS.findall(found[0]):
            size = UNITS.get(unit.strip()) or UNITS[unit.strip().removesuffix("/s")]
            value += float(number.replace(",", "")) * size
            off = size * 0.1 ** len(number.partition(".")[2])
        yield Shown(*found.span(), value, off)


def is_at(text: str, one: Shown, value: float | None) -> bool:
    """Whether a number of a cell is this value, or a bound below which it lies."""
    below = text.lstrip("\\").startswith("<") and value is not None and value < one.value <= 0.001
    return below or one.is_of(value)


def is_shown_as(text: str, value: float) -> bool:
    """Whether a text is nothing but this number."""
    found = list(shown(text.strip()))
    return len(found) == 1 and is_at(text, found[0], value) and found[0].end == len(text.strip())
