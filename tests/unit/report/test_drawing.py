"""Drawings: the same in fewer bytes, colours that all tell apart, extremes of what has a value."""

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from stithy.point import Point
from stithy.report.blocks import Figure
from stithy.report.drawing import draw, palette
from stithy.report.drawing.draw import read_cached
from stithy.report.drawing.titles import count_missing, name_by
from stithy.report.figures.heat import _find_slowest_s
from stithy.results.hlog import LoggedHistogram
from stithy.scenarios.block_io.report import sweeps
from support.drawn import context_built, draw_all
from support.sample_run import Shape

SPEC = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json", "title": "disk",
    "datasets": {"data-0": [{"x": 1, "c": "<b>a\"'&"}, {"x": 2, "c": "é 😀"}]},
    "data": {"name": "data-0"}, "mark": {"type": "point", "clip": True},
    "encoding": {"x": {"field": "x", "type": "quantitative"},
                 "color": {"field": "c", "type": "nominal"}},
}  # fmt: skip


def test_ids_are_those_of_the_figure_and_names_stay_texts() -> None:
    """Two drawings on a page never share an id; one is drawn twice the same."""
    first = draw.draw_svg(SPEC, "first")
    ids = re.findall(r' id="([^"]+)"', first)
    assert [each for each in ids if not each.startswith("first-")] == [] != ids
    assert {*re.findall(r"url\(#([^)]+)\)", first)} <= {*ids}
    assert first == draw.draw_svg(SPEC, "first")
    assert {"<b>a\"'&", "é 😀"} <= {each.text for each in ElementTree.fromstring(first).iter()}
    # A page is the same, whether its libraries were kept or bundled anew.
    assert draw.load_library() == draw._make_bundle()


def _lead_elsewhere(path: Path) -> None:
    path.rename(path.with_name("other"))
    path.symlink_to("other")


def _open_folder(path: Path) -> None:
    path.parent.chmod(0o777)
    path.write_bytes(path.read_bytes().replace(b"text", b"evil"))


@pytest.mark.parametrize(("deed", "times"), [
    (lambda path: None, 1), (lambda path: path.chmod(0o666), 2), (_lead_elsewhere, 2),
    (lambda path: path.write_bytes(path.read_bytes().replace(b"text", b"evil")), 2),
    (lambda path: path.write_bytes(path.read_bytes()[:-3]), 2),
    (lambda path: path.write_bytes(b""), 2), (_open_folder, 3),
])  # fmt: skip
def test_a_text_that_is_kept_is_used_only_as_it_was_written_by_who_wrote_it(
    tmp_path: Path, deed: Callable[[Path], object], times: int
) -> None:
    """It is made once; whatever became of it, again; from an open folder nothing is taken."""
    home, made = tmp_path / "cache" / "stithy", list[str]()

    def make() -> str:
        made.append("a text <é 😀>")
        return made[-1]

    assert {read_cached(lambda: home, "text", make) for _ in range(2)} == {"a text <é 😀>"}
    assert [each.stat().st_mode & 0o777 for each in (home, home / "text")] == [0o700, 0o600]
    assert [each.name for each in home.iterdir()] == ["text"]
    deed(home / "text")
    before = (home / "text").read_bytes()
    assert {read_cached(lambda: home, "text", make) for _ in range(2)} == {"a text <é 😀>"}
    assert len(made) == times
    assert times < 3 or (home / "text").read_bytes() == before


def _linear(colour: str) -> list[float]:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return [p / 12.92 if p <= 0.04045 else float(((p + 0.055) / 1.055) ** 2.4) for p in parts]


def _luminance(colour: str) -> float:
    """Relative luminance, 0 to 1. Source: WCAG 2.2."""
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), _linear(colour), strict=True))


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_marks_stand_out_from_the_paper_and_candidates_from_each_other(scheme: int) -> None:
    """3 to 1 for all but idleness; by lightness alone, which every eye and a grey printer keep."""
    parts = dict(palette.STATE_COLOURS)
    del parts["idle"]
    pairs = [*parts.values(), *palette.WAIT_COLOURS, palette.OTHER_WAIT]
    colours = [pair[scheme] for pair in palette.CANDIDATE_COLOURS]
    marks = [palette.MARK[scheme], *(pair[scheme] for pair in pairs), *colours]
    for mark in marks:
        low, high = sorted(_luminance(each) for each in (mark, palette.PAPER[scheme]))
        assert (high + 0.05) / (low + 0.05) >= 3, mark
    # L* of CIE 15, above its linear part.
    shades = [116 * _luminance(colour) ** (1 / 3) - 16 for colour in colours]
    assert min(abs(a - b) for a, b in combinations(shades[:4], 2)) >= 10
    assert min(abs(a - b) for a, b in combinations(shades, 2)) >= 4


