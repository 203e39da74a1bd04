"""Traces as the format says they are, whole, with gaps and cut short."""

import struct
from pathlib import Path

import polars as pl
import pytest

from stithy.drives.trace import OPERATIONS, read_trace, to_parquet
from stithy.errors import PreconditionError, UserError

HEAD = struct.pack("<8sIIIIQQ64s24x", b"STITHYDT", 1, 128, 32, 4096, 2_500_000_000, 2**34, b"data")


def record(kind: int, numbers: tuple[int, int, int], length: int = 0, flags: int = 0) -> bytes:
    """One record, with three requests under way."""
    return struct.pack("<QQQIHBB", *numbers, length, 3, kind, flags)


def written(folder: Path, *records: bytes) -> Path:
    """A trace of these records."""
    path = folder / "data.trace"
    path.write_bytes(HEAD + b"".join(records))
    return path


def test_requests_are_read_as_they_were_answered(tmp_path: Path) -> None:
    """Times become seconds, lengths bytes, flags truths; the end says that it is whole."""
    path = written(
        tmp_path,
        record(1, (1_000_000_000, 8192, 80_000), length=8, flags=1),
        record(2, (1_500_000_000, 0, 15_000_000_000), flags=6),
        record(254, (0, 2, 0)),
    )
    trace = read_trace(path)
    assert (trace.drive, trace.sector_bytes, trace.size_bytes) == ("data", 4096, 2**34)
    assert (trace.started_at_s, trace.lost, trace.is_complete) == (2.5, 0, True)
    expected = {
        "arrived_s": [1.0, 1.5],
        "operation": ["write", "flush"],
        "offset_bytes": [8192, 0],
        "length_bytes": [4096, 0],
        "depth": [3, 3],
        "is_error": [True, False],
        "is_late": [False, True],
        "is_unpaced": [False, True],
    }
    rows = trace.requests.to_dict(as_series=False)
    assert rows.pop("latency_s") == pytest.approx([8e-5, 15.0])
    assert expected == rows
    assert trace.requests["operation"].dtype == pl.Enum(OPERATIONS)


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    """A gap is no request; without its end a file is cut short, and its gaps are what is lost."""
    read = record(0, (5, 0, 5), length=8)
    gap = record(255, (2_000_000_000, 2048, 0))
    whole = read_trace(written(tmp_path, read, gap, read, record(254, (0, 2, 3000))))
    assert (len(whole.requests), whole.lost, whole.is_complete) == (2, 3000, True)
    assert whole.gaps.to_dict(as_series=False) == {"noticed_s": [2.0], "lost": [2048]}
    cut = read_trace(written(tmp_path, read, gap, read, read[:7]))
    assert (len(cut.requests), cut.lost, cut.is_complete) == (2, 2048, False)


def test_a_trace_without_a_request_is_read(tmp_path: Path) -> None:
    """It has all columns and no row, ended or just begun."""
    for records, complete in (([], False), ([record(254, (0, 0, 0))], True)):
        trace = read_trace(written(tmp_path, *records))
        assert (len(trace.requests), trace.is_complete) == (0, complete)
        assert "operation" in trace.requests.columns


def test_a_trace_becomes_parquet(tmp_path: Path) -> None:
    """The same rows; what was lost goes with them."""
    path = written(tmp_path, record(0, (5, 0, 5), length=8), record(254, (0, 1, 7)))
    target = tmp_path / "data.parquet"
    trace = to_parquet(path, target)
    assert trace.requests.equals(pl.read_parquet(target))
    facts = pl.read_parquet_metadata(target)
    assert (facts["drive"], facts["lost"], facts["is_complete"]) == ("data", "7", "true")


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    """Other files, other versions and missing files are told apart."""
    other = tmp_path / "other"
    other.write_bytes(b"nothing of the kind" * 20)
    with pytest.raises(UserError, match="no trace of a drive"):
        read_trace(other)
    other.write_bytes(HEAD[:8] + struct.pack("<I", 2) + HEAD[12:])
    with pytest.raises(UserError, match="version 2"):
        read_trace(other)
    with pytest.raises(PreconditionError, match="cannot be read"):
        read_trace(tmp_path / "nowhere")
