"""Rules on the numbers of a sentence: a pattern in which each # stands for one, and its value.

A value may be several, of which any may be meant.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from recompute.files import Files, Row

Match = re.Match[str]
Expected = Callable[[Files, Row, Match], Sequence[Any]]
"""Of the files, the row in which a text stands, and the match: what each # must be."""

Rules = list[tuple[str, Expected]]


def windows(sql: str) -> Callable[[Files, Row], list[Any]]:
    """A value of each window that the row speaks of; of all where it names none."""

    def values(files: Files, row: Row) -> list[Any]:
        names = (row.get("window_ids") or row.get("window_id") or "").split(", ")
        found = files.rows(sql)
        mine = [each for each in found if each["window_id"] in names] or found
        return [each["v"] for each in mine]

    return values


def of_windows(*queries: str) -> Expected:
    """One number after the other, each of any of the windows."""
    asks = [windows(each) for each in queries]
    return lambda files, row, match: [ask(files, row) for ask in asks]


def of(source: str, *columns: str) -> Expected:
    """The same of columns of one table."""
    return of_windows(*(f"SELECT window_id, {each} AS v FROM {source}" for each in columns))


def once(sql: str) -> Expected:
    """The columns of a query of one row."""
    return lambda files, row, match: list(files.rows(sql)[0].values())


def fixed(*values: float) -> Expected:
    """What the method says, whatever was measured."""
    return lambda files, row, match: values


def fact(*ways: str) -> Expected:
    """What stands in the manifest, by the ways to it."""

    def at(files: Files, way: str) -> Any:
        value: Any = files.manifest
        for key in way.split("."):
            value = value[key]
        return value

    return lambda files, row, match: [at(files, each) for each in ways]
