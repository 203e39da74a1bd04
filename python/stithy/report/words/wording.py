"""Numbers and lists as people read them, the same everywhere on the page."""

from collections.abc import Sequence

from stithy.metrics import Unit
from stithy.units import format_duration, format_measured_duration, format_size

# A thin space between a number and what belongs to it would be finer, but copies badly.
DASH = "–"


def count(number: float) -> str:
    """A whole number with thousands set apart: `14,178`."""
    return f"{number:,.0f}"


def times(ratio: float) -> str:
    """A factor with the digits that one window supports: `1.08`, `3.1`, `12`."""
    if ratio >= 10:
        return f"{ratio:,.0f}"
    return f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"


def finely(ratio: float) -> str:
    """A factor near 1, with a digit more than `times` has: `0.986`, `1.012`."""
    return f"{ratio:.3f}"


def percent(share: float) -> str:
    """A share of 1 as per cent: `97 %`, `0.4 %`; what would round to nothing is `0 %`."""
    value = round(share * 100, 1) or 0.0  # never -0
    return f"{value:.1f} %" if 0 < abs(value) < 1 else f"{value:.0f} %"


def exactly(share: float) -> str:
    """A share that a study gave, with all its digits: `2 %`, `1.5 %`."""
    return f"{100 * share:.6g} %"


def signed_percent(share: float) -> str:
    """A difference as per cent, with its sign: `+3 %`, `-0.4 %`, `0 %`."""
    text = percent(share)
    return f"+{text}" if share > 0 and text != "0 %" else text


def chance(share: float) -> str:
    """How often chance alone does something: `12.5 %`, `0.4 %`, `< 0.1 %`."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.1f} %"


def duration(seconds: float) -> str:
    """A duration that somebody gave: `10 ms`, `2 min 5 s`."""
    return format_duration(seconds)


def took(seconds: float) -> str:
    """A duration that was measured: `10.0 ms`, `4.15 ms`, `850 µs`."""
    return format_measured_duration(seconds)


def measured(value: float, unit: Unit) -> str:
    """A value in its unit: `7.20 ms`, `5,000/min`, `64 MiB/s`, `90 %`, `3.2`."""
    if unit == "s":
        return took(value)
    if unit in ("B", "B/s"):
        return f"{format_size(value)}{unit.removeprefix('B')}"
    if unit == "share":
        return f"{100 * value:.3g} %"
    return f"{rate(value)}{unit.removeprefix('1')}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """`1 window`, `2 windows`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listing(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def rate(value: float) -> str:
    """A number of any size with three digits at least: `0.25`, `5.72`, `48.1`, `1,204`."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
