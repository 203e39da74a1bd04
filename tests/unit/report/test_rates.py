"""Latency against rate: what the title says of rates that were kept, and of those that were not."""

from collections.abc import Mapping

import pytest

from stithy.point import Point
from stithy.scenarios.block_io.report.rates import _describe_finding, _RatePlace

CLOSED = "closed loop"


def _places(candidate: str, states: Mapping[str, str]) -> list[_RatePlace]:
    """A place for each rate, with a state; each achieves 100/s more than the one before."""
    return [
        _RatePlace(candidate, Point((("rate", rate),)), None, 1000.0 + 100 * number,
               {"p50": 0.001, "p99": 0.002}, state)
        for number, (rate, state) in enumerate(states.items())
    ]  # fmt: skip


KEPT = {"10%": "", "50%": "requests late", "90%": "saturated", "max": CLOSED}
NEVER = {"10%": "saturated", "50%": "saturated", "max": CLOSED}


@pytest.mark.parametrize(("places", "said"), [
    (_places("a", KEPT), "highest rate without saturation 1,100/s on a (p99 2.00 ms)"),
    (_places("a", KEPT) + _places("b", NEVER),
     "highest rate without saturation 1,100/s on a (p99 2.00 ms), none on b"),
    (_places("a", NEVER),
     "every rate was saturated; as fast as it goes 1,200/s on a (p99 2.00 ms)"),
    (_places("a", {"10%": "saturated"}), "every rate was saturated"),
])  # fmt: skip
def test_a_rate_that_was_not_kept_is_never_the_highest_without_saturation(
    places: list[_RatePlace], said: str
) -> None:
    """Nor is the closed loop, which had no rate."""
    assert _describe_finding(places) == said
