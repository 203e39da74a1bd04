"""A neighbour that reads the large tables of a database of its own from end to end."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from stithy.activities.backup.cycles import Backups, Whose
from stithy.activities.backup.cycles import Cycle as OneWay
from stithy.engines.engine import get_engine
from stithy.errors import InfrastructureError, Interrupted, StithyError, convert_machine_failures
from stithy.fio import library
from stithy.fio.load import FioLoad, FioTarget
from stithy.fio.measure import Measured as FioMeasured
from stithy.fio.measure import lay_out as write_target
from stithy.fio.measure import make_file, measure, prepare_fio
from stithy.fio.output import merge_histograms
from stithy.plan.steps import Step, WindowPlan, derive_seed
from stithy.registry import plugins
from stithy.results.layout import empty_folder
from stithy.run.activity import Activity, BasicActivity, Span, StepKind, Subject, Times, WindowValue
from stithy.run.context import Context, make_choice
from stithy.scenarios.noisy_neighbour.aggressors import analytic_scan, backup, block_io, bulk_load
from stithy.scenarios.noisy_neighbour.beside import (
    Beside,
    NeighbourActivity,
    NeighbourCycle,
    OwnPlace,
)
from stithy.scenarios.noisy_neighbour.declared import WHOLE
from stithy.scenarios.noisy_neighbour.plan import (
    OF_NEIGHBOURS,
    find_level,
    find_spec,
    name_activity,
)
from stithy.scenarios.noisy_neighbour.tenants import TenantsActivity, compute_lead_s
from stithy.storage.consent import OTHER
from stithy.study.model import Study
from stithy.units import format_size
from stithy.wire.hammer import ProgressWatch


class NeighbourAnalyticScan(Beside):
    """The scans of a window, by as many connections as the point says."""

    name = "scan"
    shows_all = False  # there may be thousands

    def __init__(self, context: Context, window: WindowPlan) -> None:
        super().__init__(context, window)
        self.workers = self.level
        self._scans: dict[int, Iterator[int]] = {}

    def cycle(self, worker: int) -> NeighbourCycle:
        clock = self.context.session.clock
        began_s = clock.now_s()
        if worker not in self._scans:
            chores = get_engine(self.context.file.study.database.engine).get_chores()
            self._scans[worker] = chores.scans(self.up[0].url)
        try:
            size = next(self._scans[worker])
        except BaseException:
            del self._scans[worker]  # the next one connects again
            raise
        return NeighbourCycle(worker, began_s, clock.now_s(), size_bytes=size)


class NeighbourBackup(Beside):
    """The cycles of a window, of as many databases as the point says."""

    name = "cycle"
    at_measurement = True

    def __init__(self, context: Context, window: WindowPlan) -> None:
        super().__init__(context, window)
        self.servers = self.workers = self.level
        self.most = self.asked.cycles
        self._backups: list[Backups] = []

    @property
    def asked(self) -> backup.BackupAggressorSpec:
        """Its keys."""
        assert isinstance(self.spec, backup.BackupAggressorSpec)  # as the plan chose this activity
        return self.spec

    def prepared(self, place: OwnPlace) -> Mapping[str, str]:
        method = get_engine(self.context.file.study.database.engine).get_backup(self.asked.method)
        own = Backups(
            self.context, self.window.candidate, method, self.asked.options,
            Whose(place.data, f"{OTHER}-{place.number + 1}-", f"m{place.number}",
                  self.spec.volume, place.memory_cgroup, place.io_cgroup, self.ended),
        )  # fmt: skip
        own.prepare(self.log(place.number))
        self._backups.append(own)
        return self.context.servers.more.get(place.data, {})

    def warm_up(self) -> None:
        """A full backup, where those of the cycles build on one."""
        for number, own in enumerate(self._backups):
            own.begin(self.up[number], self.log(number))

    def cycle(self, worker: int) -> NeighbourCycle:
        own, log = self._backups[worker], self.log(worker)
        taken = _require_success(own.take(self.up[worker], log), "backup")
        with own.restored(log) as (found, _):
            restored = _require_success(found, "restore")
        parts = {"backup": (taken.from_s, taken.to_s), "restore": (restored.from_s, restored.to_s)}
        return NeighbourCycle(worker, taken.from_s, restored.to_s, parts, taken.source_bytes)

    def end(self) -> None:
        for each in self._backups:
            each.remove()


def _require_success(one: OneWay, what: str) -> OneWay:
    if one.failed_because is not None:
        raise InfrastructureError(one.failed_because, where=what, remedy="read its log")
    return one


class NeighbourBulkLoad(Beside):
    """The loads of a window, by as many connections as the point says."""

    name = "load"

    def warm_up(self) -> None:
        """An empty database, whatever an earlier window left."""
        self._empty()

    def _empty(self) -> None:
        get_engine(self.context.file.study.database.engine).get_chores().empty(self.up[0].url)

    def cycle(self, worker: int) -> NeighbourCycle:
        context, clock = self.context, self.context.session.clock
        dataset, began_s = context.plan.datasets[0], clock.now_s()
        study = context.study_of(dataset.name)
        if self.cycles:  # also one that failed has left tables
            self._empty()
        context.hammer(self.up[0].url).prepare(
            make_choice(study),
            seed=derive_seed(context.plan.seed, "data"),
            loaders=self.level,
            data=context.data_of(dataset.name),
            watch=ProgressWatch(raw_output=self.files / "load.jsonl", stop=self.ended),
        )
        size = context.workload.data_bytes(study.workload.size)
        return NeighbourCycle(worker, began_s, clock.now_s(), size_bytes=size)


BLOCK_IO = f"neighbour-{block_io.NAME}"
FILE = "file"
FOLDER = "neighbour"
NS_PER_S = 1e9


class NeighbourBlockIo(BasicActivity):
    """The I/O of the neighbour in a window."""

    who = "the neighbour"

    def __init__(self, context: Context, window: WindowPlan) -> None:
        super().__init__(context, window)
        self._spec = _find_keys(context.file.study.at(window.point))
        self._files = context.session.directory.window(window.id).root / FOLDER
        self._found: FioMeasured | None = None

    @property
    def _asked_per_s(self) -> int:
        return find_level(self.window.point)

    @property
    def _offered_per_s(self) -> float:
        return float(min(self._asked_per_s, self._spec.limit or self._asked_per_s))

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        self._target = make_target(self.context, self.window.candidate)
        files = empty_folder(self._files)
        patterns, runner = library.find(self._spec.profile).patterns, self.context.host.runner
        self._machine = prepare_fio(runner, [self._target], files / "tried", patterns)
        yield Subject()

    def act(self) -> None:
        """Run the pattern until the users' measurement has ended, or until it is to rest."""
        context, window, spec = self.context, self.window, self._spec
        pattern = library.find(spec.profile).patterns[0]
        before_s = compute_lead_s(window.instances) + window.ramp_up_s
        rest_s = spec.limit_rest_s(window.duration_s)
        if rest_s:
            context.session.stop.asked.wait(before_s + rest_s)
            context.session.stop.check()
        load = FioLoad(
            duration_s=window.duration_s - 2 * rest_s if rest_s else window.duration_s + 1,
            ramp_s=0.0 if rest_s else before_s,
            rate_per_s=self._offered_per_s,
            bounded=True,
            seed=derive_seed(window.seed, BLOCK_IO) % 2**31,
            engine=self._machine.engine,
        )
        began_s = context.session.clock.now_s()
        try:
            with convert_machine_failures("the neighbour"):
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

    def values(self) -> Iterator[WindowValue]:
        asked, found = float(self._asked_per_s), self._found
        yield WindowValue("neighbour.asked_per_s", asked)
        yield WindowValue("neighbour.offered_per_s", self._offered_per_s)
        because = None if found else self.ended_because or "it never began"
        yield WindowValue("neighbour.achieved_per_s", found.iops if found else None,
                       missing_because=because)  # fmt: skip
        latency = merge_histograms(each.latency for each in found.answers) if found else None
        mean_s = latency.mean_s if latency else None
        missing = because or (None if mean_s is not None else "nothing was answered")
        yield WindowValue("neighbour.mean_s", mean_s, missing_because=missing)

    def spans(self) -> tuple[Span, ...]:
        if self.times is None:
            return ()
        return (Span(WHOLE, self.times.started_at_s, self.times.measure_to_s, "done"),)

    def said(self) -> str:
        done = f"{self._found.iops:,.0f}" if self._found else "none"
        return f"neighbour {done} of {self._asked_per_s:,} requests a second"


