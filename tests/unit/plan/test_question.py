"""The primary question is the declared one, or one that is derived and says so."""

from stithy.analysis.verdict import boundaries
from stithy.analysis.verdict.decide import MARGIN_SHARE
from stithy.plan.question import Question, question
from stithy.study import primary
from support.studies import study


def of(*changes: tuple[str, str]) -> Question:
    """The question of the small study after some changes."""
    read = study(*changes)
    found = question(read, tuple(read.candidates))
    assert found is not None
    return found


def declared(text: str) -> tuple[str, str]:
    """A change that adds a `primary` section."""
    return ("study:", f"primary: {text}\nstudy:")


def test_without_a_word_it_is_throughput_at_the_highest_level() -> None:
    """Of the two candidates, the second against the first, within four to twenty blocks."""
    derived = ("users", "metric", "margin_percent")
    assert of() == Question(4, "nopm", 0.02, ("disk", "memory"), 4, 20, derived)


def test_what_is_declared_is_asked() -> None:
    """And no longer told as derived."""
    text = "{users: 1, metric: p95, margin: 5%, candidates: [memory, disk], blocks: 9}"
    assert of(declared(text)) == Question(1, "p95", 0.05, ("memory", "disk"), 4, 9, derived=())


def test_users_who_say_themselves_how_much_is_done_are_asked_about_response_times() -> None:
    """Those who pause, and a rate."""
    for load in ("pace: {think: 2 s}", "rate: 10/s"):
        assert of(("ramp_up", f"{load}\n  ramp_up")).metric == "p95"


def test_of_more_than_two_candidates_the_pair_is_open_unless_it_is_named() -> None:
    """Then it is the slowest and the fastest."""
    third = ("  memory: {", "  other: {path: /srv/other}\n  memory: {")
    assert of(third).candidates is None
    assert of(third, declared("{candidates: [disk, other]}")).candidates == ("disk", "other")


def test_a_fixed_number_of_blocks_spares_none() -> None:
    """`repeat` is least and most."""
    found = of(("ramp_up", "repeat: 7\n  ramp_up"))
    assert (found.blocks_least, found.blocks_most) == (7, 7)
    assert not found.may_spare(4, 6)


def test_blocks_after_the_least_at_its_level_may_be_spared() -> None:
    """Those of other levels never."""
    assert [of().may_spare(4, block) for block in (0, 3, 4, 19)] == [False, False, True, True]
    assert not of().may_spare(1, 5)


def test_a_single_candidate_asks_nothing() -> None:
    """There is nobody to compare it with."""
    assert question(study(), ("disk",)) is None


def test_the_numbers_are_those_that_verdicts_go_by() -> None:
    """A study and analysis must not drift apart: neither may know the other."""
    assert primary.BLOCKS_LEAST == boundaries.BLOCKS_LEAST
    assert primary.BLOCKS_MOST == boundaries.BLOCKS_MOST
    assert primary.MARGIN_PERCENT / 100 == MARGIN_SHARE
