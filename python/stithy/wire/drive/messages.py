"""What the drive program answers, and what is said over its control socket, a line each.

Types here decide nothing, and are described once: in `crates/wire/src/drive/`.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from stithy.wire.drive.jobs import DriveBacking, DriveFault, SlowPhase, WireDriveSpec
from stithy.wire.jobs import U32, U64, Wire
from stithy.wire.messages import Failure, Percentiles, Refusal, Started, Warning


class DriveUp(Wire):
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
    name: str
    answered: U64
    moved_bytes: U64
    errors: U64
    latency: Percentiles
    given_mean_s: float | None
    earlier_mean_s: float | None


class DriveCounters(Wire):
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
    message: Literal["drive-ready"] = "drive-ready"


class Serving(Wire):
    message: Literal["serving"] = "serving"


class DriveSecond(DriveCounters):
    message: Literal["drive-second"] = "drive-second"


class DriveSummary(DriveCounters):
    message: Literal["drive-summary"] = "drive-summary"


class ProfileSource(Wire):
    text: str
    keys: tuple[str, ...]


class ProfileFacts(Wire):
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
    message: Literal["shipped-profile"] = "shipped-profile"
    text: str
    facts: ProfileFacts


class ShippedSchedule(Wire):
    message: Literal["shipped-schedule"] = "shipped-schedule"
    name: str
    title: str
    source: str
    phases: tuple[SlowPhase, ...]


class CatalogueSummary(Wire):
    message: Literal["catalogue-summary"] = "catalogue-summary"
    profiles: U64
    schedules: U64


class ProfileProblem(Wire):
    line: U64 | None
    key: str
    value: str | None
    problem: str
    remedy: str


class CheckProfileSummary(Wire):
    message: Literal["check-profile-summary"] = "check-profile-summary"
    facts: ProfileFacts | None
    problems: tuple[ProfileProblem, ...]


class LoadFigures(Wire):
    iops: float
    latency: Percentiles


class PointFigures(Wire):
    read: LoadFigures | None
    write: LoadFigures | None
    flush: LoadFigures | None


class ProfileFiguresSummary(Wire):
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
    command: Literal["up"] = "up"
    spec: WireDriveSpec


class List(Wire):
    command: Literal["list"] = "list"


class Stats(Wire):
    command: Literal["stats"] = "stats"
    drive: str


class Set(Wire):
    command: Literal["set"] = "set"
    drive: str
    transport_s: float | None = None
    spin_s: float | None = None
    paced: bool | None = None


class Snapshot(Wire):
    command: Literal["snapshot"] = "snapshot"
    drive: str


class Restore(Wire):
    command: Literal["restore"] = "restore"
    drive: str


class DriveTraceFile(Wire):
    command: Literal["trace"] = "trace"
    drive: str
    path: str | None


class Fault(Wire):
    command: Literal["fault"] = "fault"
    drive: str
    fault: DriveFault


class Down(Wire):
    command: Literal["down"] = "down"
    drive: str | None


AnyCommand = Up | List | Stats | Set | Snapshot | Restore | DriveTraceFile | Fault | Down
"""One line to the control socket."""


class AnswerDone(Wire):
    answer: Literal["done"] = "done"


class AnswerUp(DriveUp):
    answer: Literal["up"] = "up"


class AnswerList(Wire):
    answer: Literal["list"] = "list"
    drives: tuple[DriveUp, ...]


class AnswerStats(DriveCounters):
    answer: Literal["stats"] = "stats"


class AnswerPowerCut(Wire):
    answer: Literal["power-cut"] = "power-cut"
    kept: U64
    torn: U64
    lost: U64


class AnswerTrace(Wire):
    answer: Literal["trace"] = "trace"
    drive: str
    path: str
    written: U64
    lost: U64


class AnswerFailure(Refusal):
    answer: Literal["failure"] = "failure"


AnyAnswer = (
    AnswerDone | AnswerUp | AnswerList | AnswerStats | AnswerPowerCut | AnswerTrace | AnswerFailure
)
"""One line from the control socket."""

_ANSWER: TypeAdapter[AnyAnswer] = TypeAdapter(Annotated[AnyAnswer, Field(discriminator="answer")])


def parse_answer(line: str | bytes) -> AnyAnswer:
    """The answer of one line; pydantic's ValidationError where it is none."""
    return _ANSWER.validate_json(line)
