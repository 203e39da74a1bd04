"""What goes on beside a run: the difference between two readings of the kernel's counters."""

import os
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path
from subprocess import Popen

import pytest

from fakes.clock import FakeClock
from stithy.clock import SystemClock
from stithy.hosts import activity
from stithy.hosts.activity import (
    TICKS_PER_S,
    ActivityCounters,
    BusyProgram,
    Key,
    Process,
    compare_counters,
    read,
)
from stithy.hosts.devices import DiskCounters
from stithy.hosts.processes import find_descendants

Made = dict[Key, tuple[int, float, int | None]]


def _processes(made: Made) -> Mapping[Key, Process]:
    """By key: parent, CPU seconds, bytes."""
    return {
        key: Process("p", parent, round(used_s * TICKS_PER_S), moved)
        for key, (parent, used_s, moved) in made.items()
    }


def _ticks(user_s: float, idle_s: float, steal_s: float = 0.0) -> tuple[int, ...]:
    values = (user_s, 0, 0, idle_s, 0, 0, 0, steal_s)
    return tuple(round(value * TICKS_PER_S) for value in values)


def _disk(busy_ms: int) -> Mapping[str, DiskCounters]:
    return {"vda": DiskCounters({}, {}, {}, busy_ms, 0)}


def test_activity_is_what_others_did_between_two_readings() -> None:
    """Of 4 s of CPU the visible took 1, the run 0.5, and 0.7 nobody who is shown."""
    before = ActivityCounters(
        10.0, _processes({(7, 1): (1, 0, 0), (8, 1): (1, 5, None)}),
        _processes({(9, 1): (1, 0, 0)}), _ticks(0, 0), _disk(1000),
    )  # fmt: skip
    after = ActivityCounters(
        12.0, _processes({(7, 1): (1, 0.8, 4096), (8, 1): (1, 5.2, None)}),
        _processes({(9, 1): (1, 0.5, 8192)}), _ticks(2.2, 1.4, 0.4), _disk(1500),
    )  # fmt: skip
    shown = compare_counters(before, after)
    assert (shown.cpu_share, shown.hidden_share, shown.steal_share) == pytest.approx(
        (1.7 / 4, 0.7 / 4, 0.1)
    )
    assert (shown.cpu_s, shown.moved_bytes, shown.run_bytes) == (1.0, 4096, 8192)
    assert shown.devices == {"vda": 0.25}
    assert shown.programs == (BusyProgram("p", 7, 0.2, 2048.0), BusyProgram("p", 8, 0.05, None))


def test_what_others_did_on_other_cpus_took_nothing_from_these() -> None:
    """A container that has some CPUs of a machine sees the work on all of them."""
    busy = _processes({(7, 1): (1, 60, 0)})
    before = ActivityCounters(0.0, _processes({(7, 1): (1, 0, 0)}), {}, _ticks(0, 0))
    assert (
        compare_counters(before, ActivityCounters(1.0, busy, {}, _ticks(0.1, 1.9))).cpu_share
        == 0.05
    )
    unknown = ActivityCounters(1.0, busy, {})
    assert compare_counters(before, unknown).cpu_share == 1.0, "where a kernel tells no CPU times"


def _fake(root: Path, pid: int, parent: int, ticks: int, *, flags: int = 0, io: str = "") -> None:
    (root / str(pid)).mkdir()
    fields = ["S", str(parent), "1", "1", "0", "-1", str(flags), "0", "0", "0", "0"]
    fields += [str(ticks), "4", "0", "0", "20", "0", "1", "0", "77"]
    (root / str(pid) / "stat").write_text(f"{pid} (a (b)\x1b c) {' '.join(fields)}\n")
    (root / str(pid) / "io").write_text(io)


def test_counters_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    """Of the CPUs that this process may use, and of whole disks: loop devices stand on those."""
    nothing = activity.watch(FakeClock(), proc=tmp_path)
    assert (nothing.cpu_share, nothing.programs, nothing.devices) == (0.0, (), {})
    usable = min(os.sched_getaffinity(0))
    (tmp_path / "stat").write_text(
        f"cpu  9 9 9 9 9 9 9 9 9 9\ncpu{usable} 1 2 3 4 5 6 7 8 9 10\ncpu4095 9 9 9 9 9 9 9 9 9 9\n"
    )
    (tmp_path / "diskstats").write_text(
        " 254 0 vda 1 0 8 1 1 0 8 1 0 42 2 0 0 0 0 0 0\n"
        "   7 0 loop0 1 0 8 1 1 0 8 1 0 9 2 0 0 0 0 0 0\n"
    )
    found = read(FakeClock(), (), tmp_path)
    assert found.cpu_ticks == (1, 2, 3, 4, 5, 6, 7, 8)
    assert {name: each.busy_ms for name, each in found.devices.items()} == {"vda": 42, "loop0": 9}
    assert compare_counters(found, found).devices == {"vda": 0.0}


