"""Rows are held to the tables' declarations."""

from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

from stithy.results.frames import empty_frame, frame_of
from stithy.results.tables import TABLES, Column, Table

TABLE = Table(
    "things",
    "One row a thing.",
    (
        Column("name", "text", "", "its name"),
        Column("size_bytes", "integer", "B", "its size"),
        Column("time_s", "real", "s", "its time", nullable=True),
        Column("good", "truth", "", "whether"),
        Column("notes", "texts", "", "notes"),
    ),
)


def row(**changes: Any) -> dict[str, Any]:
    """A row that is as declared, but for `changes`."""
    plain = {"name": "a", "size_bytes": 1, "time_s": 0.5, "good": True, "notes": ["x"]}
    return {**plain, **changes}


def test_a_frame_has_exactly_the_declared_columns_and_types() -> None:
    """Also without rows, and whatever the order of a row's keys."""
    frame = frame_of(TABLE, [dict(reversed(row().items())), row(time_s=None, notes=())])
    assert frame.schema == empty_frame(TABLE).schema
    assert frame.columns == ["name", "size_bytes", "time_s", "good", "notes"]
    assert frame["size_bytes"].dtype == pl.Int64
    assert frame["time_s"].to_list() == [0.5, None]


def test_whole_numbers_are_accepted_as_real_ones() -> None:
    """5 is a duration."""
    assert frame_of(TABLE, [row(time_s=5)])["time_s"].to_list() == [5.0]


def test_dataclasses_are_rows() -> None:
    """Their fields are the columns."""

    @dataclass(frozen=True)
    class Thing:
        name: str = "a"
        size_bytes: int = 1
        time_s: float | None = None
        good: bool = True
        notes: tuple[str, ...] = ()

    assert frame_of(TABLE, [Thing()]).height == 1


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": None}, "row 0, column name: null"),
        ({"name": 1}, "kind 'text'"),
        ({"size_bytes": 1.0}, "kind 'integer'"),
        ({"size_bytes": True}, "kind 'integer'"),
        ({"time_s": float("nan")}, "kind 'real'"),
        ({"time_s": float("inf")}, "kind 'real'"),
        ({"good": 1}, "kind 'truth'"),
        ({"notes": "x"}, "kind 'texts'"),
        ({"more": 1}, r"unknown \['more'\]"),
    ],
)
def test_a_row_that_is_not_as_declared_is_refused(changes: dict[str, Any], problem: str) -> None:
    """The message names table, row and column."""
    with pytest.raises(ValueError, match=problem):
        frame_of(TABLE, [row(**changes)])


def test_a_missing_column_is_refused() -> None:
    """It would be a null that nobody explains."""
    short = row()
    del short["time_s"]
    with pytest.raises(ValueError, match=r"missing \['time_s'\]"):
        frame_of(TABLE, [short])


def test_every_declared_table_has_a_schema_and_meanings() -> None:
    """Names are unique, each column says what it means."""
    assert len({table.name for table in TABLES}) == len(TABLES)
    for table in TABLES:
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names)
        assert all(column.meaning for column in table.columns)
        assert empty_frame(table).columns == names
