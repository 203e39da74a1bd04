"""What charts in the common form share: ticks, labels, a legend that fits."""

import pytest

from stithy.report.drawing.chart import (
    PERCENT,
    SIGNED_PERCENT,
    domain_of,
    even_ticks,
    has_levels,
    labels,
)


@pytest.mark.parametrize("most", [0.013, 0.9, 1.0, 7.1, 118, 1234, 59_631, 149_000, 2.4e6])
def test_ticks_reach_from_zero_to_the_end_in_equal_steps(most: float) -> None:
    """A chart never ends between two of them."""
    domain = domain_of([{"value": most}], log=False)
    ticks = even_ticks(domain)
    assert ticks is not None
    assert [ticks[0], ticks[-1]] == pytest.approx([0.0, domain[1]])
    steps = [after - before for before, after in zip(ticks, ticks[1:], strict=False)]
    assert steps == pytest.approx([steps[0]] * len(steps))
    assert 4 <= len(steps) <= 6


@pytest.mark.parametrize("domain", [(1.0, 10.0), (0.0, 7.3), (0.0, 0.0)])
def test_of_an_axis_that_was_not_rounded_ticks_are_left_to_vega(
    domain: tuple[float, float],
) -> None:
    """They would not be round numbers."""
    assert even_ticks(domain) is None


def test_shares_are_labelled_as_they_are_written_in_a_text() -> None:
    """With a no-break space before the sign; and no share has no sign."""
    assert labels(",~f") == {"format": ",~f"}
    assert "\\u00a0%" in labels(PERCENT)["labelExpr"]
    assert "datum.value ? '+,~f' : ',~f'" in labels(SIGNED_PERCENT)["labelExpr"]


def test_levels_have_marks_of_their_own_only_beside_several_windows() -> None:
    """A single window is its level."""
    one = [{"users": 1, "candidate": "disk"}, {"users": 4, "candidate": "disk"}]
    assert not has_levels(one)
    assert has_levels([*one, one[0]])
