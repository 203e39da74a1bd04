"""Thresholds of the synthetic runs, written as a study has them."""

from stithy.point import Point
from stithy.study.thresholds import Names, parse_threshold
from stithy.thresholds import Threshold

NAMES = Names(
    candidates=("disk", "memory"),
    points=tuple(Point.of(users=users) for users in (1, 4, 13)),
    transactions=("new-order", "payment", "order-status", "delivery", "stock-level"),
)


def thresholds(*texts: str) -> tuple[Threshold, ...]:
    """The thresholds that these texts write."""
    return tuple(parse_threshold(text, NAMES) for text in texts)
