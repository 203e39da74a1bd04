"""Thresholds as people read them."""

from stithy.analysis.answers.thresholds import Judgement
from stithy.report.parts.thresholds import lines, shown, table
from support.sample_thresholds import thresholds

NOPM, P95 = thresholds("disk.nopm_at_4 >= 5000", "disk.p95_at_4 <= 5 ms")


def test_each_threshold_is_told_with_both_values() -> None:
    """After how many were met; a mark, the outcome in words, and why where it is not known."""
    told = lines(
        [
            Judgement(NOPM, 5200.0, 5000.0),
            Judgement(P95, 0.0072, 0.005),
            Judgement(P95, None, 0.005, "no window of disk at level 4 is valid"),
        ]
    )
    assert told == (
        "Thresholds: 1 of 3 met",
        "  ✓ disk.nopm_at_4 >= 5000: met: 5,200/min and 5,000/min",
        "  ✗ disk.p95_at_4 <= 5 ms: not met: 7.20 ms and 5 ms",
        "  ? disk.p95_at_4 <= 5 ms: cannot be judged: no window of disk at level 4 is valid",
    )


def test_a_study_without_thresholds_has_no_lines_and_an_empty_table() -> None:
    """Nothing is said of what nobody asked."""
    assert lines([]) == ()
    assert table([]).frame.is_empty()


def test_values_that_differ_look_different() -> None:
    """`5 ms and 5 ms, not met` would make nobody wiser."""
    assert shown(Judgement(P95, 0.00500001, 0.005)) == ("0.00500001 s", "0.005 s")
    assert shown(Judgement(NOPM, 4999.9, 5000.0)) == ("4999.9/min", "5000/min")
    assert shown(Judgement(NOPM, 5000.0, 5000.0)) == ("5,000/min", "5,000/min")


def test_the_table_says_why_only_where_something_is_missing() -> None:
    """The files keep all digits either way."""
    whole = table([Judgement(NOPM, 5200.5, 5000.0)])
    assert "because" not in [show.column for show in whole.columns]
    assert whole.frame["left"].to_list() == [5200.5]
    part = table([Judgement(NOPM, None, 5000.0, "no window is valid")])
    assert part.cells()[0][-1].text == "no window is valid"
