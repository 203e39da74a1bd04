"""Cycles of a neighbour, one after the other or at fixed times, and what was achieved by them."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from stithy.clock import Clock
from stithy.engines.instance import Instance
from stithy.errors import (
    InfrastructureError,
    Interrupted,
    StithyError,
    convert_machine_failures,
    give_reason,
)
from stithy.plan.steps import WindowPlan
from stithy.results.layout import empty_folder
from stithy.run.activity import Activity, BasicActivity, Span, Subject, Times, WindowValue
from stithy.run.context import Context
from stithy.run.datasets import has_holes
from stithy.run.volumes import name_master
from stithy.scenarios.noisy_neighbour.aggressor import OwnDatabase
from stithy.scenarios.noisy_neighbour.declared import WHOLE, name_cycle
from stithy.scenarios.noisy_neighbour.plan import NEIGHBOUR, find_level, find_spec
from stithy.scenarios.noisy_neighbour.tenants import compute_lead_s
from stithy.storage.consent import OTHER
from stithy.storage.copy import copy_tree, drop_cached_pages, sync_filesystem
from stithy.storage.provider import Role
from stithy.units import format_duration, format_size

PAUSE_AFTER_FAILURE_S = 1.0
"""Own: what fails at once must not be tried as fast as a processor can."""


@dataclass(frozen=True)
class NeighbourCycle:
    """One cycle of a worker, numbered from 0; Unix time.

    `parts`: its parts by name, each from and to. `size_bytes`: what of a database it worked on.
    `cut`: the window ended before it did, so that it counts neither as done nor as failed.
    """

    worker: int
    from_s: float
    to_s: float
    parts: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    size_bytes: int = 0
    failed_because: str | None = None
    cut: bool = False

    @property
    def done(self) -> bool:
        """Whether it came to its end and succeeded."""
        return not self.cut and self.failed_because is None

    @property
    def duration_s(self) -> float:
        """How long it took."""
        return self.to_s - self.from_s


@dataclass(frozen=True)
class CycleSchedule:
    """When cycles begin: the first at `first_s`, then every `every_s`, none from `until_s` on.

    `most`: how many there are at most, None for any number.
    """

    first_s: float
    until_s: float
    every_s: float
    most: int | None = None

    def wait_until_due(self, clock: Clock, ended: threading.Event) -> Iterator[None]:
        """A turn for each cycle, once its time has come; ends with the window.

        A cycle that ends after the next was due delays that one, and no work piles up.
        """
        due_s, count = self.first_s, 0
        while due_s < self.until_s and (self.most is None or count < self.most):
            if ended.wait(max(0.0, due_s - clock.now_s())):
                return
            yield
            due_s, count = max(due_s + self.every_s, clock.now_s()), count + 1


def sum_asked_per_s(workers: int, every_s: float) -> float | None:
    """Cycles per second that are asked of all workers; None where each begins at once."""
    return workers / every_s if every_s else None


def sum_achieved_per_s(
    cycles: Sequence[NeighbourCycle], workers: int, every_s: float
) -> float | None:
    """Successful cycles per second of all workers; None where a worker ended none.

    Each worker's cycles that ended had to take so many times `every_s`. Where they took longer,
    that is the time in which they were done. So who keeps up achieves what is asked, however short
    a window is. A cycle that was cut counts where it had taken longer than `every_s` already.
    """
    whole = 0.0
    for worker in range(workers):
        known = [cycle for cycle in cycles if cycle.worker == worker
                 and (not cycle.cut or 0 < every_s < cycle.duration_s)]  # fmt: skip
        lasted_s = known[-1].to_s - known[0].from_s if known else 0.0
        taken_s = max(sum(not each.cut for each in known) * every_s, lasted_s)
        if taken_s <= 0:
            return None
        whole += sum(each.done for each in known) / taken_s
    return whole


def sum_bytes_per_s(cycles: Sequence[NeighbourCycle], workers: int) -> float | None:
    """Bytes of databases per second of all workers while they were at it; None without any."""
    rates = [
        fmean(each.size_bytes / each.duration_s for each in own)
        for one in range(workers)
        if (own := [cycle for cycle in cycles if cycle.worker == one and cycle.done
                    and cycle.duration_s > 0])
    ]  # fmt: skip
    return sum(rates) if rates else None


def average_s(cycles: Sequence[NeighbourCycle]) -> float | None:
    """How long a cycle took that succeeded; None without any."""
    took = [cycle.duration_s for cycle in cycles if cycle.done]
    return fmean(took) if took else None


TAIL_S = 1.0
"""How long the neighbour works on after the users' measurement, which it must outlast."""

AS_FAST_AS_IT_CAN = "it works as fast as it can"
BY_BYTES = "its limit counts bytes, not cycles"
NO_CYCLE = "no cycle of it ended within the window"


