"""A window's ledger is compared with its database, and what that says is kept."""

from pathlib import Path

import polars as pl
import pytest

from fakes.engine import FakeEngine
from fakes.hammer import FakeHammer
from stithy.errors import InfrastructureError
from stithy.report.context import context_of
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.events import Note
from support.faked_run import FakedRun
from support.running import entries, manifest, window_row

WITH_LEDGER = {"ledger": "true"}
FIRST = "w-a-u1-b0"


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def table(out: Path, name: str) -> pl.DataFrame:
    """A table of the first window."""
    return pl.read_parquet(RunDirectory(out).window(FIRST).table(name))


def fault() -> InfrastructureError:
    """An error from outside."""
    return InfrastructureError("the drive is gone", where="somewhere", remedy="none")


def test_every_window_has_its_ledger_compared(tmp_path: Path) -> None:
    """Orders and payments have a row each; nothing is wrong, so nothing is found."""
    faked = FakedRun(tmp_path, load=WITH_LEDGER)
    faked.run()
    windows = RunDirectory(faked.out)
    assert sorted(faked.hammer.verified) == sorted(
        windows.window(f"w-{name}-u{users}-b0").ledger for name in "ab" for users in (1, 2)
    )
    assert table(faked.out, "ledger")["deal"].to_list() == ["order", "payment"]
    assert table(faked.out, "ledger")["acknowledged"].to_list() == [10, 10]
    assert table(faked.out, "ledger_findings").is_empty()
    assert window_row(faked.out, FIRST)["ledger_acknowledged"] == 20
    result = entries(faked.out, "step-finished", id=FIRST)[0].facts["result"]
    assert result.endswith("; nothing acknowledged is missing")


def test_without_a_ledger_nothing_is_compared_and_the_tables_are_empty(tmp_path: Path) -> None:
    """The tables are there all the same."""
    faked = FakedRun(tmp_path)
    faked.run()
    assert faked.hammer.verified == []
    assert table(faked.out, "ledger").is_empty()
    assert window_row(faked.out, FIRST)["ledger_shares"] is None
    assert not [event for event in faked.events if isinstance(event, Note)]


def test_an_order_that_is_gone_makes_its_window_invalid(tmp_path: Path) -> None:
    """The finding is kept, the step says so, and the window supports no claim."""
    faked = FakedRun(tmp_path, load=WITH_LEDGER, hammer=FakeHammer(lost=1))
    faked.run()
    assert table(faked.out, "ledger_findings")["text"].to_list() == ["order 0"]
    evidence = context_of(read_run(faked.out)).evidence
    assert [window.valid for window in evidence.windows] == [False] * 4
    result = entries(faked.out, "step-finished", id=FIRST)[0].facts["result"]
    assert result.endswith("ACKNOWLEDGED WORK IS GONE")


def test_a_comparison_that_fails_leaves_the_window_and_says_why(tmp_path: Path) -> None:
    """The numbers of the window are there; only the proof is missing."""
    hammer = FakeHammer({"verify-ledger": fault()})
    faked = FakedRun(tmp_path, load=WITH_LEDGER, hammer=hammer)
    assert faked.run().end == "finished"
    row = window_row(faked.out, FIRST)
    assert row["complete"]
    assert row["ledger_unverified_because"] == "somewhere: the drive is gone"


def test_a_window_that_wrote_no_ledger_says_so(tmp_path: Path) -> None:
    """The hammer failed before it could begin."""
    faked = FakedRun(tmp_path, load=WITH_LEDGER, hammer=FakeHammer({"run": fault()}))
    faked.run()
    row = window_row(faked.out, FIRST)
    assert row["missing_because"] == "somewhere: the drive is gone"
    assert row["ledger_unverified_because"] == "the window wrote no ledger"


def test_a_server_that_ended_is_started_once_more_for_the_comparison(tmp_path: Path) -> None:
    """Starts: loading, the check after it, the first window, and that window's once more."""
    engine = FakeEngine(ended_starts=frozenset({3}))
    FakedRun(tmp_path, load=WITH_LEDGER, engine=engine).run()
    first = manifest(tmp_path / "out")["plan"]["windows"][0]
    directory = RunDirectory(tmp_path / "out").window(first)
    assert engine.starts[3].log == directory.recovery_log
    assert window_row(tmp_path / "out", first)["ledger_unverified_because"] is None
    assert pl.read_parquet(directory.table("ledger")).height == 2


def test_a_server_that_does_not_start_again_leaves_its_ledger_uncompared(tmp_path: Path) -> None:
    """The reason is why it did not; the run goes on."""
    engine = FakeEngine(broken_starts=frozenset({4}), ended_starts=frozenset({3}))
    assert FakedRun(tmp_path, load=WITH_LEDGER, engine=engine).run().end == "finished"
    first = manifest(tmp_path / "out")["plan"]["windows"][0]
    because = window_row(tmp_path / "out", first)["ledger_unverified_because"]
    assert because == "after the server's end, fake server: it fell over"


def test_a_person_is_told_at_once_that_ledger_and_candidate_share_a_device(tmp_path: Path) -> None:
    """Here all lies in one directory; each candidate is told of, and each window has it."""
    faked = FakedRun(tmp_path, load=WITH_LEDGER)
    faked.run()
    notes = [event.text for event in faked.events if isinstance(event, Note)]
    assert [note.split(" share ")[0] for note in notes if "share" in note] == [
        "candidate a and its ledgers",
        "candidate b and its ledgers",
    ]
    assert window_row(faked.out, FIRST)["ledger_shares"] is not None
