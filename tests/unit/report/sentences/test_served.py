"""How many users are served, as a sentence: what was measured, and on how many windows."""

from dataclasses import replace

from stithy.analysis.search.served import Capacity, End, Served
from stithy.report.parts.answer import sentences
from support.searched import SEARCH

SATA = Capacity("sata", End(34, 0.95, 2), End(36, 1.08, 2))
NVME = Capacity("nvme", End(120, 0.97, 2), End(126, 1.02, 2))
CUT_OFF = Capacity("hdd", End(2, 0.4, 1), None, cut_off=True)


def say(*of: Capacity, most: str | None = None) -> str:
    """The sentence of a search that found this."""
    return sentences([Served(SEARCH, of, most)], "user")[0]


def test_a_bracket_is_told_with_what_lies_above_it() -> None:
    """The users that were served, and the level at which it was too slow."""
    assert say(SATA) == (
        "sata serves 34 users within 1 s (at 36, p95 of new-order is 1.08 s); a search with two "
        "windows at each end."
    )


def test_who_serves_more_is_no_verdict() -> None:
    """By brackets that do not overlap."""
    said = say(SATA, NVME, most="nvme")
    how = "a search with two windows at each end, and no verdict"
    assert said.endswith(f"; nvme serves more ({how}).")
    assert say(SATA, NVME, CUT_OFF, most="nvme").count("nvme serves most") == 1


def test_brackets_that_are_near_tell_nobody() -> None:
    """Nor do candidates of which nothing is known."""
    near = replace(SATA, candidate="ssd")
    said = say(SATA, near)
    assert (
        "which of sata and ssd serves more cannot be told, as their brackets are too near" in said
    )
    nothing = Capacity("hdd", None, None, 1, "the driver was the limit")
    assert "cannot be told, as not every bracket is known" in say(SATA, nothing)
    assert "whether hdd serves 1 user within 1 s is not known: the driver was" in say(nothing)


def test_a_search_that_the_driver_ended_tells_a_lower_bound() -> None:
    """At least so many, and why no more."""
    limited = Capacity("sata", End(64, 0.3, 2), None, 68, "the driver was the limit")
    assert say(limited).startswith(
        "sata serves at least 64 users within 1 s; at 68 the driver was the limit; "
    )


def test_a_limit_that_is_met_at_the_upper_end_is_told_as_such() -> None:
    """Nobody knows what lies beyond."""
    whole = Capacity("sata", End(256, 0.3, 2), None)
    assert "sata serves at least 256 users within 1 s, where its search ends" in say(whole)


def test_a_limit_that_one_user_does_not_meet_is_told_as_such() -> None:
    """With what one user got."""
    slow = Capacity("hdd", None, End(1, 1.4, 2))
    assert say(slow).startswith("hdd does not serve even 1 user within 1 s (p95 of new-order")
    unsure = Capacity("hdd", None, End(3, 1.4, 2), split=(1,))
    assert say(unsure).startswith("no level of hdd is sure to be within 1 s (at 3, p95 of")


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


def test_candidates_that_serve_nobody_are_not_told_to_have_brackets() -> None:
    """There is none to be too near to another."""
    slow = [Capacity(name, None, End(1, 1.4, 2)) for name in ("hdd", "tape")]
    assert "; so that no level tells them apart (a search with" in say(*slow)
    assert "too near" not in say(*slow)


def test_a_value_of_too_few_answers_is_no_number() -> None:
    """Where nothing obeyed, too."""
    few = replace(SATA, high=End(36, 1.08, 2, is_of_few=True))
    assert "within 1 s (at 36, p95 of new-order is longer);" in say(few)
    slow = Capacity("hdd", None, End(1, 1.4, 2, is_of_few=True))
    assert "hdd does not serve even 1 user within 1 s (p95 of new-order is longer)" in say(slow)
