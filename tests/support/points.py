"""Points of a study that varies its users alone."""

from stithy.point import Point


def at(users: int) -> Point:
    """A level."""
    return Point.of(users=users)
