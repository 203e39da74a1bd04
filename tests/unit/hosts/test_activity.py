"""What goes on beside a run: the difference between two readings of the kernel's counters."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.clock import SystemClock
from stithy.hosts.activity import (
    TICKS_PER_S,
    ActivityCounters,
    OthersReading,
    Process,
    between,
    births,
    made_between,
    others_between,
    read,
    read_others,
    watch,
)

BEFORE = ActivityCounters(
    10.0, (100, 0, 100, 700, 0, 0, 0, 0), {7: ("postgres", 50)}, {"vda": 1000}
)


def test_busy_time_is_all_but_idle_waiting_and_stolen() -> None:
    """Of 200 ticks 80 worked, 20 waited for a device, 20 were stolen, 80 were idle."""
    after = ActivityCounters(12.0, (160, 0, 120, 780, 20, 0, 0, 20), {}, {"vda": 1500})
    activity = between(BEFORE, after)
    assert activity.cpu_share == pytest.approx(0.4)
    assert activity.steal_share == pytest.approx(0.1)
    assert activity.devices == {"vda": 0.25}


def test_processes_are_told_by_how_many_cpus_they_used() -> None:
    """One that began in between has no beginning to compare with."""
    ticks = 50 + round(2 * 1.5 * TICKS_PER_S)
    after = ActivityCounters(12.0, (), {7: ("postgres", ticks), 8: ("new", 99)}, {})
    (found,) = between(BEFORE, after).processes
    assert (found.name, found.pid) == ("postgres", 7)
    assert found.cpus == pytest.approx(1.5)


def test_counters_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    """A process may call itself anything; this one and loop devices are left out."""
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3\n")
    (tmp_path / "diskstats").write_text(
        " 254 0 vda 1 0 8 1 1 0 8 1 0 42 2 0 0 0 0 0 0\n"
        "   7 0 loop0 1 0 8 1 1 0 8 1 0 9 2 0 0 0 0 0 0\n"
    )
    fields = " ".join(["S", "1", *["0"] * 9, "30", "4", "0"])
    for pid, name in ((77, "a (b) c"), (os.getpid(), "me")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} ({name}) {fields}\n")
    found = read(FakeClock(), tmp_path)
    assert found.cpu_ticks == (1, 2, 3, 4, 5, 6, 7, 8)
    assert found.busy_ms == {"vda": 42}
    assert found.processes == {77: ("a (b) c", 34)}


def test_a_kernel_that_tells_nothing_shows_no_activity(tmp_path: Path) -> None:
    """No file of /proc is taken for granted."""
    activity = watch(FakeClock(), tmp_path)
    assert (activity.cpu_share, activity.processes, activity.devices) == (0.0, (), {})


CPU_S = TICKS_PER_S


def process(parent: int, cpu_s: float = 0.0, moved: int = 0, name: str = "p") -> Process:
    """One that used so much so far."""
    return Process(name, parent, round(cpu_s * CPU_S), moved)


def reading(at_s: float, processes: dict[int, Process]) -> OthersReading:
    """Processes by id, all begun at the same time."""
    return OthersReading(at_s, {(pid, 1): each for pid, each in processes.items()})


def fake(root: Path, pid: int, parent: int, ticks: int, *, flags: int = 0, io: str = "") -> None:
    """A process in a fake /proc; its name is as awkward as may be."""
    (root / str(pid)).mkdir()
    fields = ["S", str(parent), "1", "1", "0", "-1", str(flags), "0", "0", "0", "0"]
    fields += [str(ticks), "0", "0", "0", "20", "0", "1", "0", "77"]
    (root / str(pid) / "stat").write_text(f"{pid} (a (b) c) {' '.join(fields)}\n")
    (root / str(pid) / "io").write_text(io)


def test_own_processes_and_all_below_them_are_not_others(tmp_path: Path) -> None:
    """Nor are threads of the kernel; whoever is not below is one."""
    fake(tmp_path, 1, 0, 5)
    fake(tmp_path, 2, 0, 900, flags=0x00200000)
    fake(tmp_path, 10, 1, 50)
    fake(tmp_path, 11, 10, 60)
    fake(tmp_path, 20, 1, 70)
    found = read_others(FakeClock(), {10}, tmp_path)
    assert {pid for pid, _ in found.processes} == {1, 20}
    assert found.processes[20, 77].ticks == 70
    assert found.processes[20, 77].name == "a (b) c"


def test_bytes_are_those_that_reached_storage(tmp_path: Path) -> None:
    """What was written and taken back again did not; what may not be seen counts as nothing."""
    io = "rchar: 9\nread_bytes: 100\nwrite_bytes: 50\ncancelled_write_bytes: 20\n"
    fake(tmp_path, 5, 1, 0, io=io)
    fake(tmp_path, 6, 1, 0)
    (tmp_path / "6/io").unlink()
    found = read_others(FakeClock(), set(), tmp_path)
    assert found.processes[5, 77].moved_bytes == 130
    assert found.processes[6, 77].moved_bytes == 0


def test_what_others_did_is_the_growth_of_their_counters() -> None:
    """Those that did most are named, by CPU time and by bytes."""
    before = reading(10, {1: process(0, 5, 7), 2: process(1, 1, 0, "cron")})
    after = reading(
        30,
        {
            1: process(0, 5, 7, "init"),
            2: process(1, 4, 0, "backup"),
            3: process(1, 0.5, 2**20, "dd"),
        },
    )
    found = others_between(before, after)
    assert found.span_s == 20
    assert found.cpu_s == 3.5
    assert found.moved_bytes == 2**20
    assert found.names == ("backup", "dd")


def test_a_process_that_ended_is_counted_once() -> None:
    """Its time came to its parent; what it had done before the first reading was before it."""
    before = reading(0, {1: process(0), 2: process(1, 2), 3: process(2, 100)})
    after = reading(10, {1: process(0), 2: process(1, 2 + 103)})
    assert others_between(before, after).cpu_s == 3


def test_a_process_whose_parent_ended_too_is_counted_once() -> None:
    """It came to whoever waited for the parent."""
    before = reading(0, {1: process(0, 1), 2: process(1, 2), 3: process(2, 100)})
    after = reading(10, {1: process(0, 1 + 2 + 104)})
    assert others_between(before, after).cpu_s == 4


def test_nothing_is_counted_below_zero() -> None:
    """A parent that does not wait gets nothing, and has lost nothing."""
    before = reading(0, {1: process(0, 5), 2: process(1, 50)})
    assert others_between(before, reading(10, {1: process(0, 5)})).cpu_s == 0


def test_an_id_that_is_used_again_is_another_process() -> None:
    """Its counters begin anew."""
    before = OthersReading(0, {(7, 1): process(1, 90)})
    after = OthersReading(10, {(7, 2): process(1, 3)})
    assert others_between(before, after).cpu_s == 3


SPIN = "import os, sys\nwhile sum(os.times()[:2]) < 0.1: pass\nprint(), sys.stdout.flush(), input()"
"""Uses a tenth of a second, says so, and waits."""


def test_a_program_beside_is_seen_and_one_of_our_own_is_not() -> None:
    """On the machine itself."""
    clock = SystemClock()
    beside, own = read_others(clock, set()), read_others(clock, {os.getpid()})
    spinning = subprocess.Popen(
        [sys.executable, "-c", SPIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert spinning.stdout is not None
        spinning.stdout.readline()
        seen = read_others(clock, set())
        of_others = read_others(clock, {os.getpid()})
    finally:
        spinning.communicate(b"\n")
    assert spinning.pid in {pid for pid, _ in seen.processes}
    assert others_between(beside, seen).cpu_s >= 0.09
    assert spinning.pid not in {pid for pid, _ in of_others.processes}
    assert os.getpid() not in {pid for pid, _ in own.processes}


def test_a_renamed_file_was_not_made(tmp_path: Path) -> None:
    """A server recycles its log files in this way."""
    (tmp_path / "1").write_text("log")
    (tmp_path / "folder").mkdir()
    before = births(tmp_path)
    (tmp_path / "1").rename(tmp_path / "2")
    assert made_between(before, births(tmp_path)) == 0
    (tmp_path / "3").write_text("log")
    assert made_between(before, births(tmp_path)) == 1


def test_a_file_with_the_inode_of_a_removed_one_was_made(tmp_path: Path) -> None:
    """Its birth time tells; file systems give inode numbers again at once."""
    for number in range(20):
        before = births(tmp_path)
        path = tmp_path / str(number)
        path.write_text("log")
        after = births(tmp_path)
        path.unlink()
        assert made_between(before, after) == 1


def test_of_a_missing_directory_nothing_is_known(tmp_path: Path) -> None:
    """None, and not 0."""
    assert births(tmp_path / "none") is None
    assert made_between(None, births(tmp_path)) is None
    assert made_between(births(tmp_path), None) is None
