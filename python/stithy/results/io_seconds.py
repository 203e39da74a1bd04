"""What fio answered second by second, all streams and directions of a window together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class IoSecond:
    """One second of fio: requests answered, and their mean latency.

    A second without an answer has 0 requests and no latency.
    """

    second: int
    requests: int
    mean_s: float | None


def io_seconds(rows: Sequence[dict[str, Any]]) -> list[IoSecond]:
    """Rows of the table `io_seconds`, summed by second, from 0 to the last second of any stream.

    Mean latencies are weighted by requests. Where one is missing, that of the second is.
    """
    found: dict[int, list[tuple[int, float | None]]] = {}
    for row in rows:
        if row["requests"]:
            found.setdefault(row["second"], []).append((row["requests"], row["latency_mean_s"]))
    last = max((row["second"] for row in rows), default=-1)
    return [_io_second(second, found.get(second, [])) for second in range(last + 1)]


def _io_second(second: int, parts: Sequence[tuple[int, float | None]]) -> IoSecond:
    requests = sum(count for count, _ in parts)
    waited = [count * mean_s for count, mean_s in parts if mean_s is not None]
    is_whole = bool(parts) and len(waited) == len(parts)
    return IoSecond(second, requests, sum(waited) / requests if is_whole else None)