def test_others_are_neither_ours_nor_those_below_them_nor_the_kernels(tmp_path: Path) -> None:
    """Bytes count that reached storage, where a user may see them; a name obeys no terminal."""
    io = "rchar: 9\nread_bytes: 100\nwrite_bytes: 50\ncancelled_write_bytes: 20\n"
    _fake(tmp_path, 1, 0, 5)
    _fake(tmp_path, 2, 0, 900, flags=0x00200000)
    _fake(tmp_path, 10, 1, 50)
    _fake(tmp_path, 11, 10, 60)
    _fake(tmp_path, 20, 1, 70, io=io)
    (tmp_path / "1/io").unlink()
    found = read(FakeClock(), {10}, tmp_path)
    assert {
        pid: (each.name, each.ticks, each.moved_bytes) for (pid, _), each in found.others.items()
    } == {1: ("a (b)? c", 9, None), 20: ("a (b)? c", 74, 130)}
    assert {pid for pid, _ in found.rest} == {2, 10, 11}


def test_a_program_is_named_by_the_kernels_name_and_a_run_is_none_of_them() -> None:
    """Words of a command may hold secrets; what descends from the run's processes is the run's."""
    spin = ["-c", "while :; do :; done", "--password=hush"]
    shell = f"sh {shlex.join(spin)} & wait"
    with Popen(["sh", *spin]) as theirs, Popen(["sh", "-c", shell], process_group=0) as ours:
        try:
            # Where the machine is busy they may have had no turn yet.
            before, named = read(SystemClock(), {ours.pid}), {}
            while theirs.pid not in named:
                seen = compare_counters(before, read(SystemClock(), {ours.pid}))
                named = {program.pid: program for program in seen.programs}
            assert named[theirs.pid].name == "sh"
            assert "hush" not in repr(seen)
            assert not {ours.pid, *find_descendants(ours.pid)} & named.keys()
        finally:
            theirs.kill()
            os.killpg(ours.pid, signal.SIGKILL)


def test_the_time_of_each_process_counts_once() -> None:
    """That of one that ended came to who waited for it."""
    parents: Made = {(1, 1): (0, 1, 0), (2, 1): (1, 2, 0)}
    of_init: Made = {(1, 1): (0, 5, 0)}
    third: Made = {(3, 1): (2, 100, 0)}
    cases: dict[str, tuple[Made, Made, float]] = {
        "it began": (of_init, {**of_init, (3, 1): (1, 0.5, 0)}, 0.5),
        "it ended": ({**parents, **third}, {**parents, (2, 1): (1, 2 + 103, 0)}, 3),
        "its parent ended too": ({**parents, **third}, {(1, 1): (0, 1 + 2 + 104, 0)}, 4),
        "its parent does not wait": ({**of_init, (2, 1): (1, 50, 0)}, of_init, 0),
        "its id is used again": ({(7, 1): (1, 90, 0)}, {(7, 2): (1, 3, 0)}, 3),
    }
    for case, (first, second, cpu_s) in cases.items():
        before, after = (
            ActivityCounters(at_s, _processes(made), {})
            for at_s, made in ((0, first), (10, second))
        )
        shown = compare_counters(before, after)
        expected = (10, cpu_s, ("p",) if cpu_s else ())
        assert (shown.span_s, shown.cpu_s, shown.names) == expected, case


def test_a_renamed_file_was_not_made_and_one_with_an_old_inode_was(tmp_path: Path) -> None:
    """A server recycles its log files; file systems give inode numbers again at once."""
    (tmp_path / "1").write_text("log")
    before = activity.list_births(tmp_path)
    (tmp_path / "1").rename(tmp_path / "2")
    assert activity.count_made_between(before, activity.list_births(tmp_path)) == 0
    for number in range(3, 20):
        before = activity.list_births(tmp_path)
        (tmp_path / str(number)).write_text("log")
        assert activity.count_made_between(before, activity.list_births(tmp_path)) == 1
        (tmp_path / str(number)).unlink()
    assert activity.count_made_between(before, activity.list_births(tmp_path / "none")) is None
