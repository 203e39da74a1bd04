"""What a machine does is the difference between two readings of the kernel's counters."""

import os
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.hosts.activity import TICKS_PER_S, Reading, between, read, watch

BEFORE = Reading(10.0, (100, 0, 100, 700, 0, 0, 0, 0), {7: ("postgres", 50)}, {"vda": 1000})


def test_busy_time_is_all_but_idle_waiting_and_stolen() -> None:
    """Of 200 ticks 80 worked, 20 waited for a device, 20 were stolen, 80 were idle."""
    after = Reading(12.0, (160, 0, 120, 780, 20, 0, 0, 20), {}, {"vda": 1500})
    activity = between(BEFORE, after)
    assert activity.cpu_share == pytest.approx(0.4)
    assert activity.steal_share == pytest.approx(0.1)
    assert activity.devices == {"vda": 0.25}


def test_processes_are_told_by_how_many_cpus_they_used() -> None:
    """One that began in between has no beginning to compare with."""
    ticks = 50 + round(2 * 1.5 * TICKS_PER_S)
    after = Reading(12.0, (), {7: ("postgres", ticks), 8: ("new", 99)}, {})
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
