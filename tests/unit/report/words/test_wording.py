"""Numbers and lists as people read them."""

from stithy.report.words.wording import (
    at_most,
    chance,
    factor,
    finely,
    in_table,
    times,
    times_at_most,
)


def test_small_chances_are_never_nothing() -> None:
    """What is rare is said to be below what is printed."""
    assert [chance(share) for share in (0.125, 0.004, 0.0001, 0.0, 1.0)] == [
        "12.5 %", "0.4 %", "< 0.1 %", "0.0 %", "100.0 %",
    ]  # fmt: skip


def test_a_factor_near_one_has_a_third_digit() -> None:
    """Bounds of 0.986 and 1.012 would both read as 1."""
    assert (finely(0.9861), finely(1.012)) == ("0.986", "1.012")


def test_a_factor_beside_one_never_reads_as_one() -> None:
    """Nor does one that is 1 read as another."""
    assert [finely(each) for each in (1.0003, 0.99996, 1.0, 1.0000001)] == [
        "1.0003", "0.99996", "1.000", "1.000000",
    ]  # fmt: skip
    assert [factor(each) for each in (1.0003, 1.0996, 1.1, 3.14)] == [
        "1.0003", "1.100", "1.10", "3.1",
    ]  # fmt: skip


def test_no_factor_reads_as_nothing_or_is_longer_than_anybody_reads() -> None:
    """A thousandth keeps its digits; what is farther off is told to be beyond."""
    assert [times(each) for each in (0.0421, 0.001, 0.0004, 1e300)] == [
        "0.042", "0.001", "under 0.001", "over 1,000,000",
    ]  # fmt: skip
    assert [finely(each) for each in (0.0421, 0.0004, 1203.4, 1e300, 0.0)] == [
        "0.0421", "under 0.001", "1,203", "over 1,000,000", "0.000",
    ]  # fmt: skip
    assert [in_table(each) for each in (1.084, 12.404, 0.0421, 1203.4)] == [
        "1.08", "12.40", "0.042", "1,203",
    ]  # fmt: skip


def test_what_nothing_exceeds_is_not_rounded_down() -> None:
    """At most 1 % would be false of 1.4 %."""
    assert [at_most(each) for each in (0.014, 0.00412, 0.2, 0.0, 1.0)] == [
        "2 %", "0.5 %", "20 %", "0 %", "100 %",
    ]  # fmt: skip
    assert [times_at_most(each) for each in (1.25, 1.2501, 2.51, 10.2)] == [
        "1.25", "1.26", "2.6", "11",
    ]  # fmt: skip
