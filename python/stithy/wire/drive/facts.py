"""What is told of a drive that is up, and of what it did. Types here decide nothing."""

from stithy.wire.drive.jobs import DriveBacking
from stithy.wire.jobs import U32, U64, Wire
from stithy.wire.messages import Percentiles


class DriveFacts(Wire):
    """A drive that is up.

    `profile` is its profile's name, None where it takes no time. `volatile_bytes` a power cut may
    take away of answered writes at most, None: nothing. `transport` is how requests reach it,
    `transport_s` the time of that, by which answers are made earlier. `paced`: requests take the
    profile's time.
    """

    drive: str
    device: str
    size_bytes: U64
    sector_bytes: U32
    backing: DriveBacking
    profile: str | None
    scale: float
    volatile_bytes: U64 | None
    transport: str
    transport_s: float
    spin_s: float
    paced: bool


class OperationCounters(Wire):
    """One operation of a drive: `read`, `write`, `flush` or `discard`.

    `answered` includes the errors; `latency` is what profile and faults gave,
    and the lateness; `given_mean_s` its mean without the lateness, `earlier_mean_s` the mean of how
    much earlier than that answers were due, for the way through the kernel: None where none was
    answered.
    """

    name: str
    answered: U64
    moved_bytes: U64
    errors: U64
    latency: Percentiles
    given_mean_s: float | None
    earlier_mean_s: float | None


class DriveCounters(Wire):
    """What a drive did in the `duration_s` from `at_s` on.

    `depth` counts requests under way at the end, `depth_max` the most at once. `cache_fill_bytes`
    is None where the drive has no cache; `volatile_bytes` a power cut could take away. `late` is
    how much later than due answers were given, `late_answers` counts those late by more than 5% of
    the time they were due to take and by more than 50 µs: the emulation's own fault. `cpu_s` is
    the CPU time of the drive's thread, `cpu_wait_s` how long it waited for a CPU; None where the
    kernel does not tell. `paced`: requests take the profile's time, at the end.
    """

    drive: str
    at_s: float
    duration_s: float
    operations: tuple[OperationCounters, ...]
    depth: U64
    depth_max: U64
    cache_fill_bytes: U64 | None
    volatile_bytes: U64
    late: Percentiles
    late_answers: U64
    cpu_s: float | None
    cpu_wait_s: float | None
    paced: bool
