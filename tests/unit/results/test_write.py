"""Tables reach the disk with their declarations."""

import json
from pathlib import Path

import polars as pl
import pytest

from stithy.results.tables import RESTORES
from stithy.results.write import write_json, write_table


def restore() -> dict[str, object]:
    """A row of RESTORES."""
    return {
        "window_id": "w", "candidate": "disk", "copy_s": 1.5, "verify_s": 1, "sync_s": 0.5,
        "files": 3, "size_bytes": 4096, "identical": True, "resident_bytes": None,
        "resident_note": "tmpfs cannot evict",
    }  # fmt: skip


def test_a_table_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """Values, types and order of columns."""
    path = tmp_path / "restores.parquet"
    write_table(path, RESTORES, [restore()])
    frame = pl.read_parquet(path)
    assert frame.columns == [column.name for column in RESTORES.columns]
    assert frame.row(0, named=True) == restore()


def test_a_parquet_file_tells_units_and_meanings(tmp_path: Path) -> None:
    """A reader needs nothing but the file."""
    path = tmp_path / "restores.parquet"
    write_table(path, RESTORES, [])
    metadata = pl.read_parquet_metadata(path)
    assert metadata["stithy.table"] == "restores"
    assert json.loads(metadata["stithy.columns"])["copy_s"]["unit"] == "s"


def test_a_bad_row_leaves_no_file(tmp_path: Path) -> None:
    """A table is whole or not there."""
    path = tmp_path / "restores.parquet"
    with pytest.raises(ValueError, match="restores, row 0, column copy_s"):
        write_table(path, RESTORES, [{**restore(), "copy_s": "fast"}])
    assert list(tmp_path.iterdir()) == []


def test_json_holds_no_nan(tmp_path: Path) -> None:
    """NaN is not JSON; what is missing is null."""
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    write_json(tmp_path / "a.json", {"x": "ä"})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": "ä"}
