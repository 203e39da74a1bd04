"""A neighbour that reads and writes a file of its own beside the tenants, by fio, at a rate.

As many requests are outstanding as its pattern has, no more: a neighbour that is slowed down does
not pile up work, and what it achieved says how far it got.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from stithy.errors import Interrupted, StithyError, failures_of_the_machine
from stithy.fio import library
from stithy.fio.histogram import merged
from stithy.fio.load import Load, Target
from stithy.fio.measure import Measured as FioMeasured
from stithy.fio.measure import lay_out as write_target
from stithy.fio.measure import measure, ready
from stithy.plan.steps import WindowPlan, derive_seed
from stithy.results.files import emptied
from stithy.run.activities.fio.targets import make_file
from stithy.run.activities.tenants import lead_s
from stithy.run.activity import Basic, Measured, Span, Subject, Times
from stithy.run.context import Context
from stithy.scenarios.noisy_neighbour.aggressors import block_io
from stithy.scenarios.noisy_neighbour.plan import level_of, spec_of
from stithy.scenarios.noisy_neighbour.spans import WHOLE
from stithy.storage.consent import NEIGHBOUR
from stithy.study.model import Study
from stithy.units import format_size

NAME = f"neighbour-{block_io.NAME}"
FILE = "file"
FOLDER = "neighbour"
NS_PER_S = 1e9


class NeighbourBlockIo(Basic):
    """The I/O of the neighbour in a window."""

    who = "the neighbour"

    def __init__(self, context: Context, window: WindowPlan) -> None:
        """Nothing is read or written yet."""
        super().__init__(context, window)
        self._spec = _keys(context.file.study.at(window.point))
        self._files = context.session.directory.window(window.id).root / FOLDER
        self._found: FioMeasured | None = None

    @property
    def _asked_per_s(self) -> int:
        return level_of(self.window.point)

    @property
    def _offered_per_s(self) -> float:
        """What its guard lets through."""
        return float(min(self._asked_per_s, self._spec.limit or self._asked_per_s))

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """fio, its engine, and the file are there."""
        self._target = target_of(self.context, self.window.candidate)
        files = emptied(self._files)
        patterns, runner = library.find(self._spec.profile).patterns, self.context.host.runner
        self._machine = ready(runner, [self._target], files / "tried", patterns)
        yield Subject()

    def act(self) -> None:
        """Run the pattern until the users' measurement has ended, or until it is to rest."""
        context, window, spec = self.context, self.window, self._spec
        pattern = library.find(spec.profile).patterns[0]
        before_s = lead_s(window.tenants) + window.ramp_up_s
        rest_s = spec.rests_s(window.duration_s)
        if rest_s:
            context.session.stop.asked.wait(before_s + rest_s)
            context.session.stop.check()
        load = Load(
            duration_s=window.duration_s - 2 * rest_s if rest_s else window.duration_s + 1,
            ramp_s=0.0 if rest_s else before_s,
            rate_per_s=self._offered_per_s,
            bounded=True,
            seed=derive_seed(window.seed, NAME) % 2**31,
            engine=self._machine.engine,
        )
        began_s = context.session.clock.now_s()
        try:
            with failures_of_the_machine("the neighbour"):
                self._found = measure(
                    self._machine, pattern, [(self._target, load)], self._files / "run",
                    context.session.stop.asked,
                )  # fmt: skip
        except Interrupted:
            raise
        except StithyError as error:
            # The tenants work on: what fails is this window's neighbour, and no other window's.
            self.ended_because = f"the neighbour failed: {error.text}"
            return
        from_s = began_s + load.ramp_s
        ended_s = context.session.clock.now_s()
        self.times = Times(began_s, from_s, ended_s, complete=True)

    def aftermath(self) -> None:
        """What fio wrote about every request is not kept."""
        for each in self._files.glob("run/**/*.log"):
            each.unlink(missing_ok=True)

    def values(self) -> Iterator[Measured]:
        """What was asked and what came of it."""
        asked, found = float(self._asked_per_s), self._found
        yield Measured("neighbour.asked_per_s", asked)
        yield Measured("neighbour.offered_per_s", self._offered_per_s)
        because = None if found else self.ended_because or "it never began"
        yield Measured("neighbour.achieved_per_s", found.iops if found else None,
                       missing_because=because)  # fmt: skip
        latency = merged(each.latency for each in found.answers) if found else None
        mean_s = latency.mean_s if latency else None
        missing = because or (None if mean_s is not None else "nothing was answered")
        yield Measured("neighbour.mean_s", mean_s, missing_because=missing)

    def spans(self) -> tuple[Span, ...]:
        """While it worked."""
        if self.times is None:
            return ()
        return (Span(WHOLE, self.times.started_at_s, self.times.measure_to_s, "done"),)

    def said(self) -> str:
        """What it did of what was asked."""
        done = f"{self._found.iops:,.0f}" if self._found else "none"
        return f"neighbour {done} of {self._asked_per_s:,} requests a second"


def _keys(study: Study) -> block_io.Spec:
    spec = spec_of(study)
    assert isinstance(spec, block_io.Spec)  # as the plan chose this activity
    return spec


def target_of(context: Context, candidate: str) -> Target:
    """The neighbour's file."""
    spec = _keys(context.file.study)
    volume = context.volumes.of(candidate).of(spec.volume)
    return Target(str(volume.path / NEIGHBOUR / FILE), spec.size_bytes)


def lay_out(context: Context, candidate: str) -> str:
    """Write the neighbour's file once; in words."""
    context.volumes.make_tree(candidate, NEIGHBOUR, spec_of(context.file.study).volume)
    target = target_of(context, candidate)
    make_file(target)
    folder = emptied(context.session.directory.root / FOLDER / candidate)
    machine = ready(context.host.runner, [target], folder / "tried")
    seed = derive_seed(context.plan.seed, NAME) % 2**31
    stop = context.session.stop.asked
    write_target(machine, target, folder / "written", seed=seed, stop=stop)
    return f"{format_size(target.size_bytes)} written"


create = NeighbourBlockIo
