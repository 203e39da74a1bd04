"""Neighbours: when cycles are due, what of them was achieved, and the limit of their servers."""

import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from fakes.engine import FakeInstance
from fakes.hammer import FakeHammer
from stithy.clock import SystemClock
from stithy.hosts.resources import CPU, IO, Throttle
from stithy.results.files import read_run
from stithy.run import servers
from stithy.scenarios.noisy_neighbour.beside import (
    CycleSchedule,
    NeighbourCycle,
    average_s,
    divide_limit,
    sum_achieved_per_s,
    sum_asked_per_s,
    sum_bytes_per_s,
)
from support.faked_run import FakedRun
from support.lost_runs import TENANTS, beside_nobody
from support.running import left_by

pytestmark = pytest.mark.usefixtures("own_state")


MIB = 2**20
STUDY = """
study: Who hears it?
candidates: {a: {path: "{root}/a"}}
scenario:
  noisy-neighbour: {tenants: 1, aggressor: backup, instances: [1, 2], every: 300 ms, limit: 20 MiB}
database: {engine: postgresql, memory: 256 MiB}
workload: {name: order-entry, warehouses: 1}
load: {users: [2], ramp_up: 0 s, duration: 1 s, repeat: 1, calibrate: false}
"""
Made = list[tuple[str, int]]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Which guards were made, by the files of their server: folders stand for groups."""
    found: Made = []

    def make(
        name: str, place: Path, bytes_per_s: int, _: Path | None, record: Callable[[Path], None]
    ) -> Throttle:
        del record
        found.append((place.name, bytes_per_s))
        path = tmp_path / name
        path.mkdir()
        return Throttle(IO, path)

    monkeypatch.setattr(servers, "make_throttle", make)
    return found


def test_databases_of_a_neighbour_have_equal_parts_of_its_limit(tmp_path: Path, made: Made) -> None:
    """Together they have what is asked for, and reported, however many there are."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), text=STUDY, clock=SystemClock())
    faked.run()
    assert sorted(made) == [
        ("database-1", 10 * MIB), ("database-1", 20 * MIB), ("database-2", 10 * MIB),
    ]  # fmt: skip
    told = read_run(faked.out).values.filter(metric="neighbour.limit_bytes_per_s")
    assert told["value"].to_list() == [20 * MIB, 20 * MIB]
    assert left_by(faked.out) == []


def test_a_part_of_a_limit_is_never_nothing() -> None:
    """The kernel takes no limit of 0."""
    assert [divide_limit(limit, 3) for limit in (None, 10, 2)] == [None, 3, 1]


def test_what_is_restored_is_held_by_the_limit_of_the_server_that_was_backed_up(
    tmp_path: Path, made: Made
) -> None:
    """Version 1 of control groups has a group for it, in which a second server is not by itself."""
    context = FakedRun(tmp_path, text=STUDY).start()
    data = tmp_path / "a" / "database-1"
    data.mkdir(parents=True)
    with context.servers.throttle_server(data, 9, None, "a") as throttle:
        assert throttle is not None
        for beside, held in ((None, False), (data, True)):
            log = tmp_path / "server.log"
            with context.servers.second("a", data, log, {}, name="m0", beside=beside) as instance:
                procs = throttle.path / "cgroup.procs"
                assert (procs.exists() and procs.read_text() == str(instance.pid)) is held
    assert context.servers.throttles == {}
    assert made == [("database-1", 9)]


def test_servers_of_tenants_are_held_to_their_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in a group of its own, as large as the share of its CPUs that the study gives it.

    That the kernel keeps to it: real/test_cpu_share.py.
    """
    cpus: dict[Path, float] = {}

    def make(name: str, count: float, _: Path | None, record: Callable[[Path], None]) -> Throttle:
        del record
        path = tmp_path / name
        path.mkdir()
        cpus[path] = count
        return Throttle(CPU, path)

    monkeypatch.setattr(servers, "make_cap", make)
    text = TENANTS.replace("repeat: 4", "repeat: 1").replace(
        "tenants: 2", "tenants: 2, cpu_share: 30%"
    )
    windows = read_run(beside_nobody(tmp_path, text).out).window
    assert len(cpus) == 2 * windows.height > 0
    assert {round(each, 6) for each in cpus.values()} == {
        round(0.3 * (count or len(os.sched_getaffinity(0))), 6) for count in windows["server_cpus"]
    }
    held = [(path / "cgroup.procs").read_text() for path in cpus]
    assert held == [str(FakeInstance.pid)] * len(cpus)


def _cycles(*times: tuple[float, float], worker: int = 0) -> list[NeighbourCycle]:
    return [NeighbourCycle(worker, begin, end) for begin, end in times]


class _Waiting(threading.Event):
    """Nobody sets it, and to wait for it takes no time but the clock's."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        """Let the time pass."""
        self._clock.sleep_s(timeout or 0.0)
        return False


