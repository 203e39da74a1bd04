"""A hammer that strikes nothing: it answers at once, with small plausible numbers."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from stithy.errors import StithyError
from stithy.hosts.runner import Command
from stithy.wire import messages
from stithy.wire.hammer import NOBODY, Checked, Driven, Hammer, LedgerVerified, ProgressWatch, Work
from stithy.wire.jobs import RunRequest, WorkloadChoice
from support.hlog import encode, histogram

TYPES = ("new-order", "payment", "order-status", "delivery", "stock-level")
SHARES = dict(zip(TYPES, (10 / 23, 10 / 23, 1 / 23, 1 / 23, 1 / 23), strict=True))
START_S = 1_800_000_000.0
_SAMPLE = messages.DataSample(
    rows_bytes=100, rows_compressed_bytes=60, text_bytes=80, text_compressed_bytes=60,
    text_repeated_bytes=0,
)  # fmt: skip
_WRITTEN = messages.LedgerWritten(
    acknowledged=20, size_bytes=1000, syncs=3, slowest_sync_s=0.01, problem=None
)


class FakeHammer(Hammer):
    """Does each job at once; `faults` raises in the job of that name, `before_run` is called.

    `shares`: the mix of its workload, the headline first.
    """

    shares: Mapping[str, float] = SHARES

    def __init__(
        self,
        faults: Mapping[str, StithyError] | None = None,
        *,
        complete: bool = True,
        errors: tuple[messages.ErrorCount, ...] = (),
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
        self._faults = faults or {}
        self._complete, self._errors, self._broken, self._lost = complete, errors, broken, lost
        self._rate_per_s_max, self._users_max = rate_per_s_max, users_max
        self._warnings = tuple(messages.Warning(code="fake", text=text) for text in warnings)
        self._sound, self._response_s = sound, response_s
        self.before_run = before_run
        self.runs: list[RunRequest] = []
        self.choices: list[tuple[str, WorkloadChoice]] = []
        self.verified: list[Path] = []
        self.calibrated: list[int] = []
        self.baselines: list[Path] = []

    def limit_process(self, limits: Command) -> None:
        """It has no process."""

    def prepare(self, workload: WorkloadChoice, **_: Any) -> messages.PrepareSummary:
        """A hundred rows."""
        self._fail("prepare")
        self.choices.append(("prepare", workload))
        rows = (messages.TableRows(table="item", rows=100),)
        return messages.PrepareSummary(
            duration_s=1, copy_s=0.5, index_s=0.5, tables=rows, workload={}, sample=_SAMPLE
        )

    def run_warm_up(
        self, workload: WorkloadChoice, *, transactions: int, **_: Any
    ) -> messages.WarmUpSummary:
        """All of them."""
        self._fail("warm-up")
        return messages.WarmUpSummary(duration_s=0.1, transactions=transactions)

    def run(
        self, workload: WorkloadChoice, request: RunRequest, *, watch: ProgressWatch = NOBODY
    ) -> Driven:
        """One second with ten of each."""
        self._fail("run")
        self.before_run()
        self.runs.append(request)
        self.choices.append(("run", workload))
        if request.ledger is not None:
            request.ledger.write_bytes(b"STITHYL2")
        second = messages.SecondMessage(
            second=0, at_s=START_S, phase="measure", transactions=_second(self.shares)
        )
        if watch.on_message:
            watch.on_message(second)
        return Driven((second,), self._warnings, self._summary(request))

    def check(self, workload: WorkloadChoice, *, quick: bool, **_: Any) -> Checked:
        """Conditions 1 to 4, or 1 to 12."""
        self._fail("check")
        return Checked(tuple(self._condition(number) for number in range(1, 5 if quick else 13)))

    def verify_ledger(self, workload: WorkloadChoice, ledger: Path, **_: Any) -> LedgerVerified:
        """Ten of each, and all are there but the lost ones."""
        self._fail("verify-ledger")
        self.verified.append(ledger)
        nothing = dict.fromkeys(messages.LedgerCounts.model_fields, 0)
        counts = messages.LedgerCounts(**{**nothing, "acknowledged": 10})
        orders = counts.model_copy(update={"lost": self._lost})
        summary = messages.LedgerSummary(
            holds=self._lost == 0, entries={"order": orders, "payment": counts}, torn_bytes=0
        )
        what: Any = {"entry": "order", "kind": "lost"}
        found = (messages.LedgerFinding(**what, text=f"order {n}") for n in range(self._lost))
        return LedgerVerified(tuple(found), summary)

    def calibrate(
        self, *, connections: int, think_s: float | None = None, **_: Any
    ) -> messages.CalibrateSummary:
        """As it was reported."""
        self._fail("calibrate")
        self.calibrated.append(connections)
        return messages.CalibrateSummary(
            connections=connections, rate_per_s_max=self._rate_per_s_max, think_s=think_s,
            users_max=self._users_max if think_s else None, trials=(),
        )  # fmt: skip

    def run_baseline(self, work: Work, **_: Any) -> messages.BaselineSummary:
        """The same every time."""
        self._fail("baseline")
        self.baselines.append(work.file)
        return messages.BaselineSummary(
            one_rounds_per_s=1000, all_rounds_per_s=2000, threads=2, reads=_figures(0.0001),
            reads_missing_because=None,
        )  # fmt: skip

    def _fail(self, job: str) -> None:
        if job in self._faults:
            raise self._faults[job]

    def _condition(self, number: int) -> messages.Condition:
        holds = not (self._broken and number == 1)
        example = None if holds else "warehouse 1"
        return messages.Condition(
            number=number, text="it holds", holds=holds, violations=0 if holds else 2,
            example=example, duration_s=0.01,
        )  # fmt: skip

    def _summary(self, request: RunRequest) -> messages.RunSummary:
        done = self._done(request)
        made, begin_s = done[next(iter(self.shares))], START_S + request.ramp_up_s
        orders = messages.Proof(
            before=10, after=10 + made, acknowledged=made, in_doubt=0, in_doubt_found=0
        )
        return messages.RunSummary(
            started_at_s=START_S, measure_from_s=begin_s,
            measure_to_s=begin_s + request.duration_s, ended_at_s=begin_s + request.duration_s,
            complete=self._complete, users=request.users,
            transactions=_totals(done, self._response_s(request)), commits=0, rollbacks=0,
            lateness=_times(0.00001 if self._sound else 0.002), proof=orders,
            errors=self._errors,
            driver=messages.DriverCost(cpu_s=0.1, run_queue_delay_s=None),
            connections=messages.ConnectionCounts(opened=request.users, lost=0),
            gaps=messages.CommitGaps(
                longest_s=0.1, longest_from_s=begin_s, user_p50_s=0.2, user_p99_s=0.3,
                user_max_s=0.3, own=_OWN if request.share.of > 1 else None,
            ),
 workload={}, sizes=messages.TableSizes(database_bytes=None, cache_bytes=None),
            ledger=_WRITTEN if request.ledger else None,
        )  # fmt: skip

    def _done(self, request: RunRequest) -> dict[str, int]:
        """Ten of each, or as many of each as users who wait so long for an answer get done."""
        if not self._sound:
            return dict.fromkeys(self.shares, 10)
        whole = request.users * request.duration_s / self._response_s(request)
        return {name: round(whole * share) for name, share in self.shares.items()}


def _times(each_s: float = 0.002) -> messages.PackedHistogram:
    """Ten times, in the last bucket that ends before what they are meant to be."""
    return encode(histogram(*[int(each_s * 0.999e6)] * 10))


_OWN = messages.OwnGaps(above_s=0.001, from_s=(0.0,), length_s=(0.1,), users=_times(0.3))


def _figures(each_s: float) -> messages.Percentiles:
    names = ("mean_s", "min_s", "p50_s", "p90_s", "p95_s", "p99_s", "p999_s", "max_s")
    return messages.Percentiles(count=10, **dict.fromkeys(names, each_s))


def _totals(done: Mapping[str, int], each_s: float) -> tuple[messages.TransactionTotal, ...]:
    return tuple(
        messages.TransactionTotal(
            name=name, committed=done[name], rolled_back=0, errors=0, retries=0,
            response=_times(each_s), service=_times(each_s),
        )
        for name in done
    )  # fmt: skip


def _second(names: Iterable[str]) -> tuple[messages.TransactionSecond, ...]:
    return tuple(
        messages.TransactionSecond(
            name=name, committed=10, rolled_back=0, errors=0, retries=0, live_p95_s=0.002,
        )
        for name in names
    )  # fmt: skip
