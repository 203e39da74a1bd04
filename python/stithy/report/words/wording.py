"""Numbers, quantities and lists as people read them, the same everywhere on the page.

How a quantity of two candidates is said: work is counted, times are long, all else is much.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from stithy.analysis.effect import Paired
from stithy.analysis.gathering import MedianBlock
from stithy.analysis.statistics import BLOCKS_LEAST
from stithy.analysis.verdict import Verdict
from stithy.metrics import ALL, Metric, Quantity, Unit
from stithy.statements import Statement, Styled
from stithy.thresholds import format_decimal
from stithy.units import MINUS, format_list, format_measured_duration, format_share, format_size

# A thin space between a number and what belongs to it would be finer, but copies badly.
DASH = "–"


def format_count(number: float) -> str:
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


def name_upper_bound(blocks: Iterable[int]) -> str:
    """The heading of the upper bounds of ratios that rest on so many blocks each."""
    known = [count for count in blocks if count > 1]
    if known and min(known) >= BLOCKS_LEAST:
        return f"to ({CONSERVATIVE})"
    if not known or max(known) < BLOCKS_LEAST:
        return f"to (plain {T_INTERVAL})"
    return f"to (95 %, conservative from {BLOCKS_LEAST} blocks on)"


def format_times(ratio: float) -> str:
    """A factor with the digits that one window supports: `1.08`, `3.1`, `12`, `0.042`."""
    if not RATIO_LEAST <= ratio <= RATIO_MOST:
        return _format_beyond(ratio)
    if ratio >= 10:
        return f"{ratio:,.0f}"
    if ratio < NEAR_SHARE:
        return f"{ratio:.2g}"
    return f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"


def format_in_table(ratio: float) -> str:
    """A factor in a column of others: `1.08`, `3.09`, `12.40`."""
    return f"{ratio:.2f}" if NEAR_SHARE <= ratio < 100 else format_times(ratio)


def format_finely(ratio: float) -> str:
    """A factor with a digit more than `format_times`; one beside 1 never reads as 1: `1.0004`."""
    if not RATIO_LEAST <= ratio <= RATIO_MOST:
        return _format_beyond(ratio)
    if ratio >= 100:
        return f"{ratio:,.0f}"
    if ratio < NEAR_SHARE:
        return f"{ratio:.3g}"
    return f"{ratio:.{count_decimals(ratio)}f}"


def format_factor(ratio: float) -> str:
    """A factor as a claim has it: near 1 with the digits that tell it from 1."""
    return format_times(ratio) if abs(ratio - 1) >= NEAR_SHARE else format_finely(ratio)


def format_multiple(ratio: float, less: str) -> str:
    """A factor with its "times"; a small one turned: `3.1 times`, `171 times shorter`.

    `less`: what a thing is that has so small a part. Own: nobody reads 0.0058 times.
    """
    if ratio >= NEAR_SHARE or ratio * RATIO_MOST < 1:
        return f"{format_factor(ratio)} times"
    return f"{format_factor(1 / ratio)} times {less}"


def count_decimals(ratio: float) -> int:
    """As many decimals as tell a ratio from 1: three, unless it is nearer to it."""
    wanted = range(DECIMALS_NEAR, DECIMALS_MOST)
    return next((each for each in wanted if ratio == 1 or round(ratio, each) != 1), DECIMALS_MOST)


def _format_beyond(ratio: float) -> str:
    """`under 0.001`, `over 1,000,000`; 0 as it is."""
    if ratio > RATIO_MOST:
        return f"over {RATIO_MOST:,.0f}"
    return f"under {RATIO_LEAST:g}" if ratio > 0 else f"{ratio:.3f}"


def format_at_most(share: float) -> str:
    """A share as per cent, of which is said that nothing was more: never rounded down."""
    steps = 10 if share < 0.01 else 1
    return format_share(math.ceil(100 * steps * share - 1e-9) / steps / 100)


def format_times_at_most(ratio: float) -> str:
    """A factor of 1 or more, of which is said that nothing was more: never rounded down."""
    steps = 100 if ratio < 2 else 10 if ratio < 10 else 1
    return format_times(math.ceil(steps * ratio - 1e-9) / steps)


def format_exactly(share: float) -> str:
    """A share that a study gave, with all its digits: `2 %`, `1.5 %`."""
    return f"{100 * share:.6g} %"


def format_signed_share(share: float) -> str:
    """A difference as per cent, with its sign: `+3 %`, `−0.4 %`, `0 %`."""
    text = format_share(share)
    return f"+{text}" if share > 0 and text != "0 %" else text


def format_chance(share: float) -> str:
    """How often chance alone does something: `12.5 %`, `0.4 %`, `< 0.1 %`."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.1f} %"


