"""What a native program is asked to do: the Python side of `crates/wire/src/job.rs`.

A job names its kind in `job` and is written as one JSON document. `url` holds a password; it is
left out of every printed form. Types here decide nothing.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, SerializeAsAny

from stithy.units import FrozenModel

WIRE_VERSION = 9
"""The version of the protocol; its history is in wire/README.md."""

U32 = Annotated[int, Field(ge=0, le=2**32 - 1)]
U64 = Annotated[int, Field(ge=0, le=2**64 - 1)]
Percent = Annotated[int, Field(ge=0, le=100)]


class Wire(FrozenModel):
    """What all types of the boundary share."""


class BackToBack(Wire):
    """Closed loop: each transaction is due when the one before is answered."""

    kind: Literal["none"] = "none"


class Keyed(Wire):
    """Closed loop with the keying and think times that the workload specifies."""

    kind: Literal["keyed"] = "keyed"


class WireThink(Wire):
    """Closed loop with exponential think times of mean `mean_s`, cut at ten times it."""

    kind: Literal["think"] = "think"
    mean_s: float


Arrivals = Literal["poisson", "constant"]
"""How the due times of an open loop follow each other."""


class WireRate(Wire):
    """Open loop: `per_s` transactions are due in a second, whoever is answered or not."""

    kind: Literal["rate"] = "rate"
    per_s: float
    arrivals: Arrivals = "poisson"


Pace = Annotated[BackToBack | Keyed | WireThink | WireRate, Field(discriminator="kind")]
"""When virtual users act."""


Isolation = Literal["read-committed", "repeatable-read", "serializable"]
"""Transaction isolation of a run."""


class WorkloadChoice(Wire):
    """Which workload, and what it is asked: keys that the workload's own class describes."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str


class _WireTask(Wire):
    """What every job has: protocol version, database URL with its password, workload."""

    wire: U32 = WIRE_VERSION
    url: str = Field(repr=False)
    workload: SerializeAsAny[WorkloadChoice]


class DataShape(Wire):
    """What the generated text is like, in percent.

    `compressible_percent` of its bytes are to be saved by compression; None is random letters and
    digits. `duplicate_percent` of its values are taken from a small pool.
    """

    compressible_percent: Percent | None = None
    duplicate_percent: Percent = 0


class PrepareJob(_WireTask):
    """Create the schema, load the rows, then indexes and keys."""

    job: Literal["prepare"] = "prepare"
    seed: U64
    loaders: U32
    data: DataShape = DataShape()


class WarmUpJob(_WireTask):
    """The same fixed, seeded, read-only pass before every window."""

    job: Literal["warm-up"] = "warm-up"
    seed: U64
    transactions: U64


class UserShare(Wire):
    """The part of one of several hammers: every `of`-th user and arrival, from `number` on."""

    number: U32 = 0
    of: U32 = 1


class RunRequest(Wire):
    """One window of load, whatever the workload and the database; `users` are those of all hammers.

    `connections` None gives each user its own. `start_at_s` is the Unix time at which users begin,
    None as soon as all are seated. While no connection can be opened, `reconnect_limit_s` is waited
    for the server to come back. `hlog_stem` None writes no latency logs, `ledger` None no ledger.
    """

    seed: U64
    users: U32
    share: UserShare = UserShare()
    connections: U32 | None = None
    pace: Pace = BackToBack()
    start_at_s: float | None = None
    ramp_up_s: float
    duration_s: float
    isolation: Isolation = "read-committed"
    error_limit: U64 = 100
    reconnect_limit_s: float = 10.0
    hlog_stem: Path | None = None
    ledger: Path | None = None


class RunJob(RunRequest, _WireTask):
    """One window of load."""

    job: Literal["run"] = "run"


class CheckJob(_WireTask):
    """Verify the consistency conditions; `after_load` adds those that hold only then."""

    job: Literal["check"] = "check"
    quick: bool
    after_load: bool


class VerifyLedgerJob(_WireTask):
    """Compare what a run wrote into the file `ledger` with the database."""

    job: Literal["verify-ledger"] = "verify-ledger"
    ledger: str


class CalibrateJob(Wire):
    """Find the highest rate and number of users with which the driver stays on time.

    It needs no tables. `think_s` is the mean time between two transactions of a user; None does
    not search the number of users.
    """

    job: Literal["calibrate"] = "calibrate"
    wire: U32 = WIRE_VERSION
    url: str = Field(repr=False)
    connections: U32
    trial_s: float
    think_s: float | None = None


class BaselineJob(Wire):
    """Do a moment of fixed work on the CPUs and read a neutral file: what the machine is like now.

    `file` is made with `file_bytes`, a multiple of 4 KiB, where it is not there. `spin_s` is for
    one CPU, and again for all.
    """

    job: Literal["baseline"] = "baseline"
    wire: U32 = WIRE_VERSION
    file: str
    file_bytes: U64
    spin_s: float
    read_s: float


AnyJob = PrepareJob | WarmUpJob | RunJob | CheckJob | VerifyLedgerJob | CalibrateJob | BaselineJob
"""One task for the hammer."""
