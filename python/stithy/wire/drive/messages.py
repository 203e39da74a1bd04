"""What the drive program answers, and what is said over its control socket, a line each.

Types here decide nothing.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from stithy.wire.drive.jobs import DriveBacking, DriveFault, SlowPhase, WireDriveSpec
from stithy.wire.jobs import U32, U64, Wire
from stithy.wire.messages import Failure, Percentiles, Refusal, Started, Warning


class DriveUp(Wire):
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
    the CPU time of the drive's thread and of those that read and write its image in a file,
    `cpu_wait_s` how long the first waited for a CPU; None where the kernel does not tell.
    `energy_j` is what it drew by the watts of its profile, None where that states none. `paced`:
    requests take the profile's time, at the end.
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
    energy_j: float | None
    paced: bool


class DriveReady(DriveUp):
    """A drive is up."""

    message: Literal["drive-ready"] = "drive-ready"


class Serving(Wire):
    """Every drive of the job is up and the control socket answers."""

    message: Literal["serving"] = "serving"


class DriveSecond(DriveCounters):
    """One second of a drive."""

    message: Literal["drive-second"] = "drive-second"


class DriveSummary(DriveCounters):
    """A drive is down; its counters since it came up."""

    message: Literal["drive-summary"] = "drive-summary"


class ProfileSource(Wire):
    """Where some numbers of a drive profile come from: the document, the keys that it gives."""

    text: str
    keys: tuple[str, ...]


class ProfileFacts(Wire):
    """What a drive profile says, in short; `scale` has already divided capacity and rates.

    `channels` and the latencies of 4 KiB are None where it spins, `rpm` where it does not. Rates
    are None where only service times limit, `cache_bytes` where there is no write cache,
    `volatile_bytes` where a power cut takes nothing away, `sustained_after_bytes` where it does not
    slow down. `assumed` are keys, or whole tables, whose values nobody published or measured.
    """

    name: str
    title: str
    capacity_bytes: U64
    scale: float
    channels: U32 | None
    rpm: float | None
    read_p50_s: float | None
    read_p99_s: float | None
    write_p50_s: float | None
    write_p99_s: float | None
    flush_s: float
    read_iops: float | None
    write_iops: float | None
    total_iops: float | None
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    total_bytes_per_s: float | None
    cache_bytes: U64 | None
    volatile_bytes: U64 | None
    sustained_after_bytes: U64 | None
    assumed: tuple[str, ...]
    sources: tuple[ProfileSource, ...]
    note: str | None


class ShippedProfile(Wire):
    """A drive profile that is shipped, as TOML, and what it says."""

    message: Literal["shipped-profile"] = "shipped-profile"
    text: str
    facts: ProfileFacts


class ShippedSchedule(Wire):
    """A schedule of faults that is shipped; `source` says where it is from, and what is assumed."""

    message: Literal["shipped-schedule"] = "shipped-schedule"
    name: str
    title: str
    source: str
    phases: tuple[SlowPhase, ...]


class CatalogueSummary(Wire):
    """All that is shipped was reported: so many drive profiles, so many schedules."""

    message: Literal["catalogue-summary"] = "catalogue-summary"
    profiles: U64
    schedules: U64


class ProfileProblem(Wire):
    """One thing that is wrong with a drive profile.

    `line` counts from 1 and is None where no line is at fault; `value` is None where none was
    given.
    """

    line: U64 | None
    key: str
    value: str | None
    problem: str
    remedy: str


class CheckProfileSummary(Wire):
    """A drive profile was judged: what it says, None where there are problems; all of these."""

    message: Literal["check-profile-summary"] = "check-profile-summary"
    facts: ProfileFacts | None
    problems: tuple[ProfileProblem, ...]


class LoadFigures(Wire):
    """Rate and latency of one kind of request at one point of load."""

    iops: float
    latency: Percentiles


class PointFigures(Wire):
    """The figures of one point; None for what it did not ask."""

    read: LoadFigures | None
    write: LoadFigures | None
    flush: LoadFigures | None


class ProfileFiguresSummary(Wire):
    """What a drive of a profile does by itself, in simulated time; in the order of the points."""

    message: Literal["profile-figures-summary"] = "profile-figures-summary"
    points: tuple[PointFigures, ...]


AnyDriveMessage = (
    Started
    | DriveReady
    | Serving
    | DriveSecond
    | Warning
    | Failure
    | DriveSummary
    | ShippedProfile
    | ShippedSchedule
    | CatalogueSummary
    | CheckProfileSummary
    | ProfileFiguresSummary
)
"""One line of output."""

_MESSAGE: TypeAdapter[AnyDriveMessage] = TypeAdapter(
    Annotated[AnyDriveMessage, Field(discriminator="message")]
)


def parse_drive_message(line: str | bytes) -> AnyDriveMessage:
    """The message of one line; pydantic's ValidationError where it is none."""
    return _MESSAGE.validate_json(line)


