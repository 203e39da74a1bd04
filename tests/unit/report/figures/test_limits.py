"""The strip of what limited each window."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stithy.analysis.limits.judge import rules
from stithy.report.drawing.limit_looks import INVALID, looks
from stithy.report.figure import Absent, Figure
from stithy.report.figures.limits import draw
from support.drawn import context_built, figure_in
from support.sample_run import Shape, window_id

_figure = partial(figure_in, draw)


def _parts(figure: Figure) -> list[dict[str, Any]]:
    (rows,) = (rows for rows in figure.spec["datasets"].values() if "windows" in rows[0])
    return list(rows)


def test_each_cell_is_divided_by_its_windows(tmp_path: Path) -> None:
    """As many windows as there are, from left to right, within the cell of their level."""
    bad = {window_id("disk", 4, 1): {"errors": 5}}
    context = context_built(tmp_path, Shape(repeat=3, changes=bad))
    counts: Counter[tuple[str, int, str]] = Counter()
    for window in context.evidence.windows:
        kind = context.limited[window.id].kind if window.valid else INVALID
        counts[window.candidate, window.users, looks()[kind].label] += 1
    parts = _parts(_figure(context))
    assert {(p["candidate"], p["users"], p["label"]): p["windows"] for p in parts} == counts
    for part in parts:
        column = context.evidence.levels.index(part["users"])
        total = sum(counts[key] for key in counts if key[:2] == (part["candidate"], part["users"]))
        assert column <= part["from"] < part["to"] < column + 1
        width = part["to"] - part["from"]
        assert width == pytest.approx(0.94 * part["windows"] / total, abs=1e-4)


def test_parts_have_letters_where_there_is_room(tmp_path: Path) -> None:
    """Colour is never all that tells them apart; what is too narrow has its tooltip and table."""
    few = context_built(tmp_path / "few", Shape(repeat=2))
    assert all(part["letter"] for part in _parts(_figure(few)))
    narrow = tuple(range(1, 41))
    bad = {window_id("disk", 4, 1): {"errors": 5}}
    many = context_built(
        tmp_path / "many", Shape(users=narrow, repeat=3, changes=bad, duration_s=2)
    )
    letters = {part["letter"] for part in _parts(_figure(many)) if part["users"] == 4}
    assert "" in letters


def test_invalid_windows_are_hollow(tmp_path: Path) -> None:
    """In the colour of the paper, and the caption says so."""
    bad = {window_id("disk", 4, 0): {"errors": 5}}
    figure = _figure(context_built(tmp_path, Shape(changes=bad)))
    assert "Invalid windows are hollow." in figure.caption
    assert looks()[INVALID].label in {part["label"] for part in _parts(figure)}


def test_the_table_tells_how_much_of_each_bound_each_window_reached(tmp_path: Path) -> None:
    """A dash where a rule could not speak, never 0."""
    context = context_built(tmp_path, Shape())
    frame = _figure(context).table.frame
    for row in frame.to_dicts():
        limited = context.limited[row["window_id"]]
        assert row["limit"] == limited.kind
        for each in limited.judged:
            assert row[each.rule] == each.share
    assert set(rules()) <= set(frame.columns)


def test_a_run_that_nobody_watched_has_no_strip(tmp_path: Path) -> None:
    """Nothing is drawn that was not seen."""
    (drawn,) = draw(context_built(tmp_path, Shape(series=False)))
    assert isinstance(drawn, Absent)
    assert drawn.because == "no window has samples of the collectors"


def test_a_title_names_what_limited_and_not_more_than_a_few(tmp_path: Path) -> None:
    """Of more than three candidates it says what is drawn."""
    assert _figure(context_built(tmp_path / "two", Shape())).title.startswith("At 13 users, ")
    names = ("a", "b", "c", "d")
    many = _figure(context_built(tmp_path / "many", Shape(candidates=names)))
    assert many.title == "What limited the throughput, by candidate and level"
