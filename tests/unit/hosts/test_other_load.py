"""Others are whoever is not the run's: counted between two readings, also when they come and go."""

import os
import subprocess
import sys
from pathlib import Path

from fakes.clock import FakeClock
from stithy.clock import SystemClock
from stithy.hosts.activity import TICKS_PER_S
from stithy.hosts.other_load import Process, Reading, between, read

CPU_S = TICKS_PER_S


def process(parent: int, cpu_s: float = 0.0, moved: int = 0, name: str = "p") -> Process:
    """One that used so much so far."""
    return Process(name, parent, round(cpu_s * CPU_S), moved)


def reading(at_s: float, processes: dict[int, Process]) -> Reading:
    """Processes by id, all begun at the same time."""
    return Reading(at_s, {(pid, 1): each for pid, each in processes.items()})


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
    found = read(FakeClock(), {10}, tmp_path)
    assert {pid for pid, _ in found.processes} == {1, 20}
    assert found.processes[20, 77].ticks == 70
    assert found.processes[20, 77].name == "a (b) c"


def test_bytes_are_those_that_reached_storage(tmp_path: Path) -> None:
    """What was written and taken back again did not; what may not be seen counts as nothing."""
    io = "rchar: 9\nread_bytes: 100\nwrite_bytes: 50\ncancelled_write_bytes: 20\n"
    fake(tmp_path, 5, 1, 0, io=io)
    fake(tmp_path, 6, 1, 0)
    (tmp_path / "6/io").unlink()
    found = read(FakeClock(), set(), tmp_path)
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
    found = between(before, after)
    assert found.span_s == 20
    assert found.cpu_s == 3.5
    assert found.moved_bytes == 2**20
    assert found.names == ("backup", "dd")


def test_a_process_that_ended_is_counted_once() -> None:
    """Its time came to its parent; what it had done before the first reading was before it."""
    before = reading(0, {1: process(0), 2: process(1, 2), 3: process(2, 100)})
    after = reading(10, {1: process(0), 2: process(1, 2 + 103)})
    assert between(before, after).cpu_s == 3


def test_a_process_whose_parent_ended_too_is_counted_once() -> None:
    """It came to whoever waited for the parent."""
    before = reading(0, {1: process(0, 1), 2: process(1, 2), 3: process(2, 100)})
    after = reading(10, {1: process(0, 1 + 2 + 104)})
    assert between(before, after).cpu_s == 4


def test_nothing_is_counted_below_zero() -> None:
    """A parent that does not wait gets nothing, and has lost nothing."""
    before = reading(0, {1: process(0, 5), 2: process(1, 50)})
    assert between(before, reading(10, {1: process(0, 5)})).cpu_s == 0


def test_an_id_that_is_used_again_is_another_process() -> None:
    """Its counters begin anew."""
    before = Reading(0, {(7, 1): process(1, 90)})
    after = Reading(10, {(7, 2): process(1, 3)})
    assert between(before, after).cpu_s == 3


SPIN = "import os, sys\nwhile sum(os.times()[:2]) < 0.1: pass\nprint(), sys.stdout.flush(), input()"
"""Uses a tenth of a second, says so, and waits."""


def test_a_program_beside_is_seen_and_one_of_our_own_is_not() -> None:
    """On the machine itself."""
    clock = SystemClock()
    beside, own = read(clock, set()), read(clock, {os.getpid()})
    spinning = subprocess.Popen(
        [sys.executable, "-c", SPIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert spinning.stdout is not None
        spinning.stdout.readline()
        seen = read(clock, set())
        of_others = read(clock, {os.getpid()})
    finally:
        spinning.communicate(b"\n")
    assert spinning.pid in {pid for pid, _ in seen.processes}
    assert between(beside, seen).cpu_s >= 0.09
    assert spinning.pid not in {pid for pid, _ in of_others.processes}
    assert os.getpid() not in {pid for pid, _ in own.processes}
