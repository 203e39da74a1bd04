"""Block I/O and load on arrays of the kernel, without a word about arrays in either."""

from pathlib import Path

import polars as pl
import pytest

from stithy.results.layout import RunDirectory
from support.running import Stithy, ended_well, left_by, write_study

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_drive, pytest.mark.needs_kernel_arrays]

ENGINES = ("md", "lvm")
BLOCK_IO = """study: What does it do?
candidates: {{one: {array}}}
scenario:
  block-io: {{profiles: [oltp-8k], size: 32 MiB, verify: true, ramp_up: 1 s, duration: 2 s,
             repeat: 1}}
"""


def _array(engine: str) -> str:
    return f"{{array: {{drives: 3, drive: generic-nvme, engine: {engine}, level: raid5}}}}"


def _run(stithy: Stithy, study: Path, out: Path) -> None:
    finished = stithy.run("run", study, "--out", out)
    assert ended_well(finished.returncode, finished.stderr), finished.stderr
    assert [*left_by(out), *stithy.drives(), *stithy.registered()] == []


@pytest.mark.parametrize("engine", ENGINES)
def test_block_io_runs_on_an_array_of_the_kernel(stithy: Stithy, place: Path, engine: str) -> None:
    """All that was written is read back; afterwards nothing of the array is left."""
    (place / "s.yaml").write_text(BLOCK_IO.format(array=_array(engine)))
    _run(stithy, place / "s.yaml", place / "out")
    [path] = (place / "out/windows").glob("w-*/values.parquet")
    values = pl.read_parquet(path).filter(pl.col("metric") == "fio.iops", pl.col("of") == "all")
    assert values["value"][0] > 0


@pytest.mark.needs_postgresql
@pytest.mark.parametrize("engine", ENGINES)
def test_a_database_runs_on_an_array_of_the_kernel(
    stithy: Stithy, place: Path, engine: str
) -> None:
    """No acknowledged order is lost."""
    study = write_study(
        place / "s.yaml", {"one": _array(engine)}, users=(2,), load={"ledger": "true"}
    )
    _run(stithy, study, place / "out")
    window = RunDirectory(place / "out").window("w-one-u2-b0")
    assert pl.read_parquet(window.table("ledger"))["lost"].sum() == 0