def test_each_candidate_differs_from_the_others_by_more_than_colour() -> None:
    """Eight by marker, dash and outline; fifty by colour with marker, and by colour with dash."""
    styles = list(palette.choose_styles(tuple(f"candidate-{n}" for n in range(50))).values())
    for a, b in combinations(styles[:8], 2):
        assert a.marker != b.marker
        assert a.dash != b.dash
        assert a.outline != b.outline
    assert len({(style.colour, style.marker) for style in styles}) == 50
    assert len({(style.colour, style.dash) for style in styles}) == 50


def titles(family: str, folder: Path, **shape: Any) -> list[str]:
    """The titles of what a family draws of a run of 13 users."""
    context = context_built(folder, Shape(**{"users": (13,), "series": False, **shape}))
    return [each.title for each in draw_all(family, context) if isinstance(each, Figure)]


@pytest.mark.parametrize(("duration_s", "title"), [
    (30, "At 13 users, delivery takes longest: its median is 154 ms on disk and 49.9 ms on memory"),
    (20, "At 13 users, new-order on disk takes longest of the types with enough transactions: its "
         "median is 70.1 ms on disk and 22.7 ms on memory"),
])  # fmt: skip
def test_types_are_compared_by_what_all_have(tmp_path: Path, duration_s: int, title: str) -> None:
    """Delivery is 2.2 times as slow as new-order, and too rare for a p95, then for a median."""
    assert titles("response-by-transaction", tmp_path, duration_s=duration_s) == [title]


def test_most_work_is_named_without_its_response_time(tmp_path: Path) -> None:
    """Not the work at the levels that have enough values for a percentile."""
    [title] = titles("response-throughput", tmp_path, users=(4, 13))
    assert title == (
        "Highest new orders per minute: 4,593 on disk at 13 users (too few values for p95 of "
        "new-order) and 14,178 on memory at 13 users (p95 of new-order 59.6 ms)"
    )


@pytest.mark.parametrize(("count", "most", "reported"), [
    (3, 3, "0 on a, 1 on b and 2 on c"), (3, 2, "0 on a and 2 on c, the other between them"),
    (5, 3, "0 on a and 4 on e, the other 3 between them"),
])  # fmt: skip
def test_those_between_are_counted(count: int, most: int, reported: str) -> None:
    """A candidate without a value lies nowhere."""
    values = {"abcde"[number]: float(number) for number in range(count)}
    assert name_by(values, "{:.0f}".format, most=most) == reported


@pytest.mark.parametrize(("counts", "slowest"), [
    ((2000, 2000), (0.512, False)), ((2000, 1999), (0.256, True)), ((3, 2), (None, True)),
])  # fmt: skip
def test_the_slowest_second_knows_of_those_with_few(
    counts: tuple[int, int], slowest: tuple[float | None, bool]
) -> None:
    """The later second takes twice as long."""
    window: Any = SimpleNamespace(measure_after_s=0.0)
    found = [(second, LoggedHistogram({256_000 * (1 + second) >> 8: count}, 10, 8))
             for second, count in enumerate(counts)]  # fmt: skip
    slowest_s, has_few = _find_slowest_s(window, found)
    assert (slowest_s and pytest.approx(slowest_s, rel=0.01), has_few) == slowest


def test_points_without_a_value_are_counted_beside_the_most() -> None:
    """The one that is missing may have had more."""
    place = sweeps._SweepPlace("a", Point(()), "4 KiB", {"iops": 900.0})
    title = sweeps._describe_finding(sweeps._Sweep(next(iter(sweeps.KEYS)), Point(()), (place,), 2))
    assert title.endswith("900/s on a (at 4 KiB); 2 points have no valid value")
    assert (count_missing(1), count_missing(0)) == ("; 1 point has no valid value", "")
