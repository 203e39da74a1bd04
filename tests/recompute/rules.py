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
