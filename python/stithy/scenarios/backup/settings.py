"""Which settings of backups are measured: those that the method can have, each load once without.

A study that varies settings lists combinations of them. A method may refuse some: `pg_basebackup`
has several processes only with zstd. And without backups all settings do the same, unless the
method asks something of the server all the time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from pydantic import ValidationError

from stithy.engines.backup import Method, Options, method_of, repository_of
from stithy.errors import UserError
from stithy.point import Point

MethodAt = Callable[[Point], tuple[str, Options]]
"""The name of the method at a point, with its options. Raises ValidationError for a wrong value."""


def impossible(at: MethodAt, engine: str, settings: Sequence[Point]) -> Mapping[Point, str]:
    """The settings that their method cannot have, with its reason.

    None if a value would be left that no possible one has: that is a wrong value, and no wrong
    combination.
    """
    found = {
        each: problem
        for each in settings
        if (known := _known(at, engine, each)) and (problem := known[0].problem(known[1]))
    }
    possible = {pair for each in settings if each not in found for pair in each.factors}
    every = {pair for each in settings for pair in each.factors}
    return found if possible == every else {}


def alike(
    at: MethodAt, load_of: Callable[[Point], Point], engine: str, off: Sequence[Point]
) -> Iterator[Point]:
    """Of the points without backups, those that differ from an earlier one in settings alone.

    Those of a method that keeps a repository are not among them: its server archives by them.
    Another method has points of its own.
    """
    seen = set()
    for point in off:
        known = _known(at, engine, point)
        if known is None or repository_of(known[0]):
            continue
        if (key := (known[0], load_of(point))) in seen:
            yield point
        seen.add(key)


def _known(at: MethodAt, engine: str, point: Point) -> tuple[Method, Options] | None:
    """The method of a point with its options; None if a value is wrong, which is said elsewhere."""
    try:
        name, options = at(point)
        return method_of(engine, name), options
    except (ValidationError, UserError):
        return None
