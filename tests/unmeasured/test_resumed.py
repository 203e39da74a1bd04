"""A run of a real database that is killed at a few moments is resumed to the same windows."""

import signal
from pathlib import Path

import polars as pl
import pytest

import resumes
from stithy.errors import Exit
from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.running import Stithy, entries, left_by, manifest, wait_for, window_row, write_study

RUN_S = 14.0
"""About as long as such a run takes; where it takes longer, none is killed at its end."""


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.needs_postgresql
def test_a_run_killed_anywhere_is_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    """Anywhere inside a step; the long proof does the same a hundred times."""
    assert resumes.main(kills=1, seed=11, longest_s=RUN_S) == Exit.OK, capsys.readouterr().out


def _restores_again(out: Path) -> bool:
    """Whether the server is up that restores the database for the second window."""
    restores = entries(out, "step-started", kind="restore")
    servers = entries(out, "creating", kind="shared-memory")
    return len(restores) == 2 and servers[-1].sequence > restores[1].sequence


@pytest.mark.needs_postgresql
def test_a_stopped_run_is_resumed(stithy: Stithy, place: Path) -> None:
    """By the command: the windows of the plan, whole, with a report that says so.

    It is killed in the engine's own restore; test_drives.py kills one while it loads and in a
    window, and unit/run/test_resume.py ends one by Ctrl-C.
    """
    candidates, out = {"a": place / "a"}, place / "out"
    study = write_study(
        place / "study.yaml", candidates, users=[1, 2], duration="2 s", restore="native"
    )
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: _restores_again(out), process)
    process.send_signal(signal.SIGSTOP)  # it lives, and comes no further until the refusal was read
    refused = stithy.run("resume", out, "--force")
    assert refused.returncode == 3
    assert f"still active: process {process.pid}" in refused.stderr
    process.kill()
    process.communicate()
    assert left_by(out) != []
    planned = stithy.run("plan", study)
    assert f"stithy resume {out}" in planned.stdout
    first = {p: p.read_bytes() for p in RunDirectory(out).windows.glob("w-a-u1-b0/*.parquet")}
    resumed = stithy.run_well("resume", out)
    assert str(out / "report.html") in resumed.stdout
    for window_id in manifest(out)["plan"]["windows"]:
        row = window_row(out, window_id)
        assert row["complete"], row["missing_because"]
        grown = row["proof_after"] - row["proof_before"]
        assert grown == row["headline_acknowledged"]
    assert {path: path.read_bytes() for path in first} == first
    conditions = pl.read_parquet(RunDirectory(out).table("conditions"))
    assert set(conditions["moment"]) == {"load", "end"}
    assert conditions["holds"].all()
    assert len(entries(out, "step-started", kind="prepare")) == 1
    assert "The run was resumed at" in page_text(RunDirectory(out).page)
    stithy.assert_nothing_left(out)
    assert not (place / "a").exists()
    again = stithy.run("resume", out)
    assert (again.returncode, "ended well" in again.stderr) == (3, True)
