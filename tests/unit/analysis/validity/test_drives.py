"""An emulated drive that cannot keep its times makes no measurement of the described drive."""

import pytest

from stithy.analysis.validity.drives import Row, delivered, late
from stithy.analysis.validity.flags import Flag


def _row(**changes: object) -> Row:
    """The row of all operations, which tells of lateness."""
    row = {
        "role": "data",
        "operation": "all",
        "answered": 1000,
        "late_answers": 0,
        "late_mean_s": 0.0,
        "device_mean_s": None,
        "added_mean_s": None,
    }
    return row | changes


def _of(operation: str, asked_s: float, took_s: float, **changes: object) -> Row:
    """The row of an operation, which tells what the block device took."""
    times = {"device_mean_s": took_s, "added_mean_s": took_s - asked_s}
    return _row(
        **{"operation": operation, "late_answers": None, "late_mean_s": None, **times, **changes}
    )


def test_a_drive_that_keeps_its_times_is_not_told_of() -> None:
    """Nor is a candidate without emulated drives."""
    rows = [_of("read", 100e-6, 109e-6), _of("flush", 40e-6, 31e-6), _row()]
    assert late(rows) is None
    assert delivered(rows) is None
    assert late([]) is None
    assert delivered([]) is None


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
    ("asked_s", "took_s", "flag"),
    [
        (100e-6, 109e-6, None),
        (2e-3, 2.09e-3, None),
        (100e-6, 111e-6, Flag.DRIVE_OFF),
        (100e-6, 89e-6, Flag.DRIVE_OFF),
        (2e-3, 2.11e-3, Flag.DRIVE_OFF),
        (15e-6, 110e-6, Flag.DRIVE_OFF),
        (150e-6, 290e-6, Flag.DRIVE_OFF),
        (15e-6, 120e-6, Flag.DRIVE_SLOWED),
        (150e-6, 310e-6, Flag.DRIVE_SLOWED),
    ],
)
@pytest.mark.parametrize("operation", ["read", "flush"])
def test_other_times_are_told_and_those_of_another_drive_invalidate(
    operation: str, asked_s: float, took_s: float, flag: Flag | None
) -> None:
    """More than 5 % and 10 µs off is told; twice as long, and 100 µs longer, is another drive."""
    found = delivered([_of(operation, asked_s, took_s)])
    assert (found.flag if found else None) is flag


def test_each_operation_is_judged_by_itself() -> None:
    """Many reads on time do not hide slow flushes; all that is off is told."""
    rows = [
        _of("read", 150e-6, 154e-6, answered=90_000),
        _of("write", 114e-6, 466e-6),
        _of("flush", 40e-6, 53e-6),
    ]
    found = delivered(rows)
    assert found is not None
    assert found.flag is Flag.DRIVE_OFF
    assert found.sentence == (
        "The emulated drive of the data took 466 µs for writes (asked: 114 µs) and 53 µs for "
        "flushes (asked: 40 µs) on average."
    )


def test_the_worst_drive_of_several_is_told() -> None:
    """One is enough, whatever it holds; what makes a window invalid comes first."""
    rows = [_of("write", 100e-6, 3e-3), _of("flush", 0.1e-3, 1e-3, role="log")]
    found = delivered(rows)
    assert found is not None
    assert found.sentence == (
        "The instrument failed: the emulated drive of the log took 1 ms for flushes "
        "(asked: 100 µs) on average."
    )


def test_a_drive_that_had_next_to_nothing_to_do_is_not_judged() -> None:
    """Two late answers of four are chance, and nobody waited for them."""
    idle = _row(answered=4, late_answers=2)
    assert late([idle]) is None
    assert delivered([_of("read", 1e-3, 4e-3, answered=4)]) is None
    busy = _row(late_answers=20)
    found = late([idle, busy])
    assert found is not None
    assert found.flag is Flag.DRIVE_AT_TIMES_LATE


def test_slow_writes_are_told_and_invalidate_nothing() -> None:
    """Many come at once, and wait for each other in front of any drive."""
    found = delivered([_of("write", 100e-6, 1e-3)])
    assert found is not None
    assert found.flag is Flag.DRIVE_OFF
    assert not found.flag.invalidates
