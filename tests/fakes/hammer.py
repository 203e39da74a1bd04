"""A hammer that strikes nothing: it answers at once, with small plausible numbers."""

from collections.abc import Callable, Mapping
from pathlib import Path

from stithy.errors import StithyError
from stithy.wire.jobs import DataShape, WorkloadSize
from stithy.wire.messages import (
    CalibrateSummary,
    CanarySummary,
    Condition,
    ConnectionCounts,
    DataSample,
    Deal,
    DriverCost,
    ErrorCount,
    LedgerCounts,
    LedgerFinding,
    LedgerFindingKind,
    LedgerSummary,
    LedgerWritten,
    OrderNumbers,
    Percentiles,
    Phase,
    PrepareSummary,
    RunSummary,
    Second,
    TableRows,
    TransactionSecond,
    TransactionTotal,
    WarmUpSummary,
    Warning,
)
from stithy.workload.program import (
    NOBODY,
    RANDOM_TEXT,
    Checked,
    Driven,
    LedgerVerified,
    RunRequest,
    Watch,
    Work,
)

TYPES = ("new-order", "payment", "order-status", "delivery", "stock-level")
SHARES = dict(zip(TYPES, (10 / 23, 10 / 23, 1 / 23, 1 / 23, 1 / 23), strict=True))
START_S = 1_800_000_000.0
_SAMPLE = DataSample(
    rows_bytes=100,
    rows_compressed_bytes=60,
    text_bytes=80,
    text_compressed_bytes=60,
    text_repeated_bytes=0,
)


_WRITTEN = LedgerWritten(
    acknowledged=20, size_bytes=1000, syncs=3, slowest_sync_s=0.01, problem=None
)


