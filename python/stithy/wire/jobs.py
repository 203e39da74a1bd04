"""What a native program is asked to do: the Python side of `crates/wire/src/job.rs`.

A job names its kind in `job` and is written as one JSON document. `url` holds a password; it is
left out of every printed form. Types here decide nothing, and are described once, in Rust.
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
    kind: Literal["none"] = "none"


class Keyed(Wire):
    kind: Literal["keyed"] = "keyed"


class WireThink(Wire):
    kind: Literal["think"] = "think"
    mean_s: float


Arrivals = Literal["poisson", "constant"]
"""How the due times of an open loop follow each other."""


class WireRate(Wire):
    kind: Literal["rate"] = "rate"
    per_s: float
    arrivals: Arrivals = "poisson"


Pace = Annotated[BackToBack | Keyed | WireThink | WireRate, Field(discriminator="kind")]
"""When virtual users act."""


Isolation = Literal["read-committed", "repeatable-read", "serializable"]
"""Transaction isolation of a run."""


class WorkloadChoice(Wire):
    model_config = ConfigDict(extra="allow", frozen=True)

    name: str


class _WireTask(Wire):
    wire: U32 = WIRE_VERSION
    url: str = Field(repr=False)
    workload: SerializeAsAny[WorkloadChoice]


class DataShape(Wire):
    compressible_percent: Percent | None = None
    duplicate_percent: Percent = 0


class PrepareJob(_WireTask):
    job: Literal["prepare"] = "prepare"
    seed: U64
    loaders: U32
    data: DataShape = DataShape()


class WarmUpJob(_WireTask):
    job: Literal["warm-up"] = "warm-up"
    seed: U64
    transactions: U64


class UserShare(Wire):
    number: U32 = 0
    of: U32 = 1


class RunRequest(Wire):
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
    job: Literal["run"] = "run"


class CheckJob(_WireTask):
    job: Literal["check"] = "check"
    quick: bool
    after_load: bool


class VerifyLedgerJob(_WireTask):
    job: Literal["verify-ledger"] = "verify-ledger"
    ledger: str


class CalibrateJob(Wire):
    job: Literal["calibrate"] = "calibrate"
    wire: U32 = WIRE_VERSION
    url: str = Field(repr=False)
    connections: U32
    trial_s: float
    think_s: float | None = None


class BaselineJob(Wire):
    job: Literal["baseline"] = "baseline"
    wire: U32 = WIRE_VERSION
    file: str
    file_bytes: U64
    spin_s: float
    read_s: float


AnyJob = PrepareJob | WarmUpJob | RunJob | CheckJob | VerifyLedgerJob | CalibrateJob | BaselineJob
"""One task for the hammer."""
