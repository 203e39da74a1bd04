"""What the values of Vdbench's words mean. What cannot be read raises TextError, for a person."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from stithy.errors import TextError
from stithy.fio.foreign.lines import block_size, parse_count, parse_number, percent
from stithy.fio.foreign.vdbfile import FLAGS

T = TypeVar("T")
VALUES_MOST = 1000
SIZES_MOST = 64
"""Nobody measures more values of a word; fio mixes no more sizes."""

SHARE_ERROR = 0.005
"""How far shares of sizes may miss 1, as in Vdbench."""

SEEKS = {"random": 1.0, "sequential": 0.0, "sequentialnz": 0.0, "seqnz": 0.0, "eof": 0.0, "-1": 0.0}


def list_items(text: str) -> list[str]:
    """The parts of a list, or the only one."""
    return text.strip("()").split(",")


def list_names(text: str) -> Iterator[str]:
    """The names of a list, with those of its ranges: `(sd1,sd3-sd5)`."""
    for item in list_items(text):
        limits = re.fullmatch(r"(.*?)(\d+)-\1(\d+)", item)
        numbers = range(int(limits[2]), int(limits[3]) + 1) if limits else ()
        yield from (f"{limits[1]}{number}" for number in numbers) if limits else [item]


def list_steps(text: str) -> list[float]:
    """`(4k,8k)`, `(100-0,25)` in equal steps, or `(4k-64k,d)` by doubling."""
    numbers: list[float] = []
    parts = iter(list_items(text))
    for part in parts:
        first, dash, last = part.partition("-")
        numbers.append(parse_number(first))
        if dash and not (step := next(parts, "")):
            raise TextError(f"{part!r} has no step, as (1-9,2) or (1-8,d) have one")
        numbers += step_to(parse_number(last), numbers[-1], step) if dash else ()
    if len(numbers) > VALUES_MOST:
        raise TextError(f"{text!r} has more than {VALUES_MOST} values")
    return numbers


def step_to(last: float, number: float, step: str) -> Iterator[float]:
    """What follows the first number of a range: `d` doubles, or halves on the way down."""
    sign = 1 if number <= last else -1
    width = 0.0 if step == "d" else sign * parse_number(step)
    for _ in range(VALUES_MOST + 1):
        number = number * 2.0**sign if step == "d" else number + width
        if (last - number) * sign < 0:
            return
        yield number


def parse_rates(text: str) -> list[float]:
    """Rates in rising order, or shares of the maximum in percent."""
    rates = sorted(set(list_steps(text)))
    if rates[0] <= 0:
        raise TextError("a rate is above 0")
    return rates


def parse_sizes(text: str) -> dict[str, float]:
    """`8k`, `(4k,60,8k,40)`, or `(4k,64k,4k)`: any size between in steps."""
    parts = list_items(text)
    if len(parts) == 3:
        least, most, step = (int(parse_number(part)) for part in parts)
        sizes = [block_size(str(size)) for size in range(least, most + 1, step or most)]
        shares = [1 / len(sizes)] * len(sizes)
    else:
        sizes = [block_size(part) for part in parts[::2]]
        shares = [percent(part) for part in parts[1::2]] if len(parts) > 1 else [1.0]
    if not 0 < len(sizes) <= SIZES_MOST or len(sizes) != len(shares):
        raise TextError(f"{text!r} are not 1 to {SIZES_MOST} sizes with their shares")
    if abs(rest := 1 - sum(shares)) < SHARE_ERROR:
        shares[-1] += rest
    return dict(zip(sizes, shares, strict=True))


def parse_seek(text: str) -> float:
    """The share of random places."""
    if "poisson" in text:
        raise TextError("no profile has a Poisson distribution of places")
    whole = next((word for word in SEEKS if word.startswith(text.lower())), None)
    return percent(text) if whole is None else SEEKS[whole]


def parse_saved(text: str) -> float:
    """The share that a ratio saves."""
    if (ratio := parse_number(text)) < 1:
        raise TextError(f"{text!r} is not a ratio of data to what is stored")
    return 1 - 1 / ratio


def parse_threads(text: str) -> int:
    """`8`, or `(64,4)` for a fourth of 64."""
    threads, *parts = map(parse_count, list_items(text))
    return max(1, threads // (parts[0] if parts else 1))


def is_synced(text: str) -> bool:
    """Whether flags of opening make each write wait for storage."""
    flags = list_items(text.lower())
    if strange := [flag for flag in flags if flag not in FLAGS]:
        raise TextError(f"no profile has the flag {strange[0]!r}")
    return "sync" in map(FLAGS.get, flags)


def parse_range(text: str) -> dict[str, float]:
    """`(40,60)` in percent of the volume."""
    first, last = (*map(parse_number, list_items(text)), 0.0, 0.0)[:2]
    if last > 100:
        why = "bytes are another part of each volume" if last > 200 else "it goes beyond the end"
        raise TextError(f"{why}: give percent from 0 to 100, such as (0,50)")
    if first >= last:
        raise TextError(f"{text!r} is not a begin and an end behind it")
    return {"offset_share": first / 100, "size_share": (last - first) / 100}


def sweep(parse: Callable[[str], T]) -> Callable[[str], list[tuple[str, T]]]:
    """How several values of a word are read, each with its label; a word alone is one."""

    def parse_all(text: str) -> list[tuple[str, T]]:
        if text[0].isalpha():
            return [(text.lower(), parse(text))]
        return [(f"{value:g}", parse(f"{value:.15g}")) for value in list_steps(text)]

    return parse_all


def sweep_sizes(text: str) -> list[tuple[str, dict[str, float]]]:
    """Sizes of all requests, one after the other."""
    sizes = [block_size(f"{value:.0f}") for value in list_steps(text)]
    return [(size.lower(), {size: 1.0}) for size in sizes]


SWEEPS: Mapping[str, Callable[[str], list[tuple[str, Any]]]] = {
    "threads": sweep(parse_count), "xfersize": sweep_sizes, "rdpct": sweep(percent),
    "seekpct": sweep(parse_seek), "compratio": sweep(parse_saved),
}  # fmt: skip
"""What a run may ask for in several values, each with a label for the pattern's name."""
