"""Counters of an emulated drive, as its program tells them."""

from stithy.wire.drive.messages import DriveCounters, OperationCounters
from stithy.wire.messages import Percentiles

OPERATIONS = ("read", "write", "flush", "discard")


def times(count: int = 0, mean_s: float | None = None) -> Percentiles:
    """Times of which only number and mean are known."""
    return Percentiles(
        count=count, mean_s=mean_s, min_s=None, p50_s=None, p90_s=None, p95_s=None, p99_s=None,
        p999_s=None, max_s=None,
    )  # fmt: skip


def counters(
    drive: str = "data",
    *,
    answered: int = 0,
    moved_bytes: int = 0,
    latency: tuple[int, float] | None = None,
    given_mean_s: float | None = None,
    late: tuple[int, float] | None = None,
    late_answers: int = 0,
    cpu_s: float | None = None,
    energy_j: float | None = None,
    paced: bool = True,
) -> DriveCounters:
    """A drive that did the same of each operation; `latency` and `late`: number and mean."""
    operations = tuple(
        OperationCounters(
            name=name, answered=answered, moved_bytes=moved_bytes, errors=0,
            latency=times(*latency) if latency else times(), given_mean_s=given_mean_s,
            earlier_mean_s=None,
        )
        for name in OPERATIONS
    )  # fmt: skip
    return DriveCounters(
        drive=drive, at_s=0.0, duration_s=1.0, operations=operations, depth=3, depth_max=5,
        cache_fill_bytes=None, volatile_bytes=0, late=times(*late) if late else times(),
        late_answers=late_answers, cpu_s=cpu_s, cpu_wait_s=None,
        energy_j=energy_j, paced=paced,
    )  # fmt: skip
