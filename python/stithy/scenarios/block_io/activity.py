"""fio at work on a candidate's targets: files on its volumes, or its block devices."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stithy.collectors.collector import TimedSample
from stithy.fio.load import Load, for_workers
from stithy.fio.measure import measure, ready
from stithy.plan.steps import WindowPlan
from stithy.results.files import emptied
from stithy.results.tables import HISTOGRAMS, Row, Table
from stithy.run.activity import Activity, BasicActivity, MeasuredValue, StepKind, Subject, Times
from stithy.run.context import Context
from stithy.scenarios.block_io.declared import IO_SECONDS, IO_STREAMS, IO_VOLUMES
from stithy.scenarios.block_io.outcome import FioOutcome, not_needed, rate_of
from stithy.scenarios.block_io.plan import PROFILE, spec_of
from stithy.scenarios.block_io.precondition import precondition
from stithy.scenarios.block_io.targets import (
    FOLDER,
    kept_generations,
    lay_out,
    read_back,
    targets_of,
)
from stithy.scenarios.block_io.volumes import names


class FioActivity(BasicActivity):
    """The I/O of a window."""

    who = "fio"

    def __init__(self, context: Context, window: WindowPlan) -> None:
        """Nothing is read or written yet."""
        super().__init__(context, window)
        self._spec = spec_of(context.file.study.at(window.point))
        self._files = context.session.directory.window(window.id).root / FOLDER
        self._outcome: FioOutcome | None = None

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """fio, its engine, and the targets are there."""
        self._rate = rate_of(self.context, self.window)
        volumes, size = self._spec.volumes, self._spec.size_bytes
        self._targets = targets_of(self.context, self.window.candidate, volumes, size)
        files = emptied(self._files)
        self._profile = self._spec.profile_of(str(self.window.point.values[PROFILE]))
        patterns, runner = self._profile.patterns, self.context.host.runner
        self._machine = ready(runner, self._targets, files / "tried", patterns)
        yield Subject()

    def act(self) -> None:
        """Run the pattern to its end, on all volumes at once."""
        context, window, pattern = self.context, self.window, self._profile.patterns[0]
        workers = for_workers(self._targets, self._load(), self._profile.workers)
        began_s = context.session.clock.now_s()
        with kept_generations(context, window.candidate, window.id, workers, self._files / "run"):
            found = measure(
                self._machine, pattern, workers, self._files / "run",
                context.session.stop.asked, targets=len(self._targets),
            )  # fmt: skip
        self._outcome = FioOutcome(
            found, pattern, len(workers), window.duration_s, self._rate, names(self._spec.volumes)
        )
        firsts = [rows[0].at_s - rows[0].second for rows in found.seconds.values() if rows]
        from_s = min(firsts, default=began_s + window.ramp_up_s)
        self.times = Times(began_s, from_s, from_s + window.duration_s, complete=True)

    def _load(self) -> Load:
        window = self.window
        return Load(
            duration_s=window.duration_s,
            ramp_s=window.ramp_up_s,
            rate_per_s=self._rate.asked_per_s if self._rate else None,
            verify=self._spec.verify,
            replay=self._spec.replay,
            seed=window.seed % 2**31,
            engine=self._machine.engine,
            data=self._spec.data_of(str(window.point.values[PROFILE])),
        )

    def aftermath(self) -> None:
        """What fio wrote about every request is not kept: the histograms hold it."""
        for each in self._files.glob("run/**/*.log"):
            each.unlink(missing_ok=True)

    def values(self) -> Iterator[MeasuredValue]:
        """Of each operation, and of reads and writes together."""
        yield from self._outcome.values() if self._outcome else ()

    def tables(self, _: Sequence[TimedSample]) -> Iterator[tuple[Table, list[Row]]]:
        """Whole distributions, and every second."""
        name, outcome = self.window.id, self._outcome
        yield HISTOGRAMS, list(outcome.buckets(name)) if outcome else []
        yield IO_SECONDS, list(outcome.seconds(name)) if outcome else []
        yield IO_STREAMS, list(outcome.streams(name)) if outcome else []
        if outcome and outcome.found.by_target:
            yield IO_VOLUMES, list(outcome.of_volumes(name))

    def said(self) -> str:
        """Requests a second, and the 99th percentile."""
        return self._outcome.said() if self._outcome else "nothing"


PLUGINS = (
    Activity("fio", FioActivity, not_needed),
    StepKind("lay-out", lay_out, "loading", "write the target", "write the target"),
    StepKind("precondition", precondition, "loading", "precondition until steady",
             "precondition until steady", is_paced=True),
    StepKind("read-back", read_back, "loading", "read back and compare", "read back and compare"),
)  # fmt: skip
