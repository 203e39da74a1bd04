"""How the bench of drives judges: which bound counts, and which readings are taken."""

from dataclasses import replace

import pytest

import drive_readings
import drives
from drive_readings import DriveReading, Work

READING = DriveReading(
    iops=10_000,
    bytes_per_s=4e7,
    mean_us=81.0,
    p50_us=80.5,
    p99_us=95.0,
    p999_us=150.0,
    cpu_us_per_io=20.0,
    others_cpus=0.0,
)


def _met(us: float, reading: DriveReading) -> list[bool | None]:
    return [line.met for line in drives.fidelity_lines(us, 1, [reading])]


def test_of_two_tolerances_the_wider_counts() -> None:
    """3 µs and 20 µs of a short latency, 3 % and 10 % of a long one; too early is as wrong."""
    assert _met(80, READING) == [True, True]
    assert _met(80, replace(READING, mean_us=83.5)) == [False, True]
    assert _met(80, replace(READING, mean_us=76.5, p99_us=101.0)) == [False, False]
    assert _met(1_000, replace(READING, mean_us=1_029.0, p99_us=1_099.0)) == [True, True]
    assert _met(1_000, replace(READING, mean_us=1_031.0, p99_us=1_101.0)) == [False, False]


def test_a_line_without_a_target_is_only_there_to_be_read() -> None:
    """It is neither met nor missed."""
    assert drives.Line("mean", 12.0, "µs").met is None
    assert drives.Line("IOPS", 179_999, "IOPS", least=180_000).met is False


def test_what_was_disturbed_says_so() -> None:
    """Beside a value stands how many CPUs others took, where it matters."""
    assert drives.told([READING]) == "20.0 µs CPU an I/O"
    assert "others took 0.5 CPUs" in drives.told([replace(READING, others_cpus=0.5)])


def test_the_calmest_readings_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than needed are made, and at most so many as allowed."""
    made: list[float] = []

    def read(work: Work, device: str, pid: int) -> DriveReading:
        made.append([0.9, 0.01, 0.5, 0.02, 0.03][len(made)])
        return replace(READING, others_cpus=made[-1])

    monkeypatch.setattr(drive_readings, "read", read)
    monkeypatch.setattr(drive_readings, "wait_for_calm", lambda: None)
    work = Work("randread")
    taken = drive_readings.readings(work, "/dev/none", 1, wanted=2, most=5)
    assert [each.others_cpus for each in taken] == [0.01, 0.02]
    assert len(made) == 4
    made.clear()
    assert len(drive_readings.readings(work, "/dev/none", 1, wanted=2, most=1)) == 1
