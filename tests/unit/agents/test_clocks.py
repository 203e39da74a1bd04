"""Clocks of other hosts, by four time stamps."""

import pytest

from stithy.agents.link import (
    ClockOffset,
    ClockSample,
    bound_error_s,
    estimate_offset,
    measure_move_s,
    refuse_far_clocks,
)
from stithy.errors import PreconditionError


def test_the_quickest_answer_says_most() -> None:
    """A slow way there shifts the others; half of its time bounds the error."""
    slow = [ClockSample(10.0, 10.050 + 0.001, 10.052), ClockSample(11.0, 11.030, 11.031)]
    found = estimate_offset([*slow, ClockSample(12.0, 12.0015, 12.001)])
    assert found.offset_s == pytest.approx(0.001)
    assert found.uncertainty_s == pytest.approx(0.0005)


def test_what_the_measurement_may_be_wrong_by_is_no_move() -> None:
    """A clock has moved only by what is beyond both uncertainties; one measurement shows none."""
    first = ClockOffset(0.001, 0.0002)
    assert measure_move_s([first]) is None
    assert measure_move_s([first, ClockOffset(0.0015, 0.0004)]) == 0.0
    moved = measure_move_s([first, ClockOffset(0.0015, 0.0004), ClockOffset(-0.004, 0.0003)])
    assert moved == pytest.approx(0.0045)


def test_a_clock_that_may_be_in_step_is_not_corrected() -> None:
    """What was measured is then within the error of the measurement, as on one machine."""
    assert ClockOffset(-0.0004, 0.0004).correction_s == 0.0
    assert ClockOffset(-0.0005, 0.0004).correction_s == -0.0005
    later = ClockOffset(0.0002, 0.0003)
    assert bound_error_s([ClockOffset(-0.0001, 0.0002), later]) == pytest.approx(0.0005)
    assert bound_error_s([ClockOffset(-0.001, 0.0002), later]) == pytest.approx(0.0015)


@pytest.mark.parametrize(
    ("offset", "because"),
    [
        (ClockOffset(-0.003, 0.0005), r"are off: that of b by -3\.0 ms"),
        (ClockOffset(0.0015, 0.001), "may be off: that of b"),
        (ClockOffset(0.0043, 0.005), "may be off: that of b"),
    ],
)
def test_clocks_out_of_step_are_refused(offset: ClockOffset, because: str) -> None:
    """More than 2 ms either way, by name, and what nobody can be certain of; less is corrected."""
    near = ClockOffset(0.0014, 0.0005)
    refuse_far_clocks({"a": near})
    with pytest.raises(PreconditionError, match=because):
        refuse_far_clocks({"a": near, "b": offset})
