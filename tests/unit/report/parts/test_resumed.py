"""What a page says of a run that was resumed."""

from pathlib import Path

import polars as pl
import pytest

from stithy.analysis.answers.findings import findings
from stithy.report.context import Context, context_of
from stithy.report.parts import compared, validity
from stithy.report.parts.answer import answer
from stithy.results.manifest import SessionFacts
from stithy.results.read import read_run
from support.sample_run import START_S, Shape, build_run, rewrite


def session(start_s: float, **more: object) -> SessionFacts:
    """A session that begins so many seconds after the run."""
    usual = {"started_at_s": START_S + start_s, "boot_id": "one", "end": "finished"}
    return SessionFacts.model_validate({**usual, **more})


def context(root: Path, *sessions: SessionFacts) -> Context:
    """The context of a run of four windows, 100 s each, with these sessions."""
    build_run(root, Shape(users=(1, 4), sessions=sessions))
    return context_of(read_run(root))


def start_s(root: Path, number: int) -> float:
    """When the window with this number in the order of time began, seconds after the run."""
    build_run(root, Shape(users=(1, 4)))
    starts = sorted(pl.read_parquet(root / "windows/*/window.parquet")["started_at_s"])
    return float(starts[number]) - START_S


@pytest.mark.parametrize("sessions", [(), (session(0),)])
def test_a_run_in_one_session_says_nothing(
    tmp_path: Path, sessions: tuple[SessionFacts, ...]
) -> None:
    """Neither sentence nor flaw nor table."""
    made = context(tmp_path, *sessions)
    assert validity.resumed_sentence(made) is None
    assert list(validity.resumed_flaws(made)) == []
    assert made.manifest is not None
    assert all(table.name != "facts-sessions" for table in compared.facts_tables(made.manifest))


def test_the_page_says_when_and_why_windows_are_comparable(tmp_path: Path) -> None:
    """And how many were measured before and after."""
    after_s = start_s(tmp_path / "whole", 2) - 1.0
    made = context(tmp_path / "run", session(0, end="killed"), session(after_s))
    told = validity.resumed_sentence(made)
    assert told is not None
    assert told.startswith("The run was resumed at 20")
    assert (
        "UTC, after it had been killed; windows measured: 2 in session 1 and 2 in session 2."
        in told
    )
    assert "each window starts from a fresh restore" in told
    assert told in answer(made, findings(made.evidence, made.limited)).support
    assert made.manifest is not None
    assert compared.facts_tables(made.manifest)[-1].name == "facts-sessions"


def test_a_missing_final_check_is_a_flaw(tmp_path: Path) -> None:
    """Of each candidate that has none."""
    run = build_run(tmp_path, Shape(users=(1, 4), sessions=(session(0), session(1e6))))
    path = run.table("conditions")
    table = pl.read_parquet(path)
    rewrite(path, table.filter(~((pl.col("moment") == "end") & (pl.col("candidate") == "disk"))))
    [told] = validity.resumed_flaws(context_of(read_run(tmp_path)))
    assert "is missing for disk" in told


def test_a_database_that_was_not_loaded_again_is_told(tmp_path: Path) -> None:
    """Only where every later session that measured anything used it on."""
    after_s = start_s(tmp_path / "whole", 2) - 1.0
    kept = session(after_s, master_kept=True)
    told = validity.resumed_sentence(context(tmp_path / "kept", session(0, end="killed"), kept))
    assert "proven to be the same to the byte" in (told or "")
    idle = session(1e6)
    told = validity.resumed_sentence(
        context(tmp_path / "idle", session(0, end="killed"), kept, idle)
    )
    assert "proven to be the same to the byte" in (told or "")
    late = validity.resumed_sentence(context(tmp_path / "late", session(-10), session(-5)))
    assert "loaded again" in (late or ""), "nothing was measured before"
