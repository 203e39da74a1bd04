"""What a run tells of the surroundings of its windows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import polars as pl
import pytest

from stithy.database.instance import CheckpointRule, MaintenanceCounters
from stithy.hosts.diskstats import Counters
from stithy.hosts.other_load import Process, Reading
from stithy.run.context import Context
from stithy.run.windows.surroundings import Look, Row, row
from stithy.run.windows.window import Measured
from stithy.storage.provider import EmulatedDrive
from stithy.storage.volume import describe
from support.faked_run import FakedRun

MIB = 2**20


def counters(moved: int) -> Counters:
    """A device that read so many bytes."""
    return Counters({"read": 1, "write": 0}, {"read": moved, "write": 0}, {}, 0, 0)


def look(at_s: float, moved: dict[str, int], others_moved: int = 0, ticks: int = 0) -> Look:
    """A machine with one program of others, whose devices moved so many bytes so far."""
    others = {(9, 1): Process("backup", 1, ticks, others_moved)}
    devices = {name: counters(each) for name, each in moved.items()}
    return Look(Reading(at_s, others), devices, frozenset({(7, int(at_s))}))


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """Two candidates on loop devices, `a` on a file of disk sda, `b` in memory."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    context = FakedRun(tmp_path).start()
    volume = replace(describe(tmp_path), memory_backed=False)
    drive = cast(EmulatedDrive, object())  # only that there is one matters here
    context.state.volumes["a"] = replace(volume, devices=("loop1", "sda1", "sda"), drive=drive)
    context.state.volumes["b"] = replace(volume, devices=("loop2",))
    yield context
    context.register.close(remove=True)
    context.scratch.rmdir()


def around(context: Context, candidate: str, before: Look, after: Look) -> Row:
    """The row of a window of that candidate between these looks."""
    windows = [step.window for step in context.plan.steps if step.kind == "window" and step.window]
    window = next(each for each in windows if each.candidate == candidate)
    log = [MaintenanceCounters(0, 0, 0.0, 0, position) for position in (100, 5100)]
    measured = Measured(window, looks=(before, after), maintenance=(log[0], log[1]))
    measured.checkpoint_rule = CheckpointRule(300.0, 2**28)
    return row(context, measured)


def test_what_others_did_on_other_disks_they_did_not_do_here(context: Context) -> None:
    """What no other device accounts for, and no more than these disks moved; a loop is no disk."""
    before = look(0, {"sda": 0, "sdb": 0, "loop1": 0})
    after = look(10, {"sda": 50 * MIB, "sdb": 30 * MIB, "loop1": 40 * MIB}, 40 * MIB, 250)
    found = around(context, "a", before, after)
    assert (found["others_bytes"], found["others_here_bytes"]) == (40 * MIB, 10 * MIB)
    assert found["disks_bytes"] == 50 * MIB
    assert (found["span_s"], found["others_cpu_s"], found["others_names"]) == (10, 2.5, "backup")
    assert (found["log_bytes"], found["log_files_made"]) == (5000, 1)
    assert (found["checkpoint_after_s"], found["checkpoint_after_bytes"]) == (300.0, 2**28)


def test_a_volume_in_memory_has_no_disk_to_share(context: Context) -> None:
    """Whatever others do to disks."""
    found = around(context, "b", look(0, {"sda": 0}), look(10, {"sda": 9 * MIB}, 9 * MIB))
    assert found["others_here_bytes"] == 0
    assert found["disks_bytes"] is None


def test_storage_of_the_others_is_told_by_its_topmost_device(context: Context) -> None:
    """What is below it does the same again; where nothing moved nobody is named."""
    before = look(0, {"loop1": 0, "loop2": 0, "sda": 0})
    busy = look(10, {"loop1": 3 * MIB, "loop2": 0, "sda": 4 * MIB})
    found = around(context, "b", before, busy)
    assert (found["idle_bytes"], found["idle_names"]) == (3 * MIB, "a")
    quiet = look(10, {"loop1": 0, "loop2": MIB, "sda": 4 * MIB})
    found = around(context, "b", before, quiet)
    assert (found["idle_bytes"], found["idle_names"]) == (0, None)


def test_a_disk_under_a_directory_is_everybodys(context: Context) -> None:
    """What it does tells nothing of the candidate whose directory is on it."""
    volumes = context.state.volumes
    volumes["b"] = replace(volumes["b"], devices=("sdb",))
    found = around(context, "a", look(0, {"sdb": 0}), look(10, {"sdb": 9 * MIB}))
    assert (found["idle_bytes"], found["idle_names"]) == (None, None)


def test_every_window_of_a_run_has_its_row(tmp_path: Path) -> None:
    """As long as its users began."""
    faked = FakedRun(tmp_path, users=(1,))
    assert faked.run().end == "finished"
    for path in faked.out.glob("windows/*/surroundings.parquet"):
        [found] = pl.read_parquet(path).to_dicts()
        assert found["window_id"] == path.parent.name
        assert found["cpus"] >= 1
        assert found["memory_limit_lost"] is None
    assert len(list(faked.out.glob("windows/*/surroundings.parquet"))) == 2
