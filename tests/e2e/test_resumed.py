"""A run that is killed at any moment is resumed to the same windows, and nothing is left of it."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import resumes
from stithy.exits import Exit
from stithy.results.layout import RunDirectory
from stithy.run.executor import ACTIONS
from stithy.run.undo import WAYS_BACK
from support.html_page import page_text
from support.running import (
    Stithy,
    entries,
    hammer_of,
    left_by,
    manifest,
    seconds_measured,
    wait_for,
    window_row,
    write_study,
)

TESTS = Path(__file__).resolve().parents[1]
KILLS = 10


@pytest.mark.timeout(1500)
def test_a_run_killed_before_each_kind_of_line_and_at_ten_other_moments_is_resumed(
    place: Path,
) -> None:
    """All windows are there once and whole, all conditions hold, nothing is left over."""
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent / 'python'}:{TESTS}"}
    words = [sys.executable, "-m", "support.resumed_run", str(place), "5", str(KILLS)]
    ended = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=1400)
    assert ended.returncode == 0, ended.stderr
    resumed = json.loads(ended.stdout)
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
    assert unseen(seen) == set(), "no kill comes before such a line: let the study write it"


ELSEWHERE = {
    "drives-unpaced": "test_drives.py kills runs on emulated drives",
    "drives-paced": "as above",
    "making drive": "as above",
    "making mount": "as above",
    "making image": "as above",
    "step-failed": "a session that failed has ended by itself",
}
"""Kinds of lines that this study cannot write, and why that is no gap."""


def unseen(seen: set[str]) -> set[str]:
    """The kinds of lines that a run can write to its journal, and this study did not."""
    events = {each.split()[0] for each in seen}
    kinds = {f"making {kind}" for kind in WAYS_BACK} | {f"step-started {kind}" for kind in ACTIONS}
    return (journal_events() - events | (kinds - seen)) - ELSEWHERE.keys()


def journal_events() -> set[str]:
    """The events that the code of a run writes to its journal."""
    sources = [path.read_text() for path in (TESTS.parent / "python/stithy/run").glob("*.py")]
    text = "\n".join(sources)
    written = re.findall(r"[ .]journal\.write\(\s*([\w\"-]+)", text)
    names = dict(re.findall(r"^([A-Z_]+) = \"([a-z-]+)\"$", text, re.MULTILINE))
    return {each.strip('"') if each.startswith('"') else names[each] for each in written}


@pytest.mark.timeout(1500)
@pytest.mark.needs_postgresql
def test_a_real_run_killed_at_instants_drawn_from_a_seed_is_resumed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Anywhere inside a step; the long proof does the same a hundred times."""
    assert resumes.main(kills=2, seed=11) == Exit.OK, capsys.readouterr().out


MOMENTS: dict[str, Callable[[Path], object]] = {
    "while loading": lambda out: entries(out, "making", kind="shared-memory"),
    "in the second window": lambda out: seconds_measured(out, "w-a-u2-b0") >= 1,
    "in the final check": lambda out: entries(out, "step-started", id="check-end-a"),
}
LOADED = {"while loading": 2, "in the second window": 1, "in the final check": 1}
"""How often the database is loaded: once, where its master copy had been finished."""


@pytest.mark.needs_postgresql
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_run_of_a_real_database_is_resumed(
    stithy: Stithy, place: Path, disk_place: Path, moment: str
) -> None:
    """By the command: the windows of the plan, whole, with a report that says so."""
    study = write_study(place / "study.yaml", {"a": disk_place / "a"}, users=[1, 2], duration="3 s")
    out = place / "out"
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: MOMENTS[moment](out), process)
    refused = stithy.run("resume", out)
    assert refused.returncode == 3
    assert f"process {process.pid} is at it" in refused.stderr
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
    assert len(entries(out, "step-started", kind="prepare")) == LOADED[moment]
    assert "The run was resumed at" in page_text(RunDirectory(out).page)
    assert left_by(out) == []
    assert stithy.registered() == []
    assert not (disk_place / "a").exists()
    again = stithy.run("resume", out)
    assert (again.returncode, "ended well" in again.stderr) == (3, True)


@pytest.mark.needs_postgresql
def test_a_run_killed_between_an_invalid_window_and_its_second_attempt_goes_on_with_that(
    stithy: Stithy, place: Path
) -> None:
    """The invalid one is kept as it is, and the block is measured once more, and once only."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="3 s")
    out = place / "out"
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 1, process)
    os.kill(hammer_of(out), signal.SIGKILL)
    wait_for(lambda: entries(out, "windows-added"), process)
    process.kill()
    process.communicate()
    ended = stithy.run("resume", out)
    assert ended.returncode in (Exit.OK, Exit.INVALID), ended.stderr
    assert not window_row(out, "w-a-u1-b0")["complete"]
    assert window_row(out, "w-a-u1-b0-again")["complete"]
    assert manifest(out)["plan"]["further"] == ["w-a-u1-b0-again"]
    assert len(entries(out, "windows-added")) == 1
    assert left_by(out) == []


@pytest.mark.needs_postgresql
def test_a_run_is_resumed_after_a_reboot(stithy: Stithy, place: Path) -> None:
    """Another boot: no process of the run lives, whoever has its process id now."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="2 s")
    out = place / "out"
    process = stithy.start("run", study, "--out", out)
    wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 1, process)
    process.kill()
    process.communicate()
    [started] = entries(out, "run-started")
    now = started.facts["owner"]["boot_id"]
    for book in (RunDirectory(out).journal, *stithy.registered(), place / "a/.stithy.json"):
        book.write_text(book.read_text().replace(now, "0" * 36))
    ended = stithy.run("resume", out)
    assert ended.returncode == 0, ended.stderr
    page = page_text(RunDirectory(out).page)
    assert "killed and the machine started again" in page
    assert "proven to be the same to the byte" in page or "loaded again" in page
    assert window_row(out, "w-a-u1-b0")["complete"]
    assert left_by(out) == []
