"""Block I/O and load on arrays of the kernel, without a word about arrays in either.

The runs are of this process, and repeat no window: the kernel that is fetched for these tests has
one CPU, so that each window is late there, and would be measured twice.
"""

from pathlib import Path

import polars as pl
import pytest

from stithy.results.layout import RunDirectory
from stithy.run.equip import Tools
from stithy.run.executor import execute
from stithy.run.session import Stop
from stithy.run.start import start_run
from support.running import left_by, write_study

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.needs_drive,
    pytest.mark.needs_kernel_arrays,
    pytest.mark.usefixtures("own_state"),
]

ENGINES = ("md", "lvm")
BLOCK_IO = """study: What does it do?
candidates: {{one: {array}}}
scenario:
  block-io: {{profiles: [oltp-8k], size: 32 MiB, verify: true, ramp_up: 1 s, duration: 2 s,
             repeat: 1}}
"""


def _run(study: Path, out: Path) -> None:
    outcome = execute(start_run(study, out, Stop(), lambda event: None, Tools(waits=False)))
    assert outcome.error is None
    assert outcome.left == ()
    assert left_by(out) == []


def _array(engine: str) -> str:
    return f"{{array: {{drives: 3, drive: generic-nvme, engine: {engine}, level: raid5}}}}"


@pytest.mark.parametrize("engine", ENGINES)
def test_block_io_runs_on_an_array_of_the_kernel(place: Path, engine: str) -> None:
    """All that was written is read back; afterwards nothing of the array is left."""
    (place / "s.yaml").write_text(BLOCK_IO.format(array=_array(engine)))
    _run(place / "s.yaml", place / "out")
    [path] = (place / "out/windows").glob("w-*/values.parquet")
    values = pl.read_parquet(path).filter(pl.col("metric") == "fio.iops", pl.col("of") == "all")
    assert values["value"][0] > 0


@pytest.mark.needs_postgresql
def test_a_database_runs_on_arrays_of_the_kernel(place: Path) -> None:
    """No acknowledged order is lost. One study of them all: its database is loaded once."""
    arrays = {engine: _array(engine) for engine in ENGINES}
    study = write_study(place / "s.yaml", arrays, users=(2,), load={"ledger": "true"})
    _run(study, place / "out")
    for engine in ENGINES:
        window = RunDirectory(place / "out").window(f"w-{engine}-u2-b0")
        assert pl.read_parquet(window.table("ledger"))["lost"].sum() == 0