@dataclass(frozen=True)
class OwnPlace:
    """A database of the neighbour, numbered from 0, and the groups of its processes."""

    number: int
    data: Path
    memory_cgroup: Path | None
    io_cgroup: Path | None


class Beside(BasicActivity):
    """What the neighbour does in a window. `workers` are at work at once, on `servers` servers.

    `at_measurement`: whether its first cycles begin with the measurement, and not before.
    `shows_all`: whether cycles that follow each other at once are spans, too, if they succeed.
    """

    name, who = "", "the neighbour"
    servers, workers = 1, 1
    at_measurement, shows_all = False, True
    most: int | None = None

    def __init__(self, context: Context, window: WindowPlan) -> None:
        super().__init__(context, window)
        spec = find_spec(context.file.study.at(window.point))
        assert isinstance(spec, OwnDatabase)  # as all have who are made here
        self.spec, self.level = spec, find_level(window.point)
        self.files = context.session.directory.window(window.id).root / NEIGHBOUR
        self.up: list[Instance] = []
        self.cycles: list[NeighbourCycle] = []
        self.ended = threading.Event()

    def cycle(self, worker: int) -> NeighbourCycle:
        """Do it once. Raises StithyError where it fails, Interrupted where it was cut."""
        raise NotImplementedError

    def prepared(self, place: OwnPlace) -> Mapping[str, str]:
        """What comes before the start of a server; the settings that it gets besides."""
        return {}

    def warm_up(self) -> None:
        """What comes before the users begin, once all servers run."""

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        empty_folder(self.files)
        with ExitStack() as stack:
            self.up = [stack.enter_context(self._server(n)) for n in range(self.servers)]
            self.warm_up()
            yield Subject(pids=frozenset(one.pid for one in self.up if one.pid is not None))

    @contextmanager
    def _server(self, number: int) -> Iterator[Instance]:
        servers, candidate = self.context.servers, self.window.candidate
        data = find_data(self.context, candidate, self.spec.volume, number)
        with servers.limited(candidate, self.window.point) as limit:
            group = limit.group.path if limit.group else None
            share = divide_limit(self.spec.limit, self.servers)
            with servers.throttle_server(data, share, group, candidate) as throttle:
                place = OwnPlace(number, data, group, throttle.path if throttle else None)
                with servers.second(
                    candidate, data, self.log(number), self.prepared(place), name=f"n{number}",
                    memory_cgroup=group, point=self.window.point,
                ) as instance:  # fmt: skip
                    if throttle is not None and instance.pid is not None:
                        throttle.hold(instance.pid)
                    yield instance

    def log(self, number: int) -> Path:
        """Where a server and the programs that work on it write."""
        return self.files / f"server-{number + 1}.log"

    def act(self) -> None:
        clock, window = self.context.session.clock, self.window
        began_s, asked = clock.now_s(), self.context.session.stop.asked
        from_s = began_s + compute_lead_s(window.instances) + window.ramp_up_s
        rest_s = self.spec.limit_rest_s(window.duration_s)
        until_s = from_s + window.duration_s + (-rest_s or TAIL_S)
        first_s = from_s + rest_s if self.at_measurement or rest_s else began_s
        schedule = CycleSchedule(first_s, until_s, self.spec.every_s, self.most)
        with ThreadPoolExecutor(self.workers) as pool:
            working = [pool.submit(self._work, n, schedule) for n in range(self.workers)]
            try:
                while not self.ended.is_set() and (left_s := until_s - clock.now_s()) > 0:
                    if asked.wait(min(left_s, 0.2)):
                        break
                ended_s = clock.now_s()
            finally:
                # Whoever still works is cut; a server that is gone is why the window is lost.
                for instance in self.up:
                    self._lose_by(instance)
                self.ended.set()
                for instance in self.up:
                    instance.stop(at_once=True)
        for each in working:
            each.result()
        self.context.session.stop.check()
        if self.ended_because is None:
            self.times = Times(min(first_s, ended_s), from_s, ended_s, complete=True)

    def _lose_by(self, instance: Instance) -> None:
        """A server that ended by itself leaves a neighbour that is not what was asked for."""
        ended = None if self.ended.is_set() else instance.ended_by()
        if ended is not None and self.ended_because is None:
            self.ended_because = f"the neighbour failed: its server {ended}"

    def _work(self, worker: int, schedule: CycleSchedule) -> None:
        clock = self.context.session.clock
        for _ in schedule.wait_until_due(clock, self.ended):
            began_s = clock.now_s()
            done = self._try_cycle(worker, began_s)
            self.cycles.append(done)
            self._lose_by(self.up[worker % len(self.up)])
            if done.cut or self.ended_because is not None:
                return
            if done.failed_because is not None:
                self.ended.wait(PAUSE_AFTER_FAILURE_S)

    def _try_cycle(self, worker: int, began_s: float) -> NeighbourCycle:
        clock, because, cut = self.context.session.clock, None, False
        try:
            with convert_machine_failures("the neighbour"):
                return self.cycle(worker)
        except Interrupted:
            cut = True
        except StithyError as error:
            # What ended with the window did not fail.
            cut, because = self.ended.is_set(), error.text
        failed = None if cut else because
        return NeighbourCycle(worker, began_s, clock.now_s(), failed_because=failed, cut=cut)

    def values(self) -> Iterator[WindowValue]:
        workers, every_s, limit = self.workers, self.spec.every_s, self.spec.limit
        asked = sum_asked_per_s(workers, every_s)
        free = AS_FAST_AS_IT_CAN if asked is None else None
        yield WindowValue("neighbour.asked_per_s", asked, missing_because=free)
        offered, why = (asked, free) if limit is None else (None, BY_BYTES)
        yield WindowValue("neighbour.offered_per_s", offered, missing_because=why)
        found = {
            "neighbour.achieved_per_s": sum_achieved_per_s(self.cycles, workers, every_s),
            "neighbour.mean_s": average_s(self.cycles),
            "neighbour.bytes_per_s": sum_bytes_per_s(self.cycles, workers),
        }
        for metric, value in found.items():
            missing = None if value is not None else self.ended_because or NO_CYCLE
            yield WindowValue(metric, value, missing_because=missing)
        if limit is not None:
            yield WindowValue("neighbour.limit_bytes_per_s", float(limit))
        for number, each in enumerate(self._in_order, 1):
            if each.done and each.size_bytes:
                size = float(each.size_bytes)
                yield WindowValue("neighbour.cycle_bytes", size, name_cycle(number))

    def spans(self) -> Iterator[Span]:
        if self.times is not None:
            yield Span(WHOLE, self.times.started_at_s, self.times.measure_to_s, "done")
        for number, each in enumerate(self._in_order, 1):
            because = each.failed_because
            if because is None and not self.shows_all and not self.spec.every_s:
                continue
            outcome = "cut" if each.cut else "failed" if because else "done"
            yield Span(name_cycle(number), each.from_s, each.to_s, outcome, because)
            for part, (from_s, to_s) in each.parts.items():
                yield Span(name_cycle(number, part), from_s, to_s, outcome, because)

    @property
    def _in_order(self) -> list[NeighbourCycle]:
        return sorted(self.cycles, key=lambda one: one.from_s)

    def said(self) -> str:
        done, took_s = sum(each.done for each in self.cycles), average_s(self.cycles)
        failed = sum(cycle.failed_because is not None for cycle in self.cycles)
        said = f"neighbour: {done} {self.name}{'' if done == 1 else 's'}"
        said += f" of {format_duration(took_s)}" if took_s else ""
        return f"{said}, {failed} FAILED" if failed else said