class FakeHammer:
    """Does each job at once; `faults` raises in the job of that name, `before_run` is called."""

    def __init__(
        self,
        faults: Mapping[str, StithyError] | None = None,
        *,
        complete: bool = True,
        errors: tuple[ErrorCount, ...] = (),
        broken: bool = False,
        lost: int = 0,
        rate_per_s_max: float | None = 1000.0,
        users_max: int | None = None,
        warnings: tuple[str, ...] = (),
        sound: bool = False,
        before_run: Callable[[], None] = lambda: None,
        response_s: Callable[[RunRequest], float] = lambda request: 0.002,
    ) -> None:
        """`complete`, `errors`: of each run's summary; `broken`: condition 1 never holds.

        `lost`: orders that each ledger misses; `rate_per_s_max`, `users_max`: what
        calibrating finds. `sound`: its numbers obey the laws that hold of a real hammer, so that
        its windows are valid. `response_s`: what every answer of a run takes.
        """
        self._sound = sound
        self._response_s = response_s
        self._lost = lost
        self._rate_per_s_max = rate_per_s_max
        self._users_max = users_max
        self._warnings = tuple(Warning(code="fake", text=text) for text in warnings)
        self._faults = faults or {}
        self._complete = complete
        self._errors = errors
        self._broken = broken
        self.before_run = before_run
        self.runs: list[RunRequest] = []
        self.verified: list[Path] = []
        self.calibrated: list[int] = []
        self.canaries: list[Path] = []

    def prepare(
        self,
        workload: WorkloadSize,
        *,
        seed: int,
        loaders: int,
        data: DataShape = RANDOM_TEXT,
        watch: Watch = NOBODY,
    ) -> PrepareSummary:
        """A hundred rows."""
        self._fail("prepare")
        rows = (TableRows(table="item", rows=100),)
        return PrepareSummary(
            duration_s=1, copy_s=0.5, index_s=0.5, tables=rows, c_last_load=1, sample=_SAMPLE
        )

    def warm_up(
        self,
        workload: WorkloadSize,
        *,
        seed: int,
        transactions: int,
        warehouses_touched: int | None = None,
        watch: Watch = NOBODY,
    ) -> WarmUpSummary:
        """All of them."""
        self._fail("warm-up")
        return WarmUpSummary(duration_s=0.1, transactions=transactions)

    def run(self, workload: WorkloadSize, request: RunRequest, *, watch: Watch = NOBODY) -> Driven:
        """One second with ten of each."""
        self._fail("run")
        self.before_run()
        self.runs.append(request)
        if request.ledger is not None:
            request.ledger.write_bytes(b"STITHYL1")
        second = Second(second=0, at_s=START_S, phase=Phase.MEASURE, transactions=_second())
        if watch.on_message:
            watch.on_message(second)
        return Driven((second,), self._warnings, self._summary(request))

    def check(
        self, workload: WorkloadSize, *, quick: bool, after_load: bool, watch: Watch = NOBODY
    ) -> Checked:
        """Conditions 1 to 4, or 1 to 12."""
        self._fail("check")
        numbers = range(1, 5 if quick else 13)
        return Checked(tuple(self._condition(number) for number in numbers))

    def verify_ledger(
        self, workload: WorkloadSize, ledger: Path, *, watch: Watch = NOBODY
    ) -> LedgerVerified:
        """Ten of each, and all are there but the lost ones."""
        self._fail("verify-ledger")
        self.verified.append(ledger)
        counts = LedgerCounts(**{**dict.fromkeys(LedgerCounts.model_fields, 0), "acknowledged": 10})
        orders = counts.model_copy(update={"lost": self._lost})
        holds = self._lost == 0
        summary = LedgerSummary(holds=holds, orders=orders, payments=counts, torn_bytes=0)
        kind = LedgerFindingKind.LOST
        found = tuple(
            LedgerFinding(deal=Deal.ORDER, kind=kind, text=f"order {number}")
            for number in range(self._lost)
        )
        return LedgerVerified(found, summary)

    def calibrate(
        self,
        *,
        connections: int,
        trial_s: float,
        think_s: float | None = None,
        watch: Watch = NOBODY,
    ) -> CalibrateSummary:
        """As it was told."""
        self._fail("calibrate")
        self.calibrated.append(connections)
        return CalibrateSummary(
            connections=connections,
            rate_per_s_max=self._rate_per_s_max,
            think_s=think_s,
            users_max=self._users_max if think_s else None,
            trials=(),
        )

    def canary(self, work: Work, *, watch: Watch = NOBODY) -> CanarySummary:
        """The same every time."""
        self._fail("canary")
        self.canaries.append(work.file)
        return CanarySummary(
            one_rounds_per_s=1000,
            all_rounds_per_s=2000,
            threads=2,
            reads=_times(0.0001),
            reads_missing_because=None,
        )

    def _fail(self, job: str) -> None:
        if job in self._faults:
            raise self._faults[job]

    def _condition(self, number: int) -> Condition:
        holds = not (self._broken and number == 1)
        return Condition(
            number=number,
            text="it holds",
            holds=holds,
            violations=0 if holds else 2,
            example=None if holds else "warehouse 1",
            duration_s=0.01,
        )

    def _summary(self, request: RunRequest) -> RunSummary:
        done = self._done(request)
        made = done["new-order"]
        orders = OrderNumbers(
            before=10, after=10 + made, acknowledged=made, in_doubt=0, in_doubt_found=0
        )
        return RunSummary(
            started_at_s=START_S,
            measure_from_s=START_S + request.ramp_up_s,
            measure_to_s=START_S + request.ramp_up_s + request.duration_s,
            ended_at_s=START_S + request.ramp_up_s + request.duration_s,
            complete=self._complete,
            users=request.users,
            transactions=_totals(done, self._response_s(request)),
            commits=0,
            rollbacks=0,
            lateness=_times(0.0001 if self._sound else 0.002),
            order_numbers=orders,
            errors=self._errors,
            driver=DriverCost(cpu_s=0.1, run_queue_delay_s=None),
            connections=ConnectionCounts(opened=request.users, lost=0),
            nurand=(1, 2, 3),
            ledger=_WRITTEN if request.ledger else None,
        )

    def _done(self, request: RunRequest) -> dict[str, int]:
        """Ten of each, or as many of each as users who wait so long for an answer get done."""
        if not self._sound:
            return dict.fromkeys(TYPES, 10)
        whole = request.users * request.duration_s / self._response_s(request)
        return {name: round(whole * share) for name, share in SHARES.items()}


def _times(each_s: float = 0.002) -> Percentiles:
    names = ("mean_s", "min_s", "p50_s", "p90_s", "p95_s", "p99_s", "p999_s", "max_s")
    return Percentiles(count=10, **dict.fromkeys(names, each_s))


def _totals(done: Mapping[str, int], each_s: float) -> tuple[TransactionTotal, ...]:
    return tuple(
        TransactionTotal(
            name=name,
            committed=done[name],
            rolled_back=0,
            errors=0,
            retries=0,
            response=_times(each_s),
            service=_times(each_s),
        )
        for name in TYPES
    )


def _second() -> tuple[TransactionSecond, ...]:
    return tuple(
        TransactionSecond(
            name=name,
            committed=10,
            rolled_back=0,
            errors=0,
            retries=0,
            response_p50_s=0.002,
            response_p95_s=0.002,
            response_p99_s=0.002,
        )
        for name in TYPES
    )
