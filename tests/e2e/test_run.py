"""A study from its file to its report, and bad days on the way: each leaves nothing behind."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.hosts.processes import pids_inside
from stithy.results.layout import RunDirectory
from support.finished import Finished
from support.html_page import page_text
from support.places import a_place
from support.plain_log import buckets
from support.running import (
    PATIENCE_S,
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

pytestmark = pytest.mark.needs_postgresql


def postmaster(data: Path) -> int:
    """Process id of the server on a data directory."""
    return int((data / "postmaster.pid").read_text().splitlines()[0])


def times_in_table(out: Path, row: dict[str, Any]) -> dict[tuple[str, int], int]:
    """How often which response time was measured, by type and microseconds."""
    table = pl.read_parquet(RunDirectory(out).window(row["window_id"]).table("histograms"))
    rows = table.filter(pl.col("kind") == "response").iter_rows(named=True)
    return {(each["transaction"], round(each["lowest_s"] * 1e6)): each["count"] for each in rows}


def times_in_log(out: Path, row: dict[str, Any]) -> dict[tuple[str, int], int]:
    """The same as another reader finds it in the hammer's own log."""
    stem = RunDirectory(out).window(row["window_id"]).hlog_stem
    found: Counter[tuple[str, int]] = Counter()
    for each in buckets(stem.with_name(f"{stem.name}.response.hlog")):
        if row["measure_from_s"] - 0.001 <= each.at_s < row["measure_to_s"] - 0.001:
            found[each.tag, each.low_us] += each.count
    return dict(found)


def test_a_small_study_goes_from_its_file_to_its_report(finished: Finished) -> None:
    """Every window is there, every restore is proven, all conditions hold, nothing is left."""
    out = finished.out
    assert finished.code == 0, finished.stderr
    assert str(out / "report.html") in finished.stdout
    assert RunDirectory(out).study.read_bytes() == finished.study.read_bytes()
    restores = pl.read_parquet(RunDirectory(out).table("restores"))
    assert restores["window_id"].n_unique() == 4
    assert restores["identical"].all()
    conditions = pl.read_parquet(RunDirectory(out).table("conditions"))
    assert set(conditions["moment"]) == {"load", "end"}
    assert conditions["holds"].all()
    for window_id in manifest(out)["plan"]["windows"]:
        row = window_row(out, window_id)
        assert row["complete"], row["missing_because"]
        assert row["new_orders"] > 0
        grown = row["order_numbers_after"] - row["order_numbers_before"]
        assert grown == row["new_orders_acknowledged"]
        assert times_in_table(out, row) == times_in_log(out, row) != {}
    assert manifest(out)["end"] == "finished"
    assert left_by(out) == []
    assert finished.registered == ()
    assert not finished.a.exists()
    assert list(finished.b.iterdir()) == []


@dataclass(frozen=True)
class Assaulted:
    """A run of four windows: its server killed, its hammer killed, its hammer held, and nothing."""

    out: Path
    code: int
    stderr: str


@pytest.fixture(scope="module")
def assaulted() -> Iterator[Assaulted]:
    """One run for all who ask what somebody did to its windows cost."""
    with a_place() as place:
        stithy, out = Stithy(place / "state"), place / "out"
        study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1, 2, 3, 4])
        try:
            process = stithy.start("run", study, "--out", out)
            wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 1, process)
            os.kill(postmaster(place / "a/data"), signal.SIGKILL)
            wait_for(lambda: seconds_measured(out, "w-a-u2-b0") >= 1, process)
            os.kill(hammer_of(out), signal.SIGKILL)
            wait_for(lambda: seconds_measured(out, "w-a-u3-b0") >= 1, process)
            os.kill(hammer_of(out), signal.SIGSTOP)
            _, stderr = process.communicate(timeout=PATIENCE_S)
            yield Assaulted(out, process.returncode, stderr)
        finally:
            stithy.end()


def test_a_server_or_hammer_that_is_killed_costs_its_window_only(assaulted: Assaulted) -> None:
    """The window is invalid with the reason and measured once more, the run goes on."""
    out = assaulted.out
    assert assaulted.code == 0, assaulted.stderr
    server, hammer, other = (window_row(out, f"w-a-u{users}-b0") for users in (1, 2, 4))
    assert not server["complete"]
    assert "the server was ended by SIGKILL" in server["missing_because"]
    assert not hammer["complete"]
    assert "was ended by SIGKILL without a summary" in hammer["missing_because"]
    assert other["complete"]
    for users in (1, 2, 3):
        again = window_row(out, f"w-a-u{users}-b0-again")
        assert (again["complete"], again["attempt"], again["block"]) == (True, 1, 0)
    added = [entry.facts["because"] for entry in entries(out, "windows-added")]
    assert [why for why in added if "w-a-u4" not in why] == [
        f"the block is measured once more, for this is invalid: w-a-u{users}-b0 (no numbers)"
        for users in (1, 2, 3)
    ]
    assert "added: the block is measured once more" in assaulted.stderr
    assert "Block 0 at 1 user" in page_text(RunDirectory(out).page)
    assert left_by(out) == []


def test_a_hammer_that_is_held_costs_its_window_only(assaulted: Assaulted) -> None:
    """SIGSTOP must not hold the run for ever."""
    assert assaulted.code == 0, assaulted.stderr
    held, other = (window_row(assaulted.out, f"w-a-u{users}-b0") for users in (3, 4))
    assert "was held by a signal" in held["missing_because"]
    assert other["complete"]
    assert left_by(assaulted.out) == []


def test_what_a_killed_run_left_does_not_stop_the_next(stithy: Stithy, place: Path) -> None:
    """The next run cleans up first and uses the same directory."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="1 s")
    process = stithy.start("run", study, "--out", place / "first")
    wait_for(lambda: entries(place / "first", "making", kind="shared-memory"), process)
    process.kill()
    process.communicate()
    ended = stithy.run("run", study, "--out", place / "second")
    assert ended.returncode == 0, ended.stderr
    assert left_by(place / "first") == []
    assert left_by(place / "second") == []
    assert not (place / "a").exists()


def test_kept_instances_go_on_until_clean(stithy: Stithy, place: Path) -> None:
    """Their URLs hold no password; the file that does is the owner's alone."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="1 s")
    out = place / "out"
    ended = stithy.run("run", study, "--out", out, "--keep")
    assert ended.returncode == 0, ended.stderr
    [line] = [line for line in ended.stdout.splitlines() if "kept running" in line]
    passfile = Path(line.rpartition("passfile=")[2])
    assert passfile.stat().st_mode & 0o077 == 0
    password = passfile.read_text().rpartition(":")[2].strip()
    for path in out.rglob("*"):
        assert not path.is_file() or password.encode() not in path.read_bytes()
    assert pids_inside(place / "a/data", "postgres")
    checked = stithy.run("hammer", "check", line.rpartition("running: ")[2])
    assert checked.returncode == 0, checked.stdout + checked.stderr
    refused = stithy.run("run", study, "--out", place / "second")
    assert refused.returncode == 3
    assert "stithy clean" in refused.stderr
    assert stithy.run("clean").returncode == 0
    assert left_by(out) == []
    assert not (place / "a").exists()
