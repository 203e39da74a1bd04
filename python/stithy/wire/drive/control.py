"""What is said over the control socket: a command a line, an answer a line.

Types here decide nothing.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from stithy.wire.drive.jobs import DriveFault, WireDriveSpec
from stithy.wire.drive.messages import DriveCounters, DriveUp
from stithy.wire.jobs import U64, Wire
from stithy.wire.messages import Refusal


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
