"""From a specification to an SVG for the page."""

import re
import xml.etree.ElementTree as ET

from stithy.report.drawing.draw import svg

SPEC = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "data": {"values": [{"x": 1, "y": 2.123456, "c": "<b>a\"'&"}, {"x": 2, "y": 3, "c": "é 😀"}]},
    "mark": {"type": "line", "point": True, "clip": True},
    "encoding": {
        "x": {"field": "x", "type": "quantitative"},
        "y": {"field": "y", "type": "quantitative"},
        "color": {"field": "c", "type": "nominal"},
    },
}


def test_equal_specifications_give_equal_bytes() -> None:
    """Also within one process, where vl-convert goes on counting its ids."""
    assert svg(SPEC, "a") == svg(SPEC, "a")


def test_ids_are_those_of_the_figure() -> None:
    """Two drawings on a page never share an id."""
    ids = re.findall(r' id="([^"]+)"', svg(SPEC, "first"))
    assert ids
    assert all(each.startswith("first-") for each in ids)
    assert set(re.findall(r"url\(#([^)]+)\)", svg(SPEC, "first"))) <= set(ids)


def test_the_drawing_is_well_formed_and_names_stay_texts() -> None:
    """A candidate's name with markup is drawn as it is written."""
    root = ET.fromstring(svg(SPEC, "a"))
    texts = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert "<b>a\"'&" in texts
    assert "é 😀" in texts
    assert not any(element.tag.endswith("}b") for element in root.iter())
