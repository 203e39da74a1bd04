"""What texts of a report must say, worked out of the run's files by SQL and plain Python.

A window is taken for valid where it has no errors: the runs that are asked have no other flaw.
"""

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median

from support.plain_sql import rows

CRITICAL = {2: 12.7062, 3: 4.30265, 4: 5.54 * 1.3}
"""Of the interval, by blocks: Student's t at 97.5 %, then docs/explanation/verdicts.md."""

UNITS = {
    "": 1.0, "%": 0.01, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
}  # fmt: skip
_NUMBER = re.compile(
    r"(?<![\w.⁄/-])((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(?!\w|/\d)"
    r"(?:[ \N{NO-BREAK SPACE}](%|µs|ms|s|min|[KMG]iB)(?!\w))?"
)

Ratio = tuple[float, float, float]
"""A ratio with the bounds of its interval."""


def numbers(text: str) -> list[str]:
    """The numbers of a text in their order, each with its unit: `13`, `3.1`, `406 ms`, `8 %`.

    Those within names and words (`p95`, `95th`, `10⁶`, `1/8`) are none.
    """
    return [" ".join(part for part in found if part) for found in _NUMBER.findall(text)]


def tells(shown: str, value: float) -> bool:
    """Whether a number as it is shown is this value, rounded to the digits that are shown."""
    number, _, unit = shown.replace("\N{NO-BREAK SPACE}", " ").partition(" ")
    places, size = len(number.partition(".")[2]), UNITS[unit]
    # What lies between two roundings may be shown as either.
    off = abs(float(number.replace(",", "")) * size - value)
    return off <= 0.5001 * size * 0.1**places


def assert_told(text: str, expected: Iterable[float]) -> None:
    """Fail unless the numbers of the text are these, all of them, in this order."""
    found, values = numbers(text), list(expected)
    told = [tells(shown, value) for shown, value in zip(found, values, strict=False)]
    assert len(found) == len(values), (text, found, values)
    assert all(told), (text, found, values)


def of_windows(root: Path, value: str, users: int, name: str) -> list[float]:
    """A value of the valid windows of a candidate at a level, by block."""
    query = f"SELECT {value} FROM win WHERE users = {users} AND candidate = '{name}' AND errors = 0 ORDER BY block"  # noqa: E501 one query
    return [row[0] for row in rows(root, query)]


def level_mean(root: Path, value: str, users: int, name: str) -> float:
    """The mean of these."""
    return fmean(of_windows(root, value, users, name))


def times_of(root: Path, percentile: str, users: int, name: str, kind: str = "all") -> list[float]:
    """A percentile of response time of the valid windows of a candidate at a level, seconds."""
    query = f"SELECT response_{percentile}_s FROM answered WHERE users = {users} AND candidate = '{name}' AND transaction = '{kind}' AND failed = 0 ORDER BY block"  # noqa: E501 one query
    return [row[0] for row in rows(root, query)]


def level_time_s(root: Path, percentile: str, users: int, name: str, kind: str = "all") -> float:
    """That of the median window, as the runs that are asked have no logs to merge."""
    return median(times_of(root, percentile, users, name, kind))


NEEDED = {"p50": 200, "p95": 2_000, "p99": 10_000}
"""How many values a percentile needs for a hundred to lie beyond it."""


def printed_time_s(
    root: Path, percentile: str, users: int, name: str, kind: str = "all"
) -> float | None:
    """The same as it is printed: None with fewer values than the percentile needs."""
    query = f"SELECT SUM(committed + rolled_back) FROM answered WHERE users = {users} AND candidate = '{name}' AND transaction = '{kind}' AND failed = 0"  # noqa: E501 one query
    enough = rows(root, query)[0][0] >= NEEDED[percentile]
    return level_time_s(root, percentile, users, name, kind) if enough else None


def ratio_of(above: Sequence[float], below: Sequence[float]) -> Ratio:
    """The geometric mean of the ratios of the blocks, with its interval; of one block without."""
    logs = [math.log(a / b) for a, b in zip(above, below, strict=True)]
    mean, count = fmean(logs), len(logs)
    if count < 2:
        return math.exp(mean), math.nan, math.nan
    error = math.sqrt(sum((each - mean) ** 2 for each in logs) / (count - 1) / count)
    half = CRITICAL[count] * error
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def difference_of(above: Sequence[float], below: Sequence[float]) -> Ratio:
    """The mean of the differences of the blocks with its interval, without signs."""
    apart = [a - b for a, b in zip(above, below, strict=True)]
    mean, count = fmean(apart), len(apart)
    error = math.sqrt(sum((each - mean) ** 2 for each in apart) / (count - 1) / count)
    half = CRITICAL[count] * error
    return abs(mean), abs(mean - half), abs(mean + half)


def sampled(root: Path, users: int, name: str, what: str, value: str = "AVG(value)") -> list[float]:
    """A value over the samples `what` of each valid window of a candidate at a level, by block."""
    query = (
        f"SELECT {value} FROM measured WHERE {what} AND users = {users} AND candidate = '{name}' "
        "AND window_id IN (SELECT window_id FROM win WHERE errors = 0) GROUP BY block "
        "ORDER BY block"
    )
    return [row[0] for row in rows(root, query)]


def weighted_s(root: Path, users: int, name: str, operation: str) -> list[float]:
    """The mean latency of the devices in each window, every second weighted by its operations."""
    query = (
        "SELECT SUM(l.value * r.value) / SUM(r.value) FROM measured l JOIN measured r "
        "ON l.window_id = r.window_id AND l.at_s = r.at_s AND l.subject = r.subject "
        f"WHERE l.metric = '{operation}_latency_s' AND r.metric = '{operation}s_per_s' "
        f"AND l.collector = 'block' AND r.collector = 'block' "
        f"AND l.users = {users} AND l.candidate = '{name}' GROUP BY l.block ORDER BY l.block"
    )
    return [row[0] for row in rows(root, query.replace("flushs_per_s", "flushes_per_s"))]
