"""How long tasks waited, from /proc/pressure."""

from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.collect.collector import Scope, Unavailable
from stithy.collect.collectors.pressure import RESOURCES, create, parse
from support.captured import captured


def line(kind: str, total_us: int) -> str:
    """One line of a pressure file."""
    return f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={total_us}\n"


def test_totals_of_captured_files_are_read() -> None:
    """Both lines, in microseconds."""
    for name in ("proc/pressure-cpu", "proc/pressure-io"):
        assert parse(captured(name).encode()).keys() == {"some", "full"}
    assert parse(line("some", 13437).encode()) == {"some": 13437}


def test_shares_are_of_the_time_between_readings_and_a_missing_line_is_null(tmp_path: Path) -> None:
    """250 ms waited in 1 s are 0.25; old kernels have no `full` line for the CPU."""
    folder = tmp_path / "pressure"
    folder.mkdir()
    for resource in RESOURCES:
        full = "" if resource == "cpu" else line("full", 0)
        (folder / resource).write_text(line("some", 1_000_000) + full)
    clock = FakeClock()
    pressure = create(Scope((), None, proc=tmp_path, clock=clock))
    assert list(pressure.sample()) == []
    (folder / "io").write_text(line("some", 1_250_000) + line("full", 100_000))
    clock.sleep_s(1)
    found = {(sample.subject, sample.metric): sample for sample in pressure.sample()}
    pressure.close()
    assert found["io", "some_share"].value == 0.25
    assert found["io", "full_share"].value == 0.1
    assert found["memory", "some_share"].value == 0
    assert found["cpu", "full_share"].value is None
    assert found["cpu", "full_share"].missing_because


def test_a_kernel_without_pressure_information_says_so(tmp_path: Path) -> None:
    """The collector is unavailable, with a reason."""
    with pytest.raises(Unavailable, match="no pressure stall information"):
        create(Scope((), None, proc=tmp_path))
