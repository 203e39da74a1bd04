"""A block that is older than its last write is found by the time in its header."""

import struct
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from stithy.errors import InfrastructureError, InvalidMeasurement
from stithy.fio.generations import compare, list_laid_out_blocks, list_written_blocks, read_headers
from stithy.fio.load import FioTarget
from support.places import DISK, a_place

PAGE = 4096
APART_S = 1_000_000.0
"""Unix time less monotonic time."""


def page(offset: int, written_s: float) -> bytes:
    """A block as fio writes it: its header, and nothing else."""
    times = divmod(round(written_s * 1e9), 10**9)
    head = struct.pack("<HHIQQII", 0xACCA, 0, PAGE, 7, offset, *times)
    return head.ljust(PAGE, b"x")


def line(end_s: float, latency_s: float, size: int, offset: int, way: int = 1) -> str:
    """A line of fio's log with offsets."""
    return (
        f"{round((APART_S + end_s) * 1000)}, {round(latency_s * 1e9)}, {way}, {size}, {offset}, 0"
    )


def expected(folder: Path, path: str, *lines: str) -> list[pl.DataFrame]:
    """Laid out at 100 s, and written by one submitter since then."""
    (folder / "data_lat.1.log").write_text("\n".join(lines) + "\n" if lines else "")
    return [
        list_laid_out_blocks(FioTarget(path, 4 * PAGE), 100.0),
        list_written_blocks(path, folder, APART_S),
    ]


def compared(folder: Path, times: Mapping[int, float], *lines: str) -> None:
    """Compare a target whose blocks were written at these times, the others at 101 s."""
    with a_place(DISK) as place:
        path = place / "target"
        path.write_bytes(b"".join(page(n * PAGE, times.get(n, 101.0)) for n in range(4)))
        compare(FioTarget(str(path), 4 * PAGE), expected(folder, str(path), *lines))


def test_blocks_that_hold_their_last_writes_are_sound(tmp_path: Path) -> None:
    """A write of two blocks, one over another, a read, and blocks that nobody wrote again."""
    lines = (
        line(110.0, 0.001, 2 * PAGE, PAGE),
        line(120.0, 0.001, PAGE, 2 * PAGE),
        line(130.0, 0.001, PAGE, 0, way=0),
    )
    compared(tmp_path, {1: 109.999, 2: 119.999}, *lines)
    compared(tmp_path, {1: 109.999, 2: 150.0}, *lines)  # written in a ramp, which has no log


@pytest.mark.parametrize("was_s", [101.0, 109.999])
def test_an_older_block_in_the_right_place_is_one_whose_write_was_lost(
    tmp_path: Path, was_s: float
) -> None:
    """Whether its generation is that of the layout, or of an earlier write."""
    lines = (line(110.0, 0.001, 2 * PAGE, PAGE), line(120.0, 0.001, PAGE, 2 * PAGE))
    with pytest.raises(InvalidMeasurement, match=f"a block is older .* at offset {2 * PAGE}"):
        compared(tmp_path, {1: 109.999, 2: was_s}, *lines)


def test_of_writes_that_were_under_way_at_once_either_may_be_last(tmp_path: Path) -> None:
    """Nobody can say which one the storage did first."""
    lines = (line(120.0, 15.0, PAGE, 0), line(110.0, 0.001, PAGE, 0))
    compared(tmp_path, {0: 105.0}, *lines)


def test_a_block_from_before_the_target_was_laid_out_is_an_old_one(tmp_path: Path) -> None:
    """Its write was lost then; and a block without a header is no better."""
    with pytest.raises(InvalidMeasurement, match="at offset 12288"):
        compared(tmp_path, {3: 90.0})
    with a_place(DISK) as place:
        path = place / "target"
        path.write_bytes(bytes(4 * PAGE))
        assert {each for _, each in read_headers(FioTarget(str(path), 4 * PAGE))} == {None}


def test_a_log_that_was_cut_off_is_an_error(tmp_path: Path) -> None:
    """What must be there is then not known."""
    with pytest.raises(InfrastructureError, match="no log of fio with offsets"):
        expected(tmp_path, "/x", line(110.0, 0.001, PAGE, 0), "17639")
