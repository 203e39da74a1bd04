"""What drives hold for the same files, of each candidate."""

import polars as pl

from stithy.report.sections.storage import describe_reduction, sum_held_bytes
from stithy.results.tables import SPACE, make_schema

UNKNOWN = dict.fromkeys(column.name for column in SPACE.columns)
ROW = UNKNOWN | {"log_stored_bytes": 0, "redundancy": 2.0}


def _frame(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame([{**ROW, "role": "data", **row} for row in rows], schema=make_schema(SPACE))


def test_all_volumes_of_a_candidate_count_once_loaded_and_their_logs_do_not() -> None:
    """At the end they hold other files; what lacks a part is left out."""
    found = sum_held_bytes(
        _frame(
            {"candidate": "a", "moment": "loaded", "physical_bytes": 42, "log_stored_bytes": 6},
            {"candidate": "a", "moment": "loaded", "role": "temp", "physical_bytes": 12},
            {"candidate": "a", "moment": "loaded", "role": "log", "physical_bytes": 500},
            {"candidate": "b", "moment": "loaded", "physical_bytes": 7},
            {"candidate": "b", "moment": "loaded", "role": "temp"},
            {"candidate": "c", "moment": "loaded", "physical_bytes": 7, "log_stored_bytes": None},
            {"candidate": "a", "moment": "end", "physical_bytes": 99},
        )
    )
    assert found == {"a": 42}


def test_datasets_are_not_added_up() -> None:
    """The first counts; without a database there is only the end."""
    row = {"candidate": "a", "moment": "loaded"}
    both = _frame(
        {**row, "dataset": "w1", "physical_bytes": 1}, {**row, "dataset": "w2", "physical_bytes": 2}
    )
    assert sum_held_bytes(both) == {"a": 1}
    assert sum_held_bytes(_frame({"candidate": "a", "moment": "end", "physical_bytes": 5})) == {
        "a": 5
    }


def test_what_a_database_compresses_is_said() -> None:
    """Of each candidate once; nothing where none does."""
    row: dict[str, object] = {"candidate": "a", "moment": "loaded"}
    assert describe_reduction(_frame(row)) is None
    rows = ({**row, "native_reduction": 1.996}, {**row, "moment": "end", "native_reduction": 1.5})
    assert str(describe_reduction(_frame(*rows))).endswith("for a byte of their files: a 2.00.")
