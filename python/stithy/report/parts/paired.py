"""The windows of a candidate alone and beside the neighbour, which figures draw side by side."""

from collections.abc import Iterator

from stithy.analysis.evidence import Evidence, Window
from stithy.plan.scenarios.noisy_neighbour import ALONE, NEIGHBOUR
from stithy.point import Point


def paired(evidence: Evidence, candidate: str, point: Point) -> Iterator[tuple[Window, Window]]:
    """Of each block that has a valid window of both: that alone, then that with the neighbour."""
    alone = {
        (window.block, window.attempt): window
        for window in evidence.valid_at(candidate, point.replaced(NEIGHBOUR, ALONE))
    }
    for window in evidence.valid_at(candidate, point):
        if (first := alone.get((window.block, window.attempt))) is not None:
            yield first, window
