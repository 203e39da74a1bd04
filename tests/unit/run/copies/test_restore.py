"""A restore is proven or it is an error; nothing of the old database stays."""

from pathlib import Path

import polars as pl
import pytest

from stithy.errors import InfrastructureError
from stithy.results.layout import RunDirectory
from stithy.run.events import Event, StepStarted
from support.faked_run import FakedRun


@pytest.fixture
def faked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakedRun:
    """A run that registers in a directory of its own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    return FakedRun(tmp_path)


def before(faked: FakedRun, kind: str, action: object) -> None:
    """Do something just before the first step of a kind."""
    done: list[bool] = []

    def on_event(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step.kind == kind and not done:
            done.append(True)
            assert callable(action)
            action()

    faked.on_event = on_event


def test_a_master_copy_that_changed_is_noticed(faked: FakedRun) -> None:
    """The first file that differs is named, and the run ends: no window could be trusted."""
    rows = faked.root / "out/master-copy/master/base/rows"
    before(faked, "restore", lambda: rows.write_bytes(rows.read_bytes()[:-1] + b"!"))
    outcome = faked.run()
    assert isinstance(outcome.error, InfrastructureError)
    assert "differs from what it was made of, first in base/rows" in outcome.error.problem


def test_a_link_in_the_database_is_refused(faked: FakedRun) -> None:
    """A copy of it would not be a copy."""
    before(faked, "snapshot", lambda: (faked.root / "a/data/link").symlink_to("/etc/passwd"))
    outcome = faked.run()
    assert isinstance(outcome.error, InfrastructureError)
    assert "neither a file nor a directory" in outcome.error.problem


def test_each_restore_tells_what_it_took_and_what_stayed_in_memory(faked: FakedRun) -> None:
    """One row a window, with the bytes that could not be evicted or the reason."""
    faked.run()
    rows = pl.read_parquet(RunDirectory(faked.out).table("restores"))
    assert rows.height == 4
    assert rows["files"].to_list() == [3] * 4
    assert rows["identical"].all()
    for row in rows.iter_rows(named=True):
        assert (row["resident_bytes"] == 0) == (row["resident_note"] is None)


def test_what_a_window_left_is_gone_in_the_next(faked: FakedRun) -> None:
    """Files that the master copy does not have, too."""
    seen: list[bool] = []

    def strike() -> None:
        left = faked.engine.starts[-1].data / "left-by-a-window"
        seen.append(left.exists())
        left.touch()

    faked.hammer.before_run = strike
    faked.run()
    assert seen == [False] * 4
