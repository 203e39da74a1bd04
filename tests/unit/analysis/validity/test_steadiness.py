"""What is said of a window that was not steady."""

from stithy.analysis.steady.steadiness import Change, Steadiness
from stithy.analysis.validity.judge import not_steady


def test_the_sentence_has_the_shares_the_late_start_and_the_changes() -> None:
    """With what is allowed, and signs on what changed."""
    found = Steadiness(False, 0.5, 0.31, 15, 0.125, (Change(12, 150.0, 300.0),))
    reason = not_steady(found)
    assert reason is not None
    assert reason.sentence == (
        "The window did not reach steady state: the fifths of its measurement differ by 50 % of "
        "their mean (steady: 20 %) with a slope of 31 % (steady: 10 %); it settled 15 s into "
        "the measurement, without which its throughput is 12 % higher; its level changed at 12 s "
        "(+100 %)."
    )


def test_a_change_from_standstill_has_no_share() -> None:
    """Nothing can be divided by it."""
    found = Steadiness(False, 0.5, 0.3, 0, 0.0, (Change(12, 0.0, 300.0), Change(40, 300.0, 0.0)))
    reason = not_steady(found)
    assert reason is not None
    assert reason.sentence.endswith(
        "; its level changed at 12 s (from standstill) and 40 s (-100 %)."
    )
