"""The limit of a neighbour with databases of its own: of each server, and of what is restored."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.clock import SystemClock
from stithy.hosts.resources import IO, Throttle
from stithy.results.files import read_run
from stithy.run import servers
from stithy.scenarios.noisy_neighbour.beside import divide_limit
from support.faked_run import FakedRun
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
