"""How many users are served, as a sentence: what was measured, and on how many windows."""

from dataclasses import replace

from stithy.analysis.search.capacity import Capacity, CapacityFinding, End
from stithy.report.findings import sentences
from support.searched import SEARCH

SATA = Capacity("sata", End(34, 0.95, 2), End(36, 1.08, 2))
NVME = Capacity("nvme", End(120, 0.97, 2), End(126, 1.02, 2))
CUT_OFF = Capacity("hdd", End(2, 0.4, 1), None, cut_off=True)


def say(*of: Capacity, most: str | None = None) -> str:
    """The sentence of a search that found this."""
    return sentences([CapacityFinding(SEARCH, of, most)], "user")[0]


def test_brackets_that_are_near_tell_nobody() -> None:
    """Nor do candidates of which nothing is known."""
    near = replace(SATA, candidate="ssd")
    said = say(SATA, near)
    assert "which of sata and ssd serves more is not known, as their brackets are too near" in said
    nothing = Capacity("hdd", None, None, 1, "the driver was the limit")
    assert "is not known, as not every bracket is known" in say(SATA, nothing)
    assert "whether hdd serves 1 user within 1 s is not known: the driver was" in say(nothing)


def test_a_search_that_the_driver_ended_tells_a_lower_bound() -> None:
    """At least so many, and why no more."""
    limited = Capacity("sata", End(64, 0.3, 2), None, 68, "the driver was the limit")
    assert say(limited).startswith(
        "sata serves at least 64 users within 1 s; at 68 the driver was the limit; "
    )


def test_fewer_windows_and_a_search_that_is_not_done_are_told() -> None:
    """Nothing is claimed beyond them."""
    assert "hdd serves 2 users within 1 s so far: its search was cut off" in say(CUT_OFF)
    assert say(CUT_OFF).endswith("a search with one window at an end.")
    once = replace(SATA, high=End(36, 1.08, 1))
    assert say(once, NVME).endswith("(a search with one window at some ends).")
    often = replace(SATA, high=End(36, 1.08, 20), low=End(34, 0.9, 3))
    assert say(often).endswith("a search with 3 or more windows at each end.")


def test_what_misses_the_limit_by_little_does_not_read_as_the_limit() -> None:
    """1.0004 s are not within 1 s, and 1.00 s would be."""
    near = replace(SATA, high=End(36, 1.0004, 2))
    assert "(at 36, p95 of new-order is 1.0004 s)" in say(near)


def test_a_value_of_too_few_answers_is_no_number() -> None:
    """Where nothing obeyed, too."""
    few = replace(SATA, high=End(36, 1.08, 2, is_of_few=True))
    assert "within 1 s (at 36, p95 of new-order is longer);" in say(few)
    slow = Capacity("hdd", None, End(1, 1.4, 2, is_of_few=True))
    assert "hdd does not serve even 1 user within 1 s (p95 of new-order is longer)" in say(slow)
