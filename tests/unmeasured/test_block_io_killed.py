"""Block I/O whose drive vanishes, or whose stithy is killed, by the real fio on emulated drives."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from stithy.drives.program import find
from stithy.errors import Exit
from stithy.results.layout import RunDirectory
from support.running import Stithy, entries, manifest, wait_for

pytestmark = [
    pytest.mark.needs_drive,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found: install fio"),
]

STUDY = """study: Does it end well?
candidates: {{a: {{drive: generic-nvme}}}}
scenario:
  block-io: {{size: 16 MiB, ramp_up: 0 s, repeat: 1, {keys}}}
"""
ROUNDS = "profiles: [oltp-8k], precondition: snia, precondition_test: 1 s, duration: 1 s"


def _study(place: Path, keys: str) -> Path:
    path = place / "s.yaml"
    path.write_text(STUDY.format(keys=keys))
    return path


def _at_work(out: Path, number: int) -> Callable[[], bool]:
    """Whether so many windows have begun, and the last one's fio runs."""
    return lambda: (
        len(list(RunDirectory(out).windows.glob("*/fio/run/worker-0/fio.json"))) >= number
    )


def test_a_vanished_drive_leaves_nothing(stithy: Stithy, place: Path) -> None:
    """Its program is killed while fio reads and writes: the run says why, and is invalid."""
    out = place / "out"
    study = _study(place, "profiles: [oltp-8k], duration: 20 s")
    running = stithy.start("run", study, "--out", out)
    wait_for(_at_work(out, 1), running)
    for folder in stithy.drives():
        found = find(folder)
        assert found is not None
        os.kill(found.pid, signal.SIGKILL)
    said, shown = running.communicate(timeout=120)
    assert running.returncode == Exit.INVALID, said + shown
    [reason] = {
        line
        for line in shown.splitlines()
        if "fio failed: fio: io_u error" in line and "cannot be read" not in line
    }
    assert "Input/output error" in reason
    assert reason.count("io_u error on file") <= len(("read", "write"))
    stithy.assert_nothing_left(out)


def _begun(out: Path, kind: str) -> Callable[[], bool]:
    """Whether a step of that kind has begun."""
    journal = RunDirectory(out).journal
    return lambda: journal.exists() and bool(entries(out, "step-started", kind=kind))


@pytest.mark.long
def test_killed_preconditioning_begins_anew(stithy: Stithy, place: Path) -> None:
    """Each round of each test is there once: those of the drive that is gone count for nothing."""
    out = place / "out"
    stithy.kill(_begun(out, "precondition"), "run", _study(place, ROUNDS), "--out", out)
    stithy.run_well("resume", out)
    rows = pl.read_parquet(RunDirectory(out).table("preconditioning"))
    assert rows.select("candidate", "round", "test").is_duplicated().sum() == 0
    assert len(rows) > 1
    stithy.assert_nothing_left(out)


def test_killed_layouts_are_done_again(stithy: Stithy, place: Path) -> None:
    """Killed in its layout, and resumed, where it reads back what was written.

    The drive is gone with its blocks each time, and nobody calls those damaged.
    """
    out = place / "out"
    keys = "profiles: [oltp-8k], verify: true, duration: 1 s"
    stithy.kill(_begun(out, "lay-out"), "run", _study(place, keys), "--out", out)
    stithy.kill(_begun(out, "read-back"), "resume", out)
    stithy.run_well("resume", out)
    assert len(entries(out, "step-finished", kind="read-back")) <= 1
    assert [each["end"] for each in manifest(out)["sessions"]] == ["killed", "killed", "finished"]
    stithy.assert_nothing_left(out)
