"""What charts in the common form share: ticks, labels, a legend that fits."""

import pytest

from stithy.report.drawing.chart import (
    domain_of,
    even_ticks,
    has_levels,
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


def test_levels_have_marks_of_their_own_only_beside_several_windows() -> None:
    """A single window is its level."""
    one = [{"users": 1, "candidate": "disk"}, {"users": 4, "candidate": "disk"}]
    assert not has_levels(one)
    assert has_levels([*one, one[0]])
