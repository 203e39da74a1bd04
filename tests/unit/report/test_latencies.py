"""Latency logs of an emulated drive, read back and merged over the windows of a level."""

from pathlib import Path

import pytest

from stithy.analysis.latencies import read_drive_times
from stithy.results.drives import LOG_SUFFIX
from support.drawn import context_built
from support.hlog import encode, histogram, log
from support.points import at
from support.sample_run import Shape


@pytest.mark.parametrize("is_whole", [True, False])
def test_times_of_a_drive_come_from_its_merged_log(tmp_path: Path, is_whole: bool) -> None:
    """9,900 reads of 1 ms in one measurement, 100 of 3 ms in the next; the tables tell the rest."""
    shape = Shape(candidates=("disk",), users=(4,), repeat=2, drives={"disk": 0.0})
    context = context_built(tmp_path, shape)
    run = context.run
    first, second = sorted(run.window["measure_from_s"])
    inside = [(first, 1000, 9900), (second, 3000, 100)][: 2 if is_whole else 1]
    beside = [(at_s - 3, 900_000, 1) for at_s in (first, second)]
    lines = (
        f"Tag=read,{at_s:.3f},1.000,1.0,{encode(histogram(*[took_us] * count))}\n"
        for at_s, took_us, count in sorted([*beside, *inside])
    )
    run.directory.drives.mkdir(parents=True)
    (run.directory.drives / f"disk.data{LOG_SUFFIX}").write_text(log(*lines))
    times = read_drive_times(run.directory, context.evidence, run.drives, ("disk", at(4)))
    mean_s, p99_s = ((99 * 1e-3 + 3e-3) / 100, 1e-3) if is_whole else (120e-6 * 1.1, 120e-6 * 3)
    assert times["read"].mean_s == pytest.approx(mean_s, rel=1e-3)
    assert times["read"].p99_s == pytest.approx(p99_s, rel=1e-3)
    assert times["write"].p99_s == pytest.approx(110e-6 * 3.0)
