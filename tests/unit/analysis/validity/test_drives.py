"""An emulated drive that cannot keep its times makes no measurement of the described drive."""

import pytest

from stithy.analysis.validity.drives import Row, late, slowed
from stithy.analysis.validity.flags import Flag


def _row(**changes: object) -> Row:
    row = {
        "role": "data",
        "operation": "all",
        "answered": 1000,
        "late_answers": 0,
        "late_mean_s": 0.0,
        "device_mean_s": 400e-6,
        "added_mean_s": 0.0,
    }
    return row | changes


def _operation() -> Row:
    """A row of one operation, which does not tell of lateness."""
    return _row(
        operation="read", late_answers=None, late_mean_s=None, device_mean_s=1e-3, added_mean_s=9e-4
    )


def test_a_drive_that_keeps_its_times_is_not_told_of() -> None:
    """Nor is a candidate without emulated drives."""
    assert late([_operation(), _row()]) is None
    assert slowed([_operation(), _row()]) is None
    assert late([]) is None
    assert slowed([]) is None


@pytest.mark.parametrize(
    ("late_answers", "flag"),
    [
        (10, None),
        (11, Flag.DRIVE_AT_TIMES_LATE),
        (100, Flag.DRIVE_AT_TIMES_LATE),
        (101, Flag.DRIVE_LATE),
    ],
)
def test_late_answers_annotate_a_window_and_then_invalidate_it(
    late_answers: int, flag: Flag | None
) -> None:
    """One in a hundred moves a percentile, one in ten is what users feel."""
    found = late([_row(late_answers=late_answers, late_mean_s=1e-4)])
    assert (found.flag if found else None) is flag


@pytest.mark.parametrize(
    ("given_s", "added_s", "flag"),
    [
        (100e-6, 19e-6, None),
        (2e-3, 90e-6, None),
        (100e-6, 21e-6, Flag.DRIVE_A_LITTLE_SLOWED),
        (2e-3, 490e-6, Flag.DRIVE_A_LITTLE_SLOWED),
        (100e-6, 26e-6, Flag.DRIVE_SLOWED),
        (2e-3, 510e-6, Flag.DRIVE_SLOWED),
    ],
)
def test_a_way_that_takes_long_annotates_a_window_and_then_invalidates_it(
    given_s: float, added_s: float, flag: Flag | None
) -> None:
    """The drive was on time and its users saw another one all the same."""
    found = slowed([_row(device_mean_s=given_s + added_s, added_mean_s=added_s)])
    assert (found.flag if found else None) is flag


def test_the_worst_drive_of_several_is_told() -> None:
    """One late drive is enough, whatever it holds."""
    rows = [_row(), _row(role="log", device_mean_s=1e-3, added_mean_s=0.9e-3)]
    found = slowed(rows)
    assert found is not None
    assert found.sentence == (
        "The instrument failed: reads and flushes of the emulated drive of the log took 1 ms on "
        "average, 900 µs longer than its profile gives them."
    )


def test_a_drive_that_had_next_to_nothing_to_do_is_not_judged() -> None:
    """Two late answers of four are chance, and nobody waited for them."""
    idle = {"answered": 4, "late_answers": 2, "device_mean_s": 4e-3, "added_mean_s": 3e-3}
    assert late([_row(**idle)]) is None
    assert slowed([_row(**idle)]) is None
    busy = _row(late_answers=20)
    found = late([_row(**idle), busy])
    assert found is not None
    assert found.flag is Flag.DRIVE_AT_TIMES_LATE


def test_slow_writes_are_told_and_invalidate_nothing() -> None:
    """Many come at once, and wait for each other in front of any drive; less than reads is told."""
    writes = _row(operation="write", device_mean_s=1e-3, added_mean_s=0.9e-3)
    found = slowed([_row(), writes])
    assert found is not None
    assert found.flag is Flag.DRIVE_WRITES_SLOWED
    assert not found.flag.invalidates
    reads = _row(device_mean_s=1e-3, added_mean_s=0.5e-3)
    assert (told := slowed([reads, writes])) is not None
    assert told.flag is Flag.DRIVE_SLOWED