class Up(Wire):
    """Make one more drive."""

    command: Literal["up"] = "up"
    spec: WireDriveSpec


class List(Wire):
    """Which drives are up."""

    command: Literal["list"] = "list"


class Stats(Wire):
    """The counters of a drive since it came up."""

    command: Literal["stats"] = "stats"
    drive: str


class Set(Wire):
    """Change how a drive waits; what is None stays.

    `paced` False: requests take no time and the drive does not age.
    """

    command: Literal["set"] = "set"
    drive: str
    transport_s: float | None = None
    spin_s: float | None = None
    paced: bool | None = None


class Snapshot(Wire):
    """Keep what of a drive outlasts its requests, as its cache's fill; there is room for one."""

    command: Literal["snapshot"] = "snapshot"
    drive: str


class Restore(Wire):
    """Put back what the last snapshot kept, so that putting the content back does not age it."""

    command: Literal["restore"] = "restore"
    drive: str


class DriveTraceFile(Wire):
    """Write down each request of a drive into a file; None: no more."""

    command: Literal["trace"] = "trace"
    drive: str
    path: str | None


class Fault(Wire):
    """Break a drive, or mend it."""

    command: Literal["fault"] = "fault"
    drive: str
    fault: DriveFault


class Down(Wire):
    """Take a drive down; None: all, and the program with them."""

    command: Literal["down"] = "down"
    drive: str | None


AnyCommand = Up | List | Stats | Set | Snapshot | Restore | DriveTraceFile | Fault | Down
"""One line to the control socket."""


class AnswerDone(Wire):
    """It is done."""

    answer: Literal["done"] = "done"


class AnswerUp(DriveUp):
    """A drive is up."""

    answer: Literal["up"] = "up"


class AnswerList(Wire):
    """The drives that are up, in the order of their names."""

    answer: Literal["list"] = "list"
    drives: tuple[DriveUp, ...]


class AnswerStats(DriveCounters):
    """The counters of a drive."""

    answer: Literal["stats"] = "stats"


class AnswerPowerCut(Wire):
    """What became of the volatile writes in a power cut: kept whole, kept in part, lost."""

    answer: Literal["power-cut"] = "power-cut"
    kept: U64
    torn: U64
    lost: U64


class AnswerTrace(Wire):
    """A trace begins, with nothing written yet, or has ended.

    `lost` requests were answered faster than they could be written, and are not in it.
    """

    answer: Literal["trace"] = "trace"
    drive: str
    path: str
    written: U64
    lost: U64


class AnswerFailure(Refusal):
    """It cannot be done, and nothing has changed."""

    answer: Literal["failure"] = "failure"


AnyAnswer = (
    AnswerDone | AnswerUp | AnswerList | AnswerStats | AnswerPowerCut | AnswerTrace | AnswerFailure
)
"""One line from the control socket."""

_ANSWER: TypeAdapter[AnyAnswer] = TypeAdapter(Annotated[AnyAnswer, Field(discriminator="answer")])


def parse_answer(line: str | bytes) -> AnyAnswer:
    """The answer of one line; pydantic's ValidationError where it is none."""
    return _ANSWER.validate_json(line)
