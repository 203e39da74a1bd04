"""A drawing in fewer elements: the same marks at the same places, painted in the same order."""

import re

import pytest
import vl_convert

from stithy.report.drawing.compact import compact

LOOK = 'stroke="#5b6470" stroke-width="1"'
CIRCLE = "M4,0A4,4,0,1,1,-4,0A4,4,0,1,1,4,0"


def test_neighbouring_lines_of_one_look_become_one_path() -> None:
    """Across, down and askew."""
    lines = "".join(
        f'<line transform="translate({x},{y})" x2="{right}" y2="{down}" {LOOK}/>'
        for x, y, right, down in (("0", "84", "218", "0"), ("48.5", "0", "0", "-5"), (1, 2, 3, 4))
    )
    assert compact(lines) == f'<path d="M0,84h218M48.5,0v-5M1,2l3,4" {LOOK}/>'


def test_what_is_seen_through_stays_apart() -> None:
    """Two pale marks on each other are darker than one."""
    pale = f'<path transform="translate(5,5)" d="{CIRCLE}" fill="#144097" fill-opacity="0.12"/>'
    assert compact(pale + pale).count("<path") == 2


def test_marks_with_an_edge_keep_what_covers_what() -> None:
    """Hollow marks hide what lies below them, each of the one before it as well."""
    ring = f'<path transform="translate(5,5)" d="{CIRCLE}" fill="#fff" stroke="#144097"/>'
    assert compact(ring + ring).count("<path") == 2


def test_texts_say_once_how_they_look() -> None:
    """Their words stay as they are, also those that look like markup or like code."""
    words = ("0", "a &lt;b&gt; &amp;", 'translate(1,2)" x2="', "")
    texts = "".join(
        f'<text text-anchor="end" transform="translate(-4,{at})" font-size="12px">{word}</text>'
        for at, word in enumerate(words)
    )
    made = compact(texts)
    assert made.startswith('<g text-anchor="end" font-size="12px"><text x="-4" y="0">0</text>')
    assert re.findall(r">([^<>]*)</text>", made) == list(words)


SYMBOLS = {
    "circle": CIRCLE,
    "square": "M-4,-4h8.1v8.1h-8.1Z",
    "diamond": "M-4,0L0,-4L4,0L0,4Z",
    "cross": "M-4,-1.6L-4,1.6L-1.6,1.6L-1.6,4L1.6,4L1.6,1.6L4,1.6L4,-1.6L1.6,-1.6L1.6,-4Z",
    "straight": "M-4,-4H4V4H-4Z",
}


@pytest.mark.parametrize("symbol", SYMBOLS.values(), ids=SYMBOLS)
def test_symbols_are_painted_as_before(symbol: str) -> None:
    """To the last pixel, wherever they stand."""
    marks = "".join(
        f'<path transform="translate({x},{y})" d="{symbol}" fill="#144097" stroke-width="2"/>'
        for x, y in ((10, 10), (30.5, 12.2), (50, 31.7))
    )
    assert compact(marks).count("<path") == 1
    assert len(compact(marks)) < len(marks) * 0.7
    assert _painted(compact(marks)) == _painted(marks) != _painted("")


def _painted(drawing: str) -> bytes:
    """The drawing as an image."""
    whole = f'<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40">{drawing}</svg>'
    return vl_convert.svg_to_png(whole, scale=4)
