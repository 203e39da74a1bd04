"""A search on a real server: how many users it serves no test can say; what it says must hold."""

from pathlib import Path

import polars as pl
import pytest

from stithy.analysis.capacity import choose_next_windows, find_capacity, list_trials
from stithy.point import Point
from stithy.report.context import make_context
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.running import Stithy, entries, left_by, manifest, seconds_measured, write_study

pytestmark = pytest.mark.needs_postgresql

FIND = "max users with p95 of new-order ≤ 12 ms"
LIMIT_S = 0.012
NAMES = ("a", "b")


def study(place: Path, most: int) -> Path:
    """Two directories, windows of a second, at most so many users."""
    candidates = {name: place / name for name in NAMES}
    load = {"repeat": "", "find": FIND, "find_within": f"[1, {most}]", "ramp_up": "1 s", "pace": ""}
    return write_study(place / "study.yaml", candidates, users=None, duration="1 s", load=load)


def p95_s(out: Path, window_id: str) -> float | None:
    """What the window's own table says, whatever the analysis makes of it."""
    frame = pl.read_parquet(RunDirectory(out).window(window_id).table("transactions"))
    rows = frame.filter(pl.col("transaction") == "new-order")["response_p95_s"]
    return rows[0] if len(rows) else None


def holds_what_its_windows_say(out: Path) -> None:
    """The search is at its end, and each end of a bracket is borne by windows of its own."""
    evidence = make_context(read_run(out)).evidence
    assert evidence.search is not None
    known = {name: list_trials(evidence, name, evidence.search) for name in NAMES}
    assert choose_next_windows(known, evidence.search) is None
    found = find_capacity(evidence)
    assert found is not None
    for capacity in found.of:
        for end, obeys in ((capacity.low, True), (capacity.high, False)):
            if end is not None:
                valid = evidence.valid_at(capacity.candidate, Point.of(users=end.level))
                values = [p95_s(out, window.id) for window in valid]
                assert len(values) == end.windows
                assert all((value or 0.0) <= LIMIT_S for value in values) == obeys
    assert {window.id for window in evidence.windows} == {*manifest(out)["plan"]["further"]}
    assert all(window.tried and 1 <= window.point.level <= 2 for window in evidence.windows)


@pytest.mark.long
def test_a_search_that_was_killed_goes_on(stithy: Stithy, place: Path) -> None:
    """Inside a window that it had tried: what was measured is kept, the rest is searched for.

    On a busy machine no window may be valid: then it says that. Long: a search of two databases,
    begun twice; tests/unit/cli/test_deciding.py searches with fakes each time.
    """
    out = place / "out"
    stithy.kill(lambda: _is_in_a_second_window(out), "run", study(place, 2), "--out", out)
    kept = _windows(out, "step-finished")
    first = {path: path.read_bytes() for window in kept for path in _tables(out, window)}
    assert first
    assert "a search with" in stithy.run_well("resume", out).stdout
    holds_what_its_windows_say(out)
    assert {path: path.read_bytes() for path in first} == first
    page = page_text(RunDirectory(out).page)
    assert "The saturation search" in page
    assert "max users with p95 of new-order ≤" in page
    assert left_by(out) == []


def _is_in_a_second_window(out: Path) -> bool:
    """Whether one was measured, and another one is just being measured."""
    done = _windows(out, "step-finished")
    others = set(_windows(out, "step-started")) - set(done)
    return bool(done) and any(seconds_measured(out, window) for window in others)


def _windows(out: Path, event: str) -> list[str]:
    ids = [str(entry.facts["id"]) for entry in entries(out, event)]
    return [each for each in ids if each.startswith("w-")]


def _tables(out: Path, window_id: str) -> list[Path]:
    return sorted(RunDirectory(out).window(window_id).root.glob("*.parquet"))
