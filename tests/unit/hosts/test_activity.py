"""What goes on beside a run: the difference between two readings of the kernel's counters."""

import os
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.hosts import activity
from stithy.hosts.activity import TICKS_PER_S, ActivityCounters, OthersReading, Process


def test_activity_is_the_growth_of_counters_between_two_readings() -> None:
    """Of 200 ticks 80 worked, 20 waited for a device, 20 were stolen; who began has no growth."""
    before = ActivityCounters(
        10.0, (100, 0, 100, 700, 0, 0, 0, 0), {7: ("postgres", 50)}, {"vda": 1000}
    )
    ticks = 50 + round(2 * 1.5 * TICKS_PER_S)
    processes = {7: ("postgres", ticks), 8: ("new", 99)}
    after = ActivityCounters(12.0, (160, 0, 120, 780, 20, 0, 0, 20), processes, {"vda": 1500})
    shown = activity.between(before, after)
    assert (shown.cpu_share, shown.steal_share) == pytest.approx((0.4, 0.1))
    assert shown.devices == {"vda": 0.25}
    (found,) = shown.processes
    assert (found.name, found.pid, round(found.cpus, 9)) == ("postgres", 7, 1.5)


def _fake(root: Path, pid: int, parent: int, ticks: int, *, flags: int = 0, io: str = "") -> None:
    (root / str(pid)).mkdir()
    fields = ["S", str(parent), "1", "1", "0", "-1", str(flags), "0", "0", "0", "0"]
    fields += [str(ticks), "4", "0", "0", "20", "0", "1", "0", "77"]
    (root / str(pid) / "stat").write_text(f"{pid} (a (b) c) {' '.join(fields)}\n")
    (root / str(pid) / "io").write_text(io)


def test_counters_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    """A process may call itself anything; this one and loop devices are left out."""
    nothing = activity.watch(FakeClock(), tmp_path)
    assert (nothing.cpu_share, nothing.processes, nothing.devices) == (0.0, (), {})
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3\n")
    (tmp_path / "diskstats").write_text(
        " 254 0 vda 1 0 8 1 1 0 8 1 0 42 2 0 0 0 0 0 0\n"
        "   7 0 loop0 1 0 8 1 1 0 8 1 0 9 2 0 0 0 0 0 0\n"
    )
    _fake(tmp_path, 77, 1, 30)
    _fake(tmp_path, os.getpid(), 1, 30)
    found = activity.read(FakeClock(), tmp_path)
    assert found.cpu_ticks == (1, 2, 3, 4, 5, 6, 7, 8)
    assert found.busy_ms == {"vda": 42}
    assert found.processes == {77: ("a (b) c", 34)}


def test_others_are_neither_ours_nor_those_below_them_nor_the_kernels(tmp_path: Path) -> None:
    """Bytes count that reached storage: what was written and taken back again did not."""
    io = "rchar: 9\nread_bytes: 100\nwrite_bytes: 50\ncancelled_write_bytes: 20\n"
    _fake(tmp_path, 1, 0, 5)
    _fake(tmp_path, 2, 0, 900, flags=0x00200000)
    _fake(tmp_path, 10, 1, 50)
    _fake(tmp_path, 11, 10, 60)
    _fake(tmp_path, 20, 1, 70, io=io)
    (tmp_path / "1/io").unlink()
    found = activity.read_others(FakeClock(), {10}, tmp_path).processes
    assert {pid: (each.name, each.ticks, each.moved_bytes) for (pid, _), each in found.items()} == {
        1: ("a (b) c", 9, 0),
        20: ("a (b) c", 74, 130),
    }


Made = dict[tuple[int, int], tuple[int, float]]


def test_the_time_of_each_process_counts_once() -> None:
    """That of one that ended came to who waited for it; each is its parent and its CPU seconds."""

    def reading(at_s: float, made: Made) -> OthersReading:
        return OthersReading(at_s, {
            key: Process("p", parent, round(used_s * TICKS_PER_S), 0)
            for key, (parent, used_s) in made.items()
        })  # fmt: skip

    parents: Made = {(1, 1): (0, 1), (2, 1): (1, 2)}
    cases: dict[str, tuple[Made, Made, float]] = {
        "it began": ({(1, 1): (0, 5)}, {(1, 1): (0, 5), (3, 1): (1, 0.5)}, 0.5),
        "it ended": ({**parents, (3, 1): (2, 100)}, {**parents, (2, 1): (1, 2 + 103)}, 3),
        "its parent ended too": ({**parents, (3, 1): (2, 100)}, {(1, 1): (0, 1 + 2 + 104)}, 4),
        "its parent does not wait": ({(1, 1): (0, 5), (2, 1): (1, 50)}, {(1, 1): (0, 5)}, 0),
        "its id is used again": ({(7, 1): (1, 90)}, {(7, 2): (1, 3)}, 3),
    }
    for case, (before, after, cpu_s) in cases.items():
        shown = activity.others_between(reading(0, before), reading(10, after))
        expected = (10, cpu_s, ("p",) if cpu_s else ())
        assert (shown.span_s, shown.cpu_s, shown.names) == expected, case


def test_a_renamed_file_was_not_made_and_one_with_an_old_inode_was(tmp_path: Path) -> None:
    """A server recycles its log files; file systems give inode numbers again at once."""
    (tmp_path / "1").write_text("log")
    before = activity.births(tmp_path)
    (tmp_path / "1").rename(tmp_path / "2")
    assert activity.made_between(before, activity.births(tmp_path)) == 0
    for number in range(3, 20):
        before = activity.births(tmp_path)
        (tmp_path / str(number)).write_text("log")
        assert activity.made_between(before, activity.births(tmp_path)) == 1
        (tmp_path / str(number)).unlink()
    assert activity.made_between(before, activity.births(tmp_path / "none")) is None
