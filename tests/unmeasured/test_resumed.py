"""A run that is killed anywhere can be cleaned or resumed to the same windows, and leaves nothing.

With fakes before every kind of line of its journal; with a real database at a few moments.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import resumes
from stithy.exits import Exit
from stithy.results.layout import RunDirectory
from stithy.run.cleanup.handlers import CLEANUP_HANDLERS
from stithy.run.executor import ACTIONS
from support.html_page import page_text
from support.running import (
    Stithy,
    entries,
    left_by,
    manifest,
    seconds_measured,
    wait_for,
    window_row,
    write_study,
)

TESTS = Path(__file__).resolve().parents[1]
KILLS = 4


def _told(*words: str | Path | int) -> Any:
    """What a program of tests told in JSON."""
    known = {**os.environ, "PYTHONPATH": f"{TESTS.parent / 'python'}:{TESTS}"}
    command = [sys.executable, "-m", *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, env=known, timeout=1400)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 3])
def test_a_run_killed_before_lines_of_its_books_can_be_cleaned(place: Path, step: int) -> None:
    """Candidates, sockets, groups, the register's entry: all gone; study and results stay.

    Before every third line, and where there is time before every one.
    """
    kills = _told("support.killed_run", place, step)
    assert len(kills) > 60 // step
    for fatal, left, others, registered, problems in kills:
        told = f"killed before line {fatal}: {problems}"
        assert left == registered == problems == [], told
        assert set(others) <= {"out", "state", "study.yaml"}, told


@pytest.mark.timeout(1500)
def test_a_run_killed_before_each_kind_of_line_and_at_other_moments_is_resumed(
    place: Path,
) -> None:
    """All windows are there once and whole, all conditions hold, nothing is left over."""
    resumed = _told("support.resumed_run", place, 5, KILLS)
    assert sum(each["kind"] is None for each in resumed) == KILLS
    for each in resumed:
        told = f"killed before {each['kind'] or 'reading'} {each['fatal']}: {each}"
        assert each["end"] == "finished", told
        assert each["measured"] == each["planned"], told
        assert (each["incomplete"], each["broken"]) == ([], 0), told
        assert each["kept_unchanged"], told
        assert each["sessions"][0] == "killed", told
        assert each["left"] == each["registered"] == [], told
        assert set(each["others"]) <= {"out", "state", "study.yaml"}, told
        assert each["expected"] in (None, each["written"]), told
    assert any(len(each["sessions"]) > 2 for each in resumed)
    seen = {kind for each in resumed for kind in each["events"]}
    assert _unseen(seen) == set(), "no kill comes before such a line: let the study write it"


ELSEWHERE = {
    "drives-unpaced": "test_drives.py kills runs on emulated drives",
    "drives-paced": "as above",
    "creating drive": "as above",
    "creating mount": "as above",
    "creating image": "as above",
    "step-failed": "a session that failed has ended by itself",
}
"""Kinds of lines that this study cannot write, and why that is no gap."""


def _unseen(seen: set[str]) -> set[str]:
    """The kinds of lines that a run can write to its journal, and this study did not."""
    kinds = {f"creating {kind}" for kind in CLEANUP_HANDLERS}
    kinds |= {f"step-started {kind}" for kind in ACTIONS}
    sources = (TESTS.parent / "python/stithy/run").rglob("*.py")
    text = "\n".join(path.read_text() for path in sources)
    written = re.findall(r"[ .]journal\.write\(\s*([\w\"-]+)", text)
    names = dict(re.findall(r"^([A-Z_]+) = \"([a-z-]+)\"$", text, re.MULTILINE))
    events = {each.strip('"') if each.startswith('"') else names[each] for each in written}
    return (events - {each.split()[0] for each in seen} | (kinds - seen)) - ELSEWHERE.keys()


RUN_S = 14.0
"""About as long as such a run takes; where it takes longer, none is killed at its end."""


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.needs_postgresql
def test_a_real_run_killed_at_instants_drawn_from_a_seed_is_resumed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Anywhere inside a step; the long proof does the same a hundred times."""
    assert resumes.main(kills=1, seed=11, longest_s=RUN_S) == Exit.OK, capsys.readouterr().out


MOMENTS: dict[str, tuple[list[int], Callable[[Path], object], int]] = {
    "while loading": ([1], lambda out: entries(out, "creating", kind="shared-memory"), 2),
    "in the second window": ([1, 2], lambda out: seconds_measured(out, "w-a-u2-b0") >= 1, 1),
}
"""Levels, the moment, and how often the database is loaded: once, where its copy was finished."""


@pytest.mark.needs_postgresql
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_run_of_a_real_database_is_resumed(
    stithy: Stithy, place: Path, disk_place: Path, moment: str
) -> None:
    """By the command: the windows of the plan, whole, with a report that says so."""
    users, is_there, loaded = MOMENTS[moment]
    candidates, out = {"a": disk_place / "a"}, place / "out"
    study = write_study(place / "study.yaml", candidates, users=users, duration="1 s")
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: is_there(out), process)
    process.send_signal(signal.SIGSTOP)  # it lives, and comes no further until the refusal was read
    refused = stithy.run("resume", out, "--force")
    assert refused.returncode == 3
    assert f"still active: process {process.pid}" in refused.stderr
    process.kill()
    process.communicate()
    assert left_by(out) != []
    first = {p: p.read_bytes() for p in RunDirectory(out).windows.glob("w-a-u1-b0/*.parquet")}
    ended = stithy.run("resume", out)
    assert ended.returncode == 0, ended.stderr
    assert str(out / "report.html") in ended.stdout
    for window_id in manifest(out)["plan"]["windows"]:
        row = window_row(out, window_id)
        assert row["complete"], row["missing_because"]
        grown = row["order_numbers_after"] - row["order_numbers_before"]
        assert grown == row["new_orders_acknowledged"]
    assert {path: path.read_bytes() for path in first} == first
    conditions = pl.read_parquet(RunDirectory(out).table("conditions"))
    assert set(conditions["moment"]) == {"load", "end"}
    assert conditions["holds"].all()
    assert len(entries(out, "step-started", kind="prepare")) == loaded
    assert "The run was resumed at" in page_text(RunDirectory(out).page)
    assert [*left_by(out), *stithy.registered()] == []
    assert not (disk_place / "a").exists()
    again = stithy.run("resume", out)
    assert (again.returncode, "ended well" in again.stderr) == (3, True)
