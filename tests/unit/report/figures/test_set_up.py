"""The drawing of the set-up: every part once, within its frame, whatever the names are."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stithy.report.context import context_of
from stithy.report.drawing.draw import svg
from stithy.report.figure import Absent, Figure
from stithy.report.figures.set_up import END, LETTER, draw
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from support.drawn import only_figure, rows_in
from support.sample_run import Shape, build_run

HOSTILE = "<script>alert(1)</script>\u202e😀"


figure = partial(only_figure, draw)


def rows(found: Figure, *keys: str) -> list[dict[str, Any]]:
    """The drawn things with exactly these keys."""
    return [row for row in rows_in(found) if set(row) == set(keys)]


@pytest.mark.parametrize("count", [1, 2, 10])
def test_every_candidate_has_a_server_a_volume_and_its_storage(tmp_path: Path, count: int) -> None:
    """And its colour; boxes neither overlap nor leave the frame."""
    names = tuple(f"candidate-{index}" for index in range(count))
    found = figure(tmp_path, Shape(candidates=names, users=(1,), duration_s=4, series=False))
    marks = rows(found, "x", "x2", "y", "y2", "candidate")
    assert [mark["candidate"] for mark in marks] == list(names)
    shapes = rows(found, "x", "x2", "y", "y2")
    frame = max(shapes, key=lambda box: box["y2"] - box["y"] if box["x"] < 2 else 0)
    boxes = [each for each in shapes if each["x2"] - each["x"] > 100 and each != frame]
    assert len(boxes) == 1 + 3 * count
    for box in boxes:
        assert frame["x"] < box["x"] < box["x2"] < frame["x2"]
        assert frame["y"] < box["y"] < box["y2"] < frame["y2"]
        others = [each for each in boxes if each is not box]
        assert not any(_overlap(box, other) for other in others)
    assert found.table.frame["candidate"].to_list() == list(names)


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(
        one[low] < other[high] and other[low] < one[high]
        for low, high in (("x", "x2"), ("y", "y2"))
    )


def test_long_and_hostile_names_stay_in_their_box_and_the_data_have_them_whole(
    tmp_path: Path,
) -> None:
    """Shortened, with every letter seen, and never markup."""
    names = ("a" * 40, HOSTILE)
    found = figure(tmp_path, Shape(candidates=names, users=(1,), duration_s=4, series=False))
    texts = rows(found, "x", "y", "text")
    assert all(each["x"] + LETTER * len(each["text"]) <= END + 14 for each in texts)
    assert not any("\u202e" in each["text"] for each in texts)
    assert found.table.frame["candidate"].to_list() == list(names)
    drawing = svg(found.spec, "set-up")
    assert "<script" not in drawing
    assert "&lt;script" in drawing


def test_it_is_told_in_words_for_those_who_cannot_see_it(tmp_path: Path) -> None:
    """Machine, hammer, and each candidate's volume and storage."""
    said = figure(tmp_path, Shape(drives={"memory": 0.0}, duration_s=4)).description
    assert "This machine: 2 × Example CPU" in said
    assert "disk: postgresql 15.13, memory 1 GiB, any CPU, with data, log, temp, backup on" in said
    assert "on EMULATED sample-ssd at scale 1/8" in said


def test_without_a_manifest_it_says_why_there_is_none(tmp_path: Path) -> None:
    """Nothing is drawn from guesses."""
    build_run(tmp_path, Shape(users=(1,), duration_s=4))
    RunDirectory(tmp_path).manifest.unlink()
    [absent] = draw(context_of(read_run(tmp_path)))
    assert isinstance(absent, Absent)
    assert absent.because == "the manifest could not be read"