def format_measured(value: float, unit: Unit) -> str:
    """A value in its unit: `7.20 ms`, `5,000/min`, `64 MiB/s`, `90 %`, `3.2`."""
    if unit == "s":
        return format_measured_duration(value)
    if unit in ("B", "B/s"):
        return f"{format_size(value)}{unit.removeprefix('B')}"
    if unit == "share":
        return f"{100 * value:.3g} %"
    if unit in ("W", "J"):
        return f"{format_number(value)} {unit}"
    return f"{format_number(value)}{unit.removeprefix('1')}"


def format_plural(number: int, one: str, many: str | None = None) -> str:
    """`1 window`, `2 windows`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def choose_form(number: int, one: str, many: str) -> str:
    """The word that goes with so many: `was` or `were`."""
    return one if number == 1 else many


def begin_sentence(words: str) -> str:
    """As a sentence or a title begins."""
    return f"{words[0].upper()}{words[1:]}"


def join_texts(
    texts: Sequence[str], number: re.Pattern[str], span: Callable[[Sequence[Any]], str]
) -> str:
    """What texts say that differ in these numbers alone: the first, with spans in their places."""
    columns = zip(*(number.findall(text) for text in texts), strict=True)
    spans = iter([span(column) for column in columns])
    return number.sub(lambda _: next(spans), texts[0])


def format_number(value: float) -> str:
    """A number of any size with three digits at least: `0.25`, `5.72`, `48.1`, `1,204`."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return format(Decimal(f"{value:.3g}"), "f")  # never with an exponent


DIGITS_MOST = 17
"""Own: as many as tell any two numbers apart."""


def format_money(amount: float) -> str:
    """Format an amount of money: to the hundredth below 10,000, and small ones by their digits."""
    if 0.1 <= abs(amount) < 10_000:
        return f"{amount:,.2f}"
    return format_number(amount)


def format_apart(left: float, right: float, unit: Unit) -> tuple[str, str]:
    """Both in the unit itself, with the fewest digits from four on with which they differ.

    They must differ; a share stays a share of 1.
    """
    digits = range(4, DIGITS_MOST + 1)
    both = (
        (_format_exact(left, unit, digit), _format_exact(right, unit, digit)) for digit in digits
    )
    return next(each for each in both if each[0] != each[1])


def _format_exact(value: float, unit: Unit, digits: int) -> str:
    short = format_decimal(float(f"{value:.{digits}g}"))
    if unit in ("1/min", "1/s"):
        return f"{short}{unit.removeprefix('1')}"
    return f"{short} {unit}" if unit in ("s", "B", "B/s", "W", "J") else short


def format_quantity(quantity: Quantity, number: float) -> str:
    """A number with its unit, which what is counted a minute has in its name."""
    unit = quantity.known.unit
    return format_count(number) if unit == "1/min" else format_measured(number, unit)


def format_both(quantity: Quantity, numbers: tuple[float, float]) -> tuple[str, str]:
    """Two numbers with their unit, and so many digits that those which differ read so."""
    first, second = (format_quantity(quantity, number) for number in numbers)
    if first != second or numbers[0] == numbers[1]:
        return first, second
    unit = quantity.known.unit
    if unit == "share":
        first, second = format_apart(100 * numbers[0], 100 * numbers[1], "")
        return f"{first} %", f"{second} %"
    first, second = format_apart(*numbers, unit)
    return first.removesuffix("/min"), second.removesuffix("/min")


def format_signed(quantity: Quantity, number: float) -> str:
    """A difference with its sign and unit: `+9,585`, `−107 ms`, `+12 percentage points`."""
    sign = MINUS if number < 0 else "+"
    if quantity.known.unit == "share":
        return f"{sign}{100 * abs(number):.3g} percentage points"
    return f"{sign}{format_quantity(quantity, abs(number))}"


def name_briefly(quantity: Quantity) -> str:
    """In a short sentence: `new orders per minute`, `p95 response time`, `p95 of new-order`."""
    if quantity.known.source != "transactions" or quantity.known.percent is None:
        return quantity.noun
    of = quantity.of if quantity.of not in (None, ALL) else None
    return f"{quantity.known.label} of {of}" if of else f"{quantity.known.label} response time"


def describe_ratio(
    quantity: Quantity, who: str, ratio: float, of: str = "", *, bound: str = ""
) -> str:
    """That `who`, or `it`, has `ratio` times what the other has, whose name may be left out.

    `bound`: `at least ` or `at most `, where the ratio is one. A small ratio is turned, which turns
    its bound as well: at most 0.01 times is at least 100 times less.
    """
    is_counted, is_time = _is_counted(quantity.known), quantity.known.unit == "s"
    less = "fewer" if is_counted else "shorter" if is_time else "less"
    times = Styled(ratio, format_multiple(ratio, less))
    if is_turned := times.text.endswith(less):
        bound = {"at least ": "at most ", "at most ": "at least "}.get(bound, bound)
    than = "than" if is_turned else "as"
    if is_counted:
        work = quantity.noun.removesuffix(" per minute")
        much = f"{'' if is_turned else ' as many'} {work}"
        to = f" {than} {of}" if of else ""
        return Statement(
            f"{{who}} completed {bound}{{times}}{much}{{to}}", who=who, times=times, to=to
        )
    whose, verb = "its" if who == "it" else "the", _choose_verb(quantity.known)
    on = "" if who == "it" else f" on {who}"
    much = "" if is_turned else " as long" if is_time else " as much"
    of = f" {than} on {of}" if of else ""
    return Statement(
        f"{whose} {{brief}}{{on}} {verb} {bound}{{times}}{much}{{to}}",
        brief=name_briefly(quantity), on=on, times=times, to=of,
    )  # fmt: skip


