"""Drawings: in fewer bytes the same, with words inside, in colours that everybody tells apart."""

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
import vl_convert

from stithy.report.drawing import draw, palette
from stithy.report.drawing.compact import compact, kept

CIRCLE = "M4,0A4,4,0,1,1,-4,0A4,4,0,1,1,4,0"
LOOK = 'stroke="#5b6470" stroke-width="1"'


def test_neighbours_of_one_look_become_one_element_and_texts_say_once_how_they_look() -> None:
    """Words stay as they are, also those that look like markup or like code."""
    lines = "".join(
        f'<line transform="translate({x},{y})" x2="{right}" y2="{down}" {LOOK}/>'
        for x, y, right, down in (("0", "84", "218", "0"), ("48.5", "0", "0", "-5"), (1, 2, 3, 4))
    )
    assert compact(lines) == f'<path d="M0,84h218M48.5,0v-5M1,2l3,4" {LOOK}/>'
    words = ("0", "a &lt;b&gt; &amp;", 'translate(1,2)" x2="', "")
    made = compact("".join(
        f'<text text-anchor="end" transform="translate(-4,{at})" font-size="12px">{word}</text>'
        for at, word in enumerate(words)
    ))  # fmt: skip
    assert made.startswith('<g text-anchor="end" font-size="12px"><text x="-4" y="0">0</text>')
    assert re.findall(r">([^<>]*)</text>", made) == list(words)


@pytest.mark.parametrize("look", ['fill-opacity="0.12"', 'fill="#fff" stroke="#144097"'])
def test_marks_that_show_what_lies_below_stay_apart(look: str) -> None:
    """Two pale ones on each other are darker than one; a hollow one hides the one before."""
    mark = f'<path transform="translate(5,5)" d="{CIRCLE}" {look}/>'
    assert compact(mark + mark).count("<path") == 2


@pytest.mark.parametrize("symbol", [
    CIRCLE, "M-4,-4h8.1v8.1h-8.1Z", "M-4,0L0,-4L4,0L0,4Z", "M-4,-4H4V4H-4Z",
    "M-4,-1.6L-4,1.6L-1.6,1.6L-1.6,4L1.6,4L1.6,1.6L4,1.6L4,-1.6L1.6,-1.6L1.6,-4Z",
])  # fmt: skip
def test_symbols_are_painted_as_before(symbol: str) -> None:
    """To the last pixel, wherever they stand."""
    marks = "".join(
        f'<path transform="translate({x},{y})" d="{symbol}" fill="#144097" stroke-width="2"/>'
        for x, y in ((10, 10), (30.5, 12.2), (50, 31.7))
    )

    def painted(drawing: str) -> bytes:
        whole = f'<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40">{drawing}</svg>'
        return vl_convert.svg_to_png(whole, scale=4)

    assert compact(marks).count("<path") == 1
    assert painted(compact(marks)) == painted(marks) != painted("")


SPEC = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json", "title": "disk",
    "datasets": {"data-0": [{"x": 1, "c": "<b>a\"'&"}, {"x": 2, "c": "é 😀"}]},
    "data": {"name": "data-0"}, "mark": {"type": "point", "clip": True},
    "encoding": {"x": {"field": "x", "type": "quantitative"},
                 "color": {"field": "c", "type": "nominal"}},
}  # fmt: skip


def test_ids_are_those_of_the_figure_and_names_stay_texts() -> None:
    """Two drawings on a page never share an id; one is drawn twice the same."""
    first = draw.svg(SPEC, "first")
    ids = re.findall(r' id="([^"]+)"', first)
    assert [each for each in ids if not each.startswith("first-")] == [] != ids
    assert {*re.findall(r"url\(#([^)]+)\)", first)} <= {*ids}
    assert first == draw.svg(SPEC, "first")
    assert {"<b>a\"'&", "é 😀"} <= {each.text for each in ElementTree.fromstring(first).iter()}
    # A page is the same, whether its libraries were kept or bundled anew.
    assert draw.library() == draw._bundle()


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

    assert {kept(lambda: home, "text", make) for _ in range(2)} == {"a text <é 😀>"}
    assert [each.stat().st_mode & 0o777 for each in (home, home / "text")] == [0o700, 0o600]
    assert [each.name for each in home.iterdir()] == ["text"]
    deed(home / "text")
    before = (home / "text").read_bytes()
    assert {kept(lambda: home, "text", make) for _ in range(2)} == {"a text <é 😀>"}
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
    shades = [116 * _luminance(each) ** (1 / 3) - 16 for each in colours]
    assert min(abs(a - b) for a, b in combinations(shades[:4], 2)) >= 10
    assert min(abs(a - b) for a, b in combinations(shades, 2)) >= 4


def test_each_candidate_differs_from_the_others_by_more_than_colour() -> None:
    """Eight by marker, dash and outline; fifty by colour with marker, and by colour with dash."""
    styles = list(palette.styles(tuple(f"candidate-{n}" for n in range(50))).values())
    for a, b in combinations(styles[:8], 2):
        assert a.marker != b.marker
        assert a.dash != b.dash
        assert a.outline != b.outline
    assert len({(style.colour, style.marker) for style in styles}) == 50
    assert len({(style.colour, style.dash) for style in styles}) == 50
