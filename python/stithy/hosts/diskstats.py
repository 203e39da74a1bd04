"""What the kernel counts of each block device, from the text of /proc/diskstats."""

from collections.abc import Sequence
from dataclasses import dataclass

SECTOR_BYTES = 512
MS_PER_S = 1000

JUDGED = ("read", "write", "flush")
"""What a device's times are told of."""


@dataclass(frozen=True)
class Counters:
    """One line of /proc/diskstats; by kind: requests, bytes, milliseconds. Absent: not counted."""

    requests: dict[str, int]
    bytes: dict[str, int]
    ms: dict[str, int]
    busy_ms: int
    weighted_ms: int


def parse(text: bytes, names: Sequence[bytes] | None = None) -> dict[str, Counters]:
    """Counters of the named devices; without names of all.

    After major, minor, name: reads, merged, sectors, ms; writes, merged, sectors, ms; in flight,
    busy ms, weighted ms; since 4.18 discards, merged, sectors, ms; since 5.5 flushes, ms.
    Source: Documentation/admin-guide/iostats.rst of Linux.
    """
    found = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 14 and (names is None or fields[2] in names):
            found[fields[2].decode()] = _counters([int(each) for each in fields[3:]])
    return found


def growth(before: int, after: int) -> int:
    """Growth of a counter; one that was reset (a device made anew) has grown by nothing known."""
    return max(0, after - before)


def mean_times_s(before: Counters, after: Counters, writes: int) -> dict[str, float | None]:
    """Mean time of reads, writes and flushes that ended between two readings, queue included.

    A flush that carries no data is counted twice: as the flush, and as a write of no sectors that
    takes at least as long. `writes` is how many writes the device itself served; what the kernel
    counts beyond, up to the number of flushes, is taken out of the writes with its time. None
    where there were none.
    Source: block/blk-flush.c and blk_account_io_done of Linux.
    """
    counts, ms = {}, {}
    for kind in JUDGED:
        if kind in before.requests and kind in after.requests:
            counts[kind] = growth(before.requests[kind], after.requests[kind])
            ms[kind] = float(growth(before.ms[kind], after.ms[kind]))
    flushes = counts.get("flush", 0)
    empty = min(max(0, counts.get("write", 0) - writes), flushes)
    if empty:
        counts["write"] -= empty
        ms["write"] = max(0.0, ms["write"] - empty * ms["flush"] / flushes)
    return {kind: ms[kind] / MS_PER_S / n if n else None for kind, n in counts.items()}


def _counters(field: list[int]) -> Counters:
    requests = {"read": field[0], "write": field[4]}
    sectors = {"read": field[2], "write": field[6]}
    ms = {"read": field[3], "write": field[7]}
    if len(field) >= 15:
        requests["discard"], sectors["discard"], ms["discard"] = field[11], field[13], field[14]
    if len(field) >= 17:
        requests["flush"], ms["flush"] = field[15], field[16]
    size_bytes = {kind: count * SECTOR_BYTES for kind, count in sectors.items()}
    return Counters(requests, size_bytes, ms, busy_ms=field[9], weighted_ms=field[10])
