"""A file tells by itself whether it is what was written."""

import json
from pathlib import Path

import polars as pl
import pytest

from stithy.results import seal
from stithy.results.manifest import SCHEMA_VERSION
from stithy.results.pieces import VERSION_KEY
from stithy.results.tables import RESTORES
from stithy.results.write import manifest_bytes, write_table
from support.sample_run import Shape, manifest

ROW = {
    "window_id": "w", "candidate": "disk", "copy_s": 1.5, "verify_s": 1.0, "sync_s": 1.0,
    "files": 3, "size_bytes": 8, "identical": True, "resident_bytes": None,
    "resident_note": "a note",
}  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table as it is written."""
    path = tmp_path / "restores.parquet"
    write_table(path, RESTORES, [ROW])
    return path


def test_a_table_tells_its_version_and_digest_to_any_reader(table: Path) -> None:
    """As metadata of the file; the digest is that of the file with zeros in its place."""
    import hashlib

    told = pl.read_parquet_metadata(table)
    assert told[VERSION_KEY] == str(SCHEMA_VERSION)
    blank = table.read_bytes().replace(told["stithy.sha256"].encode(), b"0" * 64)
    assert hashlib.sha256(blank).hexdigest() == told["stithy.sha256"]
    assert pl.read_parquet(table).to_dicts() == [ROW]


def test_every_byte_of_a_table_counts(table: Path) -> None:
    """Each one changed by itself is found, or leaves a file that has no digest."""
    content = table.read_bytes()
    assert seal.is_whole(content) is True
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x10
        assert seal.is_whole(bytes(changed)) is not True, place


def test_a_manifest_is_sealed_as_a_key_of_its_own() -> None:
    """No text within it, such as a question, can look like the digest's place."""
    question = '\n  "sha256": "' + "a" * 64
    content = manifest_bytes(manifest(Shape(question=question)))
    assert json.loads(content)["question"] == question
    assert seal.is_whole(content) is True
    assert seal.is_whole(content.replace(b'"disk"', b'"dusk"')) is False


def test_what_has_no_place_for_a_digest_has_none() -> None:
    """An older file is neither whole nor changed."""
    assert seal.is_whole(b"PAR1") is None
    with pytest.raises(ValueError, match="no place"):
        seal.sealed(b"PAR1")
