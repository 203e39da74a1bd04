"""Whether each number of an I/O profile has a source or is marked as assumed, and only one of both.

A number is known by its place: `jobs` of the stream `data` of the pattern `sql` is `sql.data.jobs`;
keys of sources and assumptions may have `*` for any of it.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any


def problems(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every key at fault in a profile's table as it was read, with what is wrong and the remedy."""
    sourced = [str(key) for each in table.get("source", ()) for key in each.get("keys", ())]
    keys = [*sourced, *map(str, table.get("assumed", {}))]
    places = tuple(numbers(table))
    for place in places:
        found = [key for key in keys if fnmatchcase(place, key)]
        if not found:
            yield place, "has neither a source nor an assumption: give it one of both"
        if len(found) > 1:
            yield place, f"is covered by {' and '.join(found)}: leave one of them"
    for key in keys:
        if not any(fnmatchcase(place, key) for place in places):
            yield key, "covers no number: correct it, or leave it out"


def numbers(table: Mapping[str, Any]) -> Iterator[str]:
    """The places of all numbers in a profile's table."""
    for pattern in table.get("pattern", ()):
        for stream in pattern.get("stream", ()):
            yield from _places(stream, f"{pattern.get('name')}.{stream.get('name')}.")
        yield from _places(pattern, f"{pattern.get('name')}.", without=("stream",))
    yield from _places(table, "", without=("pattern", "source", "assumed"))


def _places(table: Mapping[str, Any], before: str, without: tuple[str, ...] = ()) -> Iterator[str]:
    for key, value in table.items():
        if key not in without and _has_number(value):
            yield f"{before}{key}"


def _has_number(value: Any) -> bool:
    match value:
        case bool() | str():
            return False
        case int() | float():
            return True
        case dict():
            return any(map(_has_number, value.values()))
        case list():
            return any(map(_has_number, value))
    return False
