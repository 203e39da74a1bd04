"""At which blocks a verdict is looked for, and how far the mean must be from 0 there."""

import pytest

from stithy.analysis.verdict.boundaries import BLOCKS_LEAST, LOOKS, critical, looks_until


def test_at_each_look_the_boundary_has_its_own_value() -> None:
    """Fewer blocks, a stricter one."""
    values = [critical(look) for look in LOOKS]
    assert values == [5.54, 3.80, 3.35, 3.11, 3.00, 2.84, 2.77]


@pytest.mark.parametrize(("between", "before"), [(5, 4), (7, 6), (15, 12), (19, 16), (40, 20)])
def test_between_two_looks_the_stricter_value_holds(between: int, before: int) -> None:
    """A study that lost a block is judged no more easily than one with fewer."""
    assert critical(between) == critical(before)


def test_below_the_first_look_there_is_no_boundary() -> None:
    """Three blocks decide nothing."""
    with pytest.raises(ValueError, match="at least 4"):
        critical(BLOCKS_LEAST - 1)


def test_looks_are_counted_up_to_the_blocks_so_far() -> None:
    """None before the first, all after the last."""
    assert [looks_until(blocks) for blocks in (3, 4, 5, 6, 20, 99)] == [0, 1, 1, 2, 7, 7]