def divide_limit(limit: int | None, servers: int) -> int | None:
    """What one of several servers has of a limit in bytes per second; None without one.

    Own: equal parts, because in version 2 of control groups each server's memory group has it.
    """
    return None if limit is None else max(1, limit // servers)


def find_data(context: Context, candidate: str, role: Role, number: int) -> Path:
    """The files of one of the neighbour's databases, numbered from 0."""
    return context.volumes.of(candidate).get_part(role).path / OTHER / f"database-{number + 1}"


def lay_out_databases(context: Context, candidate: str) -> str:
    """Copy the dataset for each of the neighbour's databases; in words."""
    spec, dataset = find_spec(context.file.study), context.plan.datasets[0]
    tree = context.volumes.make_tree(candidate, OTHER, spec.volume)
    master = context.volumes.masters_place / name_master(dataset)
    most = max(find_spec(variant).count_servers_beside() for variant in context.file.study.variants)
    for number in range(most):
        place = find_data(context, candidate, spec.volume, number)
        place.mkdir(mode=0o700)
        try:
            copy_tree(master, place, has_holes=has_holes(context, dataset))
        except OSError as error:
            raise InfrastructureError(
                f"the neighbour's database could not be copied: {give_reason(error)}",
                where=str(place),
                remedy="free space there, or look for errors of the device in the kernel log",
            ) from error
    sync_filesystem(tree)
    if not context.volumes.of(candidate).memory_backed:
        drop_cached_pages(tree)
    size = most * context.volumes.masters[dataset.name].size_bytes
    return f"{most} database{'' if most == 1 else 's'} of the neighbour, {format_size(size)}"


@dataclass(frozen=True)
class NeighbourActivity(Activity):
    """What an aggressor does; `lay_out` makes what it needs on a candidate, once, and says what."""

    lay_out: Callable[[Context, str], str] = lay_out_databases
