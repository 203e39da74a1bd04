"""What an activity says of itself, whoever reads its results: its tables, metrics and factors.

It is declared in the stage `declared` of its folder, apart from what happens
(`stithy.run.activity`), so that readers of results and `stithy plan` load none of that.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from stithy.registry import Family, Plugin, plugins
from stithy.results.tables import TABLES, Table

if TYPE_CHECKING:
    from stithy.factor import Factor
    from stithy.metrics import Metric

COMMON = frozenset({"window", "values", "series", "surroundings", "drives", "baseline"})
"""The tables of every window, and those that are there where their source is."""


@dataclass(frozen=True)
class DeclaredActivity(Plugin):
    """What an activity measures.

    `tables`: names of those without which its windows cannot be judged. `details`: tables that it
    alone fills. `metrics`: with the source `values`, their names beginning with that of the
    activity. `factors`: those that its scenarios have because of it. `expects`: classes of errors
    (`lost`, `full`, as the hammer reports them) that it causes on purpose. Those of other
    activities in its windows are counted, but are no fault, and a full disk does not end the run.
    The hammer opens lost connections again; of other errors it gives up after some, expected or
    not.
    """

    family: ClassVar = Family(stage="declared")

    name: str
    metrics: "tuple[Metric, ...]" = ()
    tables: tuple[str, ...] = ()
    details: tuple[Table, ...] = ()
    factors: "tuple[Factor, ...]" = ()
    expects: frozenset[str] = frozenset()


def expected_errors(activities: Iterable[str]) -> frozenset[str]:
    """Collect the classes of errors that one of these activities causes on purpose."""
    declared = plugins(DeclaredActivity)
    return frozenset().union(*(declared[name].expects for name in activities if name in declared))


def names_in(activities: str) -> list[str]:
    """Split the names of a window's activities, as the table `window` has them."""
    return activities.split(", ")


def tables_of(activities: str) -> frozenset[str]:
    """Name the tables that windows of these activities have; as in the table `window`."""
    declared = plugins(DeclaredActivity)
    named = [name for name in names_in(activities) if name in declared]
    return COMMON.union(*(declared[name].tables for name in named))


def every_table() -> tuple[Table, ...]:
    """List all tables of results: the common ones, and the detail tables of each activity."""
    declared = plugins(DeclaredActivity).values()
    return (*TABLES, *(table for activity in declared for table in activity.details))


def table_named(name: str) -> Table:
    """Look a table up. Raises StopIteration for one that nobody declares."""
    return next(table for table in every_table() if table.name == name)