def _find_keys(study: Study) -> block_io.BlockIoAggressorSpec:
    spec = find_spec(study)
    assert isinstance(spec, block_io.BlockIoAggressorSpec)  # as the plan chose this activity
    return spec


def make_target(context: Context, candidate: str) -> FioTarget:
    """The neighbour's file."""
    spec = _find_keys(context.file.study)
    volume = context.volumes.of(candidate).get_part(spec.volume)
    return FioTarget(str(volume.path / OTHER / FILE), spec.size_bytes)


def lay_out_file(context: Context, candidate: str) -> str:
    """Write the neighbour's file once; in words."""
    context.volumes.make_tree(candidate, OTHER, find_spec(context.file.study).volume)
    target = make_target(context, candidate)
    make_file(target)
    folder = empty_folder(context.session.directory.root / FOLDER / candidate)
    machine = prepare_fio(context.host.runner, [target], folder / "tried")
    seed = derive_seed(context.plan.seed, BLOCK_IO) % 2**31
    stop = context.session.stop.asked
    write_target(machine, target, folder / "written", seed=seed, stop=stop)
    return f"{format_size(target.size_bytes)} written"


def lay_out_neighbour(context: Context, step: Step) -> str:
    """Write what the neighbour needs, once, before anything is measured beside it."""
    activity = plugins(Activity)[name_activity(find_spec(context.file.study))]
    assert isinstance(activity, NeighbourActivity)  # as aggressors are
    return activity.lay_out(context, step.whose)


PLUGINS = (
    Activity("tenants", TenantsActivity),
    NeighbourActivity(f"{OF_NEIGHBOURS}{analytic_scan.NAME}", NeighbourAnalyticScan),
    NeighbourActivity(f"{OF_NEIGHBOURS}{backup.NAME}", NeighbourBackup),
    NeighbourActivity(BLOCK_IO, NeighbourBlockIo, lay_out=lay_out_file),
    NeighbourActivity(f"{OF_NEIGHBOURS}{bulk_load.NAME}", NeighbourBulkLoad),
    StepKind("lay-out-neighbour", lay_out_neighbour, "copying", "write the neighbour's files",
             "write the neighbour's files"),
)  # fmt: skip