def describe_difference(quantity: Quantity, who: str, difference: float, of: str = "") -> str:
    """That `who`, or `it`, has so much more or less than the other, whose name may be left out."""
    unit = quantity.known.unit
    more, less = ("longer", "shorter") if unit == "s" else ("more", "less" if unit else "fewer")
    whose, on = ("its", "") if who == "it" else ("the", f" on {who}")
    size = abs(difference)
    much = Statement(
        f"{{less}} {more if difference > 0 else less}",
        less=Styled(size, format_quantity(quantity, size)),
    )
    than = f" than on {of}" if of else ""
    verb = "was" if unit in ("s", "share") else "came to"
    if not difference:
        return f"{whose} {name_briefly(quantity)}{on} {verb} the same{f' as on {of}' if of else ''}"
    return Statement(
        "{whose} {brief}{on} {verb} {much}{than}", whose=whose, brief=name_briefly(quantity),
        on=on, verb=verb, much=much, than=than,
    )  # fmt: skip


def format_margin(quantity: Quantity, verdict: Verdict) -> str:
    """What counts as negligible: `2 %`, or in the unit of a metric compared as a difference."""
    least = verdict.negligible
    return (
        format_exactly(verdict.margin_share) if least is None else format_quantity(quantity, least)
    )


def describe_values(quantity: Quantity, of: tuple[str, str], numbers: tuple[float, float]) -> str:
    """What each of two candidates has."""
    first, second = format_both(quantity, numbers)
    verb = "were" if _is_counted(quantity.known) else _choose_verb(quantity.known)
    return Statement(
        "the {noun} {verb} {value_b} on {b} and {value_a} on {a}", noun=quantity.noun, verb=verb,
        b=of[0], a=of[1], value_b=Styled(numbers[0], first), value_a=Styled(numbers[1], second),
    )  # fmt: skip


def _is_counted(metric: Metric) -> bool:
    return metric.source == "window" and metric.unit != "s"


def _choose_verb(metric: Metric) -> str:
    """Times and shares are one thing; reads per second are many."""
    return "was" if metric.unit in ("s", "share") else "came to"


def describe_block(block: MedianBlock) -> str:
    """`block 2, the median of 6 by new orders per minute`; `the only block`."""
    again = ", measured again" if block.attempt else ""
    if block.among < 2 or block.value is None:
        return f"block {block.number}{again}"
    among = format_plural(block.among, "block").removesuffix(" blocks")
    return f"block {block.number}{again}, the median of {among} in {block.metric.noun}"


_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")


def explain_missing(known: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A sentence for each reason, of names and reasons: `Missing for a and b: p95 (…).`

    Reasons that differ in their numbers alone are one, from the least to the greatest.
    """
    alike: dict[str, list[tuple[str, str]]] = {}
    for name, because in known:
        alike.setdefault(_NUMBER.sub("", because), []).append((name, because))
    for pairs in alike.values():
        names = list(dict.fromkeys(name for name, _ in pairs))
        because = join_texts([each for _, each in pairs], _NUMBER, _join_span)
        yield f"Missing for {format_list(names)}: {because}"


def _join_span(numbers: Sequence[str]) -> str:
    ordered = sorted(numbers, key=lambda number: float(number.replace(",", "")))
    return format_range(ordered[0], ordered[-1])


def format_range(least: str, most: str) -> str:
    """`10 % to 20 %`; one of two that read alike."""
    return least if least == most else f"{least} to {most}"


def format_bounds(low: float | None, high: float | None, shown: Callable[[float], str]) -> str:
    """The ends of an interval, to follow its value: ` (0.97 to 1.04)`; empty without them."""
    return "" if low is None or high is None else f" ({shown(low)} to {shown(high)})"


def explain_pooled(every: Iterable[Mapping[Quantity, Paired]]) -> str | None:
    """Of which percentiles that is so, and where their intervals come from; None of none."""
    pooled = [quantity.label for each in every for quantity, of in each.items() if of.pooled]
    if not pooled:
        return None
    return (
        f"Windows have too few values for {format_list(list(dict.fromkeys(pooled)))}, so it is "
        "that of all blocks together. Its interval rests on what changes if each block is left "
        "out (jackknife)."
    )


def format_moment(unix_s: float) -> str:
    """A Unix time for people, in UTC: `2026-11-21 00:16:27 UTC`."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
