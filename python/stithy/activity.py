"""What an activity says of itself, whoever reads its results: its tables and its metrics.

A declaration is one module in `activities/` with `NAME`, `TABLES` (names of the tables without
which its windows cannot be judged) and `METRICS` (`stithy.metrics.Metric`, with the source
`values`). `DETAILS`, optional, are the tables (`stithy.results.tables.Table`) that it alone fills:
nobody else declares them. `FACTORS`, optional, are the factors (`stithy.factor.Factor`) that its
scenarios have because of it. `EXPECTS`, optional, names classes of errors (`lost`, `full`, as the
hammer reports them) that it causes on purpose: those of other activities in its windows are
counted, but are no fault, and a full disk does not end the run. The hammer opens lost connections
again; of others it gives up after some, whoever expects them.
What it does is a module of the same name in `stithy.run.activities`.
"""

from collections.abc import Iterable

from stithy.registry import plugins
from stithy.results.tables import TABLES, Table

COMMON = frozenset({"window", "values", "series", "surroundings", "drives", "baseline"})
"""The tables of every window, and those that are there where their source is."""


def expected_errors(activities: Iterable[str]) -> frozenset[str]:
    """The classes of errors that an activity among these causes on purpose."""
    known = plugins("activity")
    found = (getattr(known[name], "EXPECTS", ()) for name in activities if name in known)
    return frozenset().union(*found)


def names_in(activities: str) -> list[str]:
    """The activities of a window, by their text in the table `window`."""
    return activities.split(", ")


def tables_of(activities: str) -> frozenset[str]:
    """The tables that windows of these activities have; `activities` as in the table `window`."""
    known = plugins("activity")
    names = [each for each in names_in(activities) if each in known]
    return COMMON.union(*(known[name].TABLES for name in names))


def every_table() -> tuple[Table, ...]:
    """All tables of results: the common ones, and the detail tables of each activity."""
    details = (getattr(each, "DETAILS", ()) for each in plugins("activity").values())
    return (*TABLES, *(table for tables in details for table in tables))


def table_named(name: str) -> Table:
    """The table of a name. Raises StopIteration for one that nobody declares."""
    return next(each for each in every_table() if each.name == name)