def _begun(schedule: CycleSchedule, takes_s: float) -> list[float]:
    """When cycles begin that take so long each."""
    clock, begun = FakeClock(0.0), list[float]()
    ended = _Waiting(clock)
    for _ in schedule.wait_until_due(clock, ended):
        begun.append(clock.now_s())
        clock.sleep_s(takes_s)
    return begun


def test_cycles_begin_at_fixed_times_as_long_as_each_ends_before_the_next() -> None:
    """And none begins after the window's end."""
    assert _begun(CycleSchedule(2.0, 12.0, 4.0), takes_s=1.0) == [2.0, 6.0, 10.0]
    assert _begun(CycleSchedule(2.0, 12.0, 4.0, most=2), takes_s=1.0) == [2.0, 6.0]


def test_a_cycle_that_takes_too_long_delays_the_next_and_nothing_piles_up() -> None:
    """After it they are as far apart as they were to be, and not nearer."""
    assert _begun(CycleSchedule(0.0, 12.0, 4.0), takes_s=5.0) == [0.0, 5.0, 10.0]
    assert _begun(CycleSchedule(0.0, 10.0, 0.0), takes_s=4.0) == [0.0, 4.0, 8.0]


CUT = partial(NeighbourCycle, 0, cut=True)


@pytest.mark.parametrize(("cycles", "workers", "apart_s", "per_s"), [
    # Two workers with a cycle every 5 s each: 0.4 a second, though the last ends early.
    (_cycles((0, 2), (5, 8)) + _cycles((0, 1), worker=1), 2, 5.0, 0.4),
    # Three cycles of 8 s for which 15 s were meant: 3 in 24 s.
    (_cycles((0, 8), (8, 16), (16, 24)), 1, 5.0, 3 / 24),
    # One of two that ended: half of what was asked. Who works at once has its own pace.
    ([*_cycles((0, 2)), NeighbourCycle(0, 5, 6, failed_because="no"), CUT(10, 11)], 1, 5.0, 0.1),
    (_cycles((0, 2), (2, 4)), 1, 0.0, 0.5),
    # No cycle of 12 s where 5 s were meant ended; nobody knows of one that was cut after 3 s.
    ([CUT(0, 12)], 1, 5.0, 0.0),
    ([*_cycles((0, 2)), CUT(5, 17)], 1, 5.0, 1 / 17),
    ([*_cycles((0, 2)), CUT(5, 8)], 1, 5.0, 0.2),
    ([CUT(0, 12)], 1, 0.0, None),
    # The rate of a worker that ended no cycle is unknown, and so is that of all.
    (_cycles((0, 2)), 2, 5.0, None),
    ([CUT(0, 4)], 1, 5.0, None),
])  # fmt: skip
def test_who_keeps_up_achieves_what_is_asked_and_who_falls_behind_what_the_time_allowed(
    cycles: list[NeighbourCycle], workers: int, apart_s: float, per_s: float | None
) -> None:
    """What failed counts for nothing, what was cut is left out, or late if its time was over."""
    found = sum_achieved_per_s(cycles, workers, apart_s)
    assert found == (per_s if per_s is None else pytest.approx(per_s))


def test_bytes_a_second_are_those_of_all_workers_while_they_were_at_it() -> None:
    """100 in 2 s and 300 in 3 s are 75 a second on average; another worker adds its own 10."""
    first = [NeighbourCycle(0, 0, 2, size_bytes=100), NeighbourCycle(0, 9, 12, size_bytes=300)]
    second = [NeighbourCycle(1, 0, 10, size_bytes=100)]
    assert sum_bytes_per_s([*first, *second], 2) == pytest.approx((50 + 100) / 2 + 10)
    assert average_s([*first, *second]) == pytest.approx(5.0)
    assert (sum_bytes_per_s([], 1), average_s([])) == (None, None)
    assert sum_asked_per_s(2, 5.0) == pytest.approx(0.4)
    assert sum_asked_per_s(1, 0.0) is None
