"""What the load driver is asked and what it answers: its seam to the rest of Stithy."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stithy.secrets import Secret
from stithy.wire.jobs import DataShape, RunRequest, WorkloadChoice
from stithy.wire.messages import (
    BaselineSummary,
    CalibrateSummary,
    Condition,
    LedgerFinding,
    LedgerSummary,
    PrepareSummary,
    RunSummary,
    Second,
    WarmUpSummary,
    Warning,
)
from stithy.wire.program import OnMessage


@dataclass(frozen=True)
class Driven:
    """What a run gave: every second, every warning, the summary."""

    seconds: tuple[Second, ...]
    warnings: tuple[Warning, ...]
    summary: RunSummary


@dataclass(frozen=True)
class Checked:
    """What a check gave: every condition that was verified."""

    conditions: tuple[Condition, ...]

    @property
    def broken(self) -> tuple[int, ...]:
        """Numbers of the conditions that do not hold."""
        return tuple(each.number for each in self.conditions if not each.holds)


@dataclass(frozen=True)
class LedgerVerified:
    """What a ledger gave: the first findings of each kind, and all of them counted."""

    findings: tuple[LedgerFinding, ...]
    summary: LedgerSummary


@dataclass(frozen=True)
class Watch:
    """Who listens while a job runs: where raw lines go, who gets each message, who may stop it."""

    raw_output: Path | None = None
    on_message: OnMessage | None = None
    stop: threading.Event | None = None


@dataclass(frozen=True)
class Work:
    """A baseline check's work: `file`, made with `size_bytes` if not there, is read for `read_s`.

    Before that CPUs are busy for `spin_s`, one alone and then all of them.
    """

    file: Path
    size_bytes: int
    spin_s: float
    read_s: float


NOWHERE = Secret("")
"""For what asks no database."""

NOBODY = Watch()
RANDOM_TEXT = DataShape()


class Program(Protocol):
    """A seam: the hammer in production, a fake in tests."""

    def prepare(
        self,
        workload: WorkloadChoice,
        *,
        seed: int,
        loaders: int,
        data: DataShape = RANDOM_TEXT,
        watch: Watch = NOBODY,
    ) -> PrepareSummary:
        """Create the schema and load the rows."""

    def warm_up(
        self,
        workload: WorkloadChoice,
        *,
        seed: int,
        transactions: int,
        watch: Watch = NOBODY,
    ) -> WarmUpSummary:
        """Do the fixed read-only pass over what users touch."""

    def run(
        self, workload: WorkloadChoice, request: RunRequest, *, watch: Watch = NOBODY
    ) -> Driven:
        """Drive the database for one window."""

    def check(
        self, workload: WorkloadChoice, *, quick: bool, after_load: bool, watch: Watch = NOBODY
    ) -> Checked:
        """Verify the consistency conditions; broken ones are a result, not an error."""

    def verify_ledger(
        self, workload: WorkloadChoice, ledger: Path, *, watch: Watch = NOBODY
    ) -> LedgerVerified:
        """Compare a ledger with the database; what was lost is a result, not an error."""

    def calibrate(
        self,
        *,
        connections: int,
        trial_s: float,
        think_s: float | None = None,
        watch: Watch = NOBODY,
    ) -> CalibrateSummary:
        """Find what the driver keeps up with; that it is late at every rate is a result, too.

        `think_s` None does not search the number of users.
        """

    def baseline(self, work: Work, *, watch: Watch = NOBODY) -> BaselineSummary:
        """Do a little fixed work that has nothing to do with a database."""
