"""A figure's files say what the page says of it, for those who see it without the page."""

import json
from xml.etree import ElementTree

import vl_convert

from stithy.report.drawing.draw import VEGA_LITE, Words, standalone_svg, vega_lite

DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="200" height="100" '
    'viewBox="0 0 200 100"><rect width="10" height="10"/></svg>'
)
WORDS = Words(
    "At 4 users, <b>sata</b> & nvme are not distinguishable", "Two lines.", "Closed loop · 4 blocks"
)
NAMESPACE = "{http://www.w3.org/2000/svg}"


def test_title_description_and_footer_are_inside() -> None:
    """As texts that are seen, and as the name and description of the image."""
    root = ElementTree.fromstring(standalone_svg("effect", DRAWING, WORDS))
    assert root.get("role") == "img"
    texts = {each.get("id"): each.text for each in root if each.get("id")}
    assert root.get("aria-labelledby") == " ".join(str(each) for each in texts)
    assert list(texts.values()) == [WORDS.title, WORDS.description]
    seen = " ".join(str(each.text) for each in root.iter(f"{NAMESPACE}text"))
    assert seen == f"{WORDS.title} {WORDS.footer}"


def test_texts_are_above_and_below_the_drawing_and_within_the_width() -> None:
    """A long title takes several lines, and everything else moves down."""
    root = ElementTree.fromstring(standalone_svg("effect", DRAWING, WORDS))
    drawing = root.find(f"{NAMESPACE}svg")
    assert drawing is not None
    top, height = float(drawing.get("y", "0")), float(root.get("height", "0"))
    lines = [float(each.get("y", "0")) for each in root.iter(f"{NAMESPACE}text")]
    assert len([y for y in lines if y < top]) == 3
    assert all(top + 100 < y < height for y in lines if y > top)


def test_letters_that_xml_cannot_hold_are_told_by_their_number() -> None:
    """A name may hold any."""
    words = Words("a\x00b\x1b[31m", "c", "d\u202e")
    root = ElementTree.fromstring(standalone_svg("effect", DRAWING, words))
    assert "U+0000" in "".join(root.itertext())


def test_the_specification_has_them_too_and_still_is_one() -> None:
    """A chart with a title of its own keeps it within."""
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "datasets": {"data-0": [{"x": 1}]}, "title": "disk", "data": {"name": "data-0"},
        "mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}},
    }  # fmt: skip
    document = json.loads(json.dumps(vega_lite(spec, DRAWING, WORDS)))
    assert " ".join(document["title"]["text"]) == WORDS.title
    assert " ".join(document["title"]["subtitle"]) == WORDS.footer
    assert document["description"] == WORDS.description
    drawn = vl_convert.vegalite_to_svg(document, vl_version=VEGA_LITE)
    assert "disk" in drawn
    assert "distinguishable" in drawn
