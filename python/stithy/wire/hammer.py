"""What the load driver is asked and what it answers: its seam to the rest of Stithy."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from stithy.hosts.runner import Command, Runner
from stithy.secrets import Secret
from stithy.wire.jobs import (
    AnyJob,
    BaselineJob,
    CalibrateJob,
    CheckJob,
    DataShape,
    PrepareJob,
    RunJob,
    RunRequest,
    VerifyLedgerJob,
    WarmUpJob,
    WorkloadChoice,
)
from stithy.wire.messages import (
    AnyMessage,
    BaselineSummary,
    CalibrateSummary,
    CheckSummary,
    Condition,
    DataSample,
    LedgerFinding,
    LedgerSummary,
    PrepareSummary,
    RunSummary,
    SecondMessage,
    WarmUpSummary,
    Warning,
)
from stithy.wire.program import HAMMER, OnMessage, find_program, run_program


@dataclass(frozen=True)
class Driven:
    """What a run gave: every second, every warning, the summary."""

    seconds: tuple[SecondMessage, ...]
    warnings: tuple[Warning, ...]
    summary: RunSummary


@dataclass(frozen=True)
class Checked:
    """What a check gave: every condition that was verified."""

    conditions: tuple[Condition, ...]

    @property
    def broken(self) -> tuple[int, ...]:
        """Numbers of the conditions that do not hold."""
        return tuple(condition.number for condition in self.conditions if not condition.holds)


@dataclass(frozen=True)
class LedgerVerified:
    """What a ledger gave: the first findings of each kind, and all of them counted."""

    findings: tuple[LedgerFinding, ...]
    summary: LedgerSummary


@dataclass(frozen=True)
class ProgressWatch:
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

NOBODY = ProgressWatch()
RANDOM_TEXT = DataShape()


SILENCE_S = 300.0
"""How long a window may be silent. It tells every second; before and after it, single questions to
the server may wait for a device that stalls."""

M = TypeVar("M", SecondMessage, Warning, Condition, LedgerFinding)
S = TypeVar(
    "S",
    PrepareSummary,
    WarmUpSummary,
    RunSummary,
    CheckSummary,
    LedgerSummary,
    CalibrateSummary,
    BaselineSummary,
)


MEASURED = (WarmUpJob, RunJob, CalibrateJob)
"""What is done beside a server that is measured; the rest may use every CPU."""


class Hammer:
    """A seam: the native hammer against one database; tests derive a fake.

    Its methods raise as `run_program` does.
    """

    def __init__(
        self,
        runner: Runner,
        url: Secret,
        program: Path | None = None,
        cpus: tuple[int, ...] | None = None,
    ) -> None:
        """`url` of the database; `program` None finds it; `cpus`: the only ones that users have.

        Raises PreconditionError if the program is missing.
        """
        self._runner = runner
        self._url = url
        self._command = Command([str(program or find_program(HAMMER))], cpus=cpus)

    def limit_process(self, limits: Command) -> None:
        """Give it the limits and variables of the database, which runs in its process."""
        self._command = replace(limits, argv=self._command.argv)

    def start_by(self, runner: Runner) -> None:
        """Start it by another runner, such as that of another host."""
        self._runner = runner

    def prepare(
        self,
        workload: WorkloadChoice,
        *,
        seed: int,
        loaders: int,
        data: DataShape = RANDOM_TEXT,
        watch: ProgressWatch = NOBODY,
    ) -> PrepareSummary:
        """Create the schema and load the rows."""
        job = PrepareJob(
            url=self._url.reveal(), workload=workload, seed=seed, loaders=loaders, data=data
        )
        return self._do(PrepareSummary, job, watch)[0]

    def run_warm_up(
        self,
        workload: WorkloadChoice,
        *,
        seed: int,
        transactions: int,
        watch: ProgressWatch = NOBODY,
    ) -> WarmUpSummary:
        """Do the fixed read-only pass over what users touch."""
        url = self._url.reveal()
        job = WarmUpJob(url=url, workload=workload, seed=seed, transactions=transactions)
        return self._do(WarmUpSummary, job, watch)[0]

    def run(
        self, workload: WorkloadChoice, request: RunRequest, *, watch: ProgressWatch = NOBODY
    ) -> Driven:
        """Drive the database for one window."""
        job = run_job(self._url, workload, request)
        summary, heard = self._do(RunSummary, job, watch, SILENCE_S)
        return Driven(
            _select_messages(SecondMessage, heard), _select_messages(Warning, heard), summary
        )

    def check(
        self,
        workload: WorkloadChoice,
        *,
        quick: bool,
        after_load: bool,
        watch: ProgressWatch = NOBODY,
    ) -> Checked:
        """Verify the consistency conditions; broken ones are a result, not an error."""
        url = self._url.reveal()
        job = CheckJob(url=url, workload=workload, quick=quick, after_load=after_load)
        _, heard = self._do(CheckSummary, job, watch)
        return Checked(_select_messages(Condition, heard))

    def verify_ledger(
        self, workload: WorkloadChoice, ledger: Path, *, watch: ProgressWatch = NOBODY
    ) -> LedgerVerified:
        """Compare a ledger with the database; what was lost is a result, not an error."""
        place = str(ledger.absolute())
        job = VerifyLedgerJob(url=self._url.reveal(), workload=workload, ledger=place)
        summary, heard = self._do(LedgerSummary, job, watch)
        return LedgerVerified(_select_messages(LedgerFinding, heard), summary)

    def calibrate(
        self,
        *,
        connections: int,
        trial_s: float,
        think_s: float | None = None,
        watch: ProgressWatch = NOBODY,
    ) -> CalibrateSummary:
        """Find what the driver keeps up with; that it is late at every rate is a result, too.

        `think_s` None does not search the number of users.
        """
        url = self._url.reveal()
        job = CalibrateJob(url=url, connections=connections, trial_s=trial_s, think_s=think_s)
        return self._do(CalibrateSummary, job, watch)[0]

    def run_baseline(self, work: Work, *, watch: ProgressWatch = NOBODY) -> BaselineSummary:
        """Do a baseline check's work, which needs no database."""
        job = BaselineJob(
            file=str(work.file.absolute()),
            file_bytes=work.size_bytes,
            spin_s=work.spin_s,
            read_s=work.read_s,
        )
        return self._do(BaselineSummary, job, watch)[0]

    def _do(
        self, kind: type[S], job: AnyJob, watch: ProgressWatch, silence_s: float | None = None
    ) -> tuple[S, list[AnyMessage]]:
        """The summary, which the protocol says is of this kind, and all messages."""
        heard: list[AnyMessage] = []

        def both(message: AnyMessage) -> None:
            heard.append(message)
            if watch.on_message is not None:
                watch.on_message(message)

        command = self._command
        summary = run_program(
            self._runner,
            command if isinstance(job, MEASURED) else replace(command, cpus=None),
            job,
            on_message=both,
            raw_output=watch.raw_output,
            stop=watch.stop,
            silence_s=silence_s,
        )
        if not isinstance(summary, kind):
            raise TypeError(f"the hammer answered with {summary.message}, not with {kind.__name__}")
        return summary, heard


def run_job(url: Secret, workload: WorkloadChoice, request: RunRequest) -> RunJob:
    """The job of one window.

    Paths are absolute, because programs are started in another directory than the caller's.
    """
    paths = {"hlog_stem": request.hlog_stem, "ledger": request.ledger}
    shown = {name: path and path.absolute() for name, path in paths.items()}
    return RunJob(url=url.reveal(), workload=workload, **{**dict(request), **shown})


def find_text_percent(sample: DataSample) -> tuple[float, float]:
    """Of a sample's text, the share that compression saves and the share that repeats, percent."""
    saved = 1 - sample.text_compressed_bytes / sample.text_bytes
    return 100 * saved, 100 * sample.text_repeated_bytes / sample.text_bytes


def _select_messages(kind: type[M], heard: Iterable[AnyMessage]) -> tuple[M, ...]:
    return tuple(each for each in heard if isinstance(each, kind))
