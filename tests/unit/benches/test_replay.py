"""How a replay is judged: the disk's own noise is not held against the drive."""

import pytest

import replay
from fakes.fio import SimulatedDrive
from stithy.drives.measure.compare import Compared, Figures
from support.measured_drive import measured

REAL = Figures(1000.0, 100e-6, 400e-6)


def row(**changed: float) -> Compared:
    """One point, with other figures than the disk's."""
    other = Figures(**({"iops": 1000.0, "p50_s": 100e-6, "p99_s": 400e-6} | changed))
    return Compared("read 4 KiB, depth 1", "read", REAL, other)


def test_what_the_disk_does_not_keep_of_itself_is_not_missed() -> None:
    """Only figures that the disk repeats can be missed by its emulation."""
    drive = row(p50_s=150e-6, p99_s=900e-6)
    assert list(replay.missed([drive], [row(p99_s=600e-6)])) == [
        ("read 4 KiB, depth 1", "read", "p50_s")
    ]
    assert list(replay.missed([row()], [row()])) == []


def test_the_sums_name_what_is_out() -> None:
    """Of each figure how many are within, for both."""
    told = list(replay.lines([row(p50_s=150e-6)], [row(iops=500.0)]))
    assert told[0] == "iops within 10%: 1 of 1 of the drive, 0 of the disk against itself"
    assert told[1] == "p50_s within 10%: 0 of 1 of the drive, 1 of the disk against itself"
    assert told[-1] == "  read 4 KiB, depth 1, read: p50_s"


def test_rounds_measured_one_by_one_are_one_measurement() -> None:
    """Their histograms are merged and their rates stand side by side."""
    one = measured(SimulatedDrive(), writing=False)
    both = replay.all_rounds([one, one])
    assert both.rounds == 2
    first, twice = one.matrix[0].answer.read, both.matrix[0].answer.read
    assert first is not None
    assert twice is not None
    assert twice.latency.count == 2 * first.latency.count
    assert twice.iops == pytest.approx(first.iops)
    assert both.matrix[0].iops_by_round == one.matrix[0].iops_by_round * 2
