"""The CPU time of the database server: of all its processes, also of those that have ended."""

from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.collectors import server
from stithy.collectors.collector import Sample

TICKS = server.TICKS_PER_S


def _process(proc: Path, pid: int, place: Path, user: int, waited: int = 0) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cwd").unlink(missing_ok=True)
    (folder / "cwd").symlink_to(place)
    numbers = ["S", "1", *["0"] * 9, str(user), "0", str(waited), "0", *["0"] * 4, "7"]
    (folder / "stat").write_text(f"{pid} (postgres: a b) {' '.join(numbers)}\n")


def test_processes_in_the_data_directory_count(tmp_path: Path) -> None:
    """What a child has used goes to the parent that waited for it, and is not lost.

    A server beside it on the volume, and one whose directory's name begins alike, are others.
    """
    proc, volume = tmp_path / "proc", tmp_path / "volume"
    data, other, alike = (volume / name for name in ("data", "restored", "data-2"))
    for each in (data, other, alike):
        each.mkdir(parents=True)
    clock = FakeClock()
    collector = server.sample_server(data, proc, clock)
    _process(proc, 10, data, user=5 * TICKS)
    _process(proc, 11, data / "base", user=1 * TICKS)
    for pid, place in ((12, tmp_path), (13, other), (14, alike)):
        _process(proc, pid, place, user=0)
    assert collector.sample() == []
    clock.sleep_s(2.0)
    for each in (proc / "11").iterdir():
        each.unlink()
    (proc / "11").rmdir()
    _process(proc, 10, data, user=6 * TICKS, waited=2 * TICKS)
    for pid, place in ((12, tmp_path), (13, other), (14, alike)):
        _process(proc, pid, place, user=100 * TICKS)
    [found] = collector.sample()
    assert found.value == pytest.approx(1.0)


def test_without_a_process_nothing_is_said_to_be_zero(tmp_path: Path) -> None:
    """It is missing, with its reason."""
    (tmp_path / "proc").mkdir()
    collector = server.sample_server(tmp_path, tmp_path / "proc", clock := FakeClock())
    assert collector.sample() == []
    clock.sleep_s(1.0)
    assert collector.sample() == [Sample("", "cpu_share", None, server.NO_PROCESS)]
