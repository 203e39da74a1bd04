"""A real database, backed up while users work, restored, and proven equal; a backup is killed."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.analysis.evidence import Window
from stithy.report.context import context_of
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from support.places import a_place
from support.running import Stithy, entries, left_by, write_study

pytestmark = pytest.mark.needs_postgresql

SCENARIO = "{backup: {cycles: 2}}"


def study(place: Path) -> Path:
    """Two users at a rate, on one candidate, with and without backups."""
    load = {"rate": "40/s", "ledger": "true"}
    return write_study(
        place / "study.yaml", {"a": place / "a"}, users=[2], load=load, scenario=SCENARIO
    )


@pytest.fixture(scope="module")
def killed() -> Iterator[Window]:
    """The window whose first backup is killed, of a whole run."""
    with a_place() as place:
        stithy = Stithy(place / "state")
        running = stithy.start("run", study(place), "--out", place / "run")
        killer = threading.Thread(target=kill_first, args=(place,))
        killer.start()
        said, wrong = running.communicate(timeout=300)
        killer.join()
        # A machine that does other work may make windows invalid; the proof does not depend on it.
        assert "10 tables are equal after backup and restore, nothing" in said + wrong
        windows = context_of(read_run(place / "run")).evidence.windows
        yield next(each for each in windows if each.id == "w-a-u2-backupon-b0")


def kill_first(place: Path) -> None:
    """Kill the first backup program that there is."""
    until_s = time.monotonic() + 200
    while time.monotonic() < until_s:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"/pg_basebackup") and str(place).encode() in b" ".join(words):
                os.kill(int(path.parent.name), signal.SIGKILL)
                return
        time.sleep(0.005)


def test_a_killed_backup_is_a_span_that_does_not_count_and_nothing_else_fails(
    killed: Window,
) -> None:
    """The next one is made, restored and checked; the users' window is complete."""
    rows = {row["name"]: row for row in killed.spans}
    assert list(rows) == ["backup 1", "backup 2", "restore"]
    assert "signal 9" in rows["backup 1"]["invalid_because"]
    assert rows["backup 2"]["invalid_because"] is None
    assert rows["restore"]["outcome"] == "restored, all conditions hold"
    assert killed.measured
    assert killed.value("tpm")


def test_a_run_that_is_killed_while_it_proves_a_backup_is_resumed(
    stithy: Stithy, place: Path
) -> None:
    """The proof is made again, from the backup to the equal tables."""
    out = place / "run"
    journal = RunDirectory(out).journal
    stithy.kill(
        lambda: journal.exists() and entries(out, "step-started", kind="prove-backup"),
        "run", study(place), "--out", out,
    )  # fmt: skip
    resumed = stithy.run("resume", out)
    assert "10 tables are equal after backup and restore" in resumed.stdout + resumed.stderr
    assert left_by(out) == []
