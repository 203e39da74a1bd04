"""The rules of OpenMetrics text: names, units, and texts in quotes."""

import pytest

from stithy.openmetrics import END, Point, family, written
from support.openmetrics import read


@pytest.mark.parametrize(
    ("name", "told", "unit"),
    [
        ("reads_per_s", "reads_per_second", "per_second"),
        ("read_bytes_per_s", "read_bytes_per_second", "bytes_per_second"),
        ("read_latency_s", "read_latency_seconds", "seconds"),
        ("idle_share", "idle_ratio", "ratio"),
        ("dirty_bytes", "dirty_bytes", "bytes"),
        ("queue_length", "queue_length", ""),
        ("a.b-c_s", "a_b_c_seconds", "seconds"),
    ],
)
def test_a_name_ends_in_its_unit_as_openmetrics_wants_it(name: str, told: str, unit: str) -> None:
    """Base units in full words, and no character that no name may have."""
    each = family(("block", name), "what it is")
    assert (each.name, each.unit) == (f"stithy_block_{told}", unit)


def test_texts_stay_within_their_quotes_and_lines() -> None:
    """What is read again is what was written."""
    text = 'a"b\\c\nd'
    told = written(family(("x",), text), [Point(1.5, {"name": text})]) + END
    assert read(told)["stithy_x"].samples == [({"name": text}, 1.5, None)]


def test_what_is_no_number_is_not_written() -> None:
    """A family of such values alone is not there at all."""
    each = family(("x",), "x")
    assert written(each, [Point(float("nan"), {}), Point(float("inf"), {})]) == ""
