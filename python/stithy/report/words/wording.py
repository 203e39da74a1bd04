"""Numbers and lists as people read them, the same everywhere on the page."""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

from stithy.analysis.verdict.boundaries import BLOCKS_LEAST
from stithy.metrics import Unit
from stithy.units import format_duration, format_measured_duration, format_size

# A thin space between a number and what belongs to it would be finer, but copies badly.
DASH = "–"


def count(number: float) -> str:
    """A whole number with thousands set apart: `14,178`."""
    return f"{number:,.0f}"


RATIO_LEAST, RATIO_MOST = 0.001, 1e6
"""Own: beyond these a ratio has no digits that anybody would read; it is told to lie beyond."""

NEAR_SHARE, DECIMALS_NEAR, DECIMALS_MOST = 0.1, 3, 6
"""Own: so near to 1 a factor is written with more decimals, until it does not read as 1."""


CONSERVATIVE = "conservative 95 %"
"""The interval that decides: from four blocks on, and wider than the plain one."""

T_INTERVAL = "95 % t"
"""The interval for who looks once."""


def upper_bound(blocks: Iterable[int]) -> str:
    """The heading of the upper bounds of ratios that rest on so many blocks each."""
    known = [count for count in blocks if count > 1]
    if known and min(known) >= BLOCKS_LEAST:
        return f"to ({CONSERVATIVE})"
    if not known or max(known) < BLOCKS_LEAST:
        return f"to (plain {T_INTERVAL})"
    return f"to (95 %, conservative from {BLOCKS_LEAST} blocks on)"


def times(ratio: float) -> str:
    """A factor with the digits that one window supports: `1.08`, `3.1`, `12`, `0.042`."""
    if not RATIO_LEAST <= ratio <= RATIO_MOST:
        return _beyond(ratio)
    if ratio >= 10:
        return f"{ratio:,.0f}"
    if ratio < NEAR_SHARE:
        return f"{ratio:.2g}"
    return f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"


def in_table(ratio: float) -> str:
    """A factor in a column of others: `1.08`, `3.09`, `12.40`."""
    return f"{ratio:.2f}" if NEAR_SHARE <= ratio < 100 else times(ratio)


def finely(ratio: float) -> str:
    """A factor with a digit more than `times` has; one beside 1 never reads as 1: `1.0004`."""
    if not RATIO_LEAST <= ratio <= RATIO_MOST:
        return _beyond(ratio)
    if ratio >= 100:
        return f"{ratio:,.0f}"
    if ratio < NEAR_SHARE:
        return f"{ratio:.3g}"
    return f"{ratio:.{decimals_beside_one(ratio)}f}"


def factor(ratio: float) -> str:
    """A factor as a claim has it: near 1 with the digits that tell it from 1."""
    return times(ratio) if abs(ratio - 1) >= NEAR_SHARE else finely(ratio)


def decimals_beside_one(ratio: float) -> int:
    """As many decimals as tell a ratio from 1: three, unless it is nearer to it."""
    wanted = range(DECIMALS_NEAR, DECIMALS_MOST)
    return next((each for each in wanted if ratio == 1 or round(ratio, each) != 1), DECIMALS_MOST)


def _beyond(ratio: float) -> str:
    """`under 0.001`, `over 1,000,000`; 0 as it is."""
    if ratio > RATIO_MOST:
        return f"over {RATIO_MOST:,.0f}"
    return f"under {RATIO_LEAST:g}" if ratio > 0 else f"{ratio:.3f}"


def at_most(share: float) -> str:
    """A share as per cent, of which is said that nothing was more: never rounded down."""
    steps = 10 if share < 0.01 else 1
    return percent(math.ceil(100 * steps * share - 1e-9) / steps / 100)


def times_at_most(ratio: float) -> str:
    """A factor of 1 or more, of which is said that nothing was more: never rounded down."""
    steps = 100 if ratio < 2 else 10 if ratio < 10 else 1
    return times(math.ceil(steps * ratio - 1e-9) / steps)


def percent(share: float) -> str:
    """A share of 1 as per cent: `97 %`, `0.4 %`; what would round to nothing is `0 %`.

    It is rounded once: 4.529 % is `5 %`.
    """
    value, finer = 100 * share, round(100 * share, 1)
    if 0 < abs(finer) < 1:
        return f"{finer:.1f} %"
    return f"{round(value):d} %"


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
    return format(Decimal(f"{value:.3g}"), "f")  # never with an exponent
