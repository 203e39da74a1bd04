"""Block I/O that cannot begin, that a person interrupts, or whose fio hangs, by whole commands."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from stithy.errors import Exit
from stithy.results.layout import RunDirectory
from support.running import Stithy, manifest, wait_for

FIO = shutil.which("fio")
pytestmark = [
    pytest.mark.needs_drive,
    pytest.mark.skipif(FIO is None, reason="fio was not found: install fio"),
]
SHORT = ["--size", "16 MiB", "--ramp-up", "0 s", "--duration", "1 s", "--repeat", "1"]
SWEEP = ["--profile", "oltp-8k", "--rate", "1%", "--rate", "2%", *SHORT]

IMPATIENT = """import sys
from stithy.fio import program
program.PATIENCE_S, program.STOP_PATIENCE_S = 1.0, 0.5
from stithy.cli.app import run
sys.exit(run(sys.argv[1:]))
"""
"""Stithy as it is, but for a time limit that a test can wait for."""

HANGS = """#!/bin/sh
if [ "$1" = job.fio ] && grep -q time_based job.fio; then
    trap '' INT
    echo $$ > {place}/pid
    exec sleep 3600
fi
exec {fio} "$@"
"""


def test_an_interrupted_sweep_goes_on(stithy: Stithy, place: Path) -> None:
    """By SIGINT while fio runs; what was measured before is not measured again."""
    out = place / "out"
    running = stithy.start("block", "generic-nvme", *SWEEP, "--out", out)
    folder = RunDirectory(out).windows
    wait_for(lambda: len(list(folder.glob("*/fio/run/worker-0/fio.json"))) >= 2, running)
    running.send_signal(signal.SIGINT)
    said, shown = running.communicate(timeout=120)
    assert running.returncode == Exit.INTERRUPTED, said + shown
    assert f"to continue the run: stithy resume {out}" in shown
    stithy.assert_nothing_left(out)
    stithy.run_well("resume", out)
    assert [each["end"] for each in manifest(out)["sessions"]] == ["interrupted", "finished"]
    stithy.assert_nothing_left(out)


def test_without_fio_nothing_is_begun(
    stithy: Stithy, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names what installs one; unit/fio/test_program.py has one that is too old."""
    programs = place / "programs"
    programs.mkdir()
    for folder in reversed(os.environ["PATH"].split(":")):
        for path in Path(folder).glob("*"):
            (programs / path.name).unlink(missing_ok=True)
            (programs / path.name).symlink_to(path)
    (programs / "fio").unlink()
    monkeypatch.setenv("PATH", str(programs))
    ended = stithy.run("block", "generic-nvme", "--profile", "sql", *SHORT, "--out", place / "out")
    assert ended.returncode == Exit.PRECONDITION, ended.stdout + ended.stderr
    assert "fio was not found" in ended.stderr
    assert "install fio" in ended.stderr
    stithy.assert_nothing_left()


def test_a_hanging_fio_is_killed(
    stithy: Stithy, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not hear SIGINT either; its window is invalid."""
    programs, out = place / "programs", place / "out"
    programs.mkdir()
    fio = programs / "fio"
    fio.write_text(HANGS.format(place=place, fio=FIO))
    fio.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    stithy.prefix = (sys.executable, "-c", IMPATIENT)
    ended = stithy.run("block", "generic-nvme", "--profile", "oltp-8k", *SHORT, "--out", out)
    assert ended.returncode == Exit.INVALID, ended.stdout + ended.stderr
    assert "fio did not end within" in ended.stderr
    assert "the kernel log (dmesg)" in ended.stderr
    assert not Path(f"/proc/{(place / 'pid').read_text().strip()}").exists()
    stithy.assert_nothing_left(out)
