"""Whether driver and emulated drives did what they were to do."""

from typing import Any

import pytest

from stithy.analysis.validity.instruments import (
    Row,
    delivered,
    headroom,
    late,
    refuted,
    unless_refuted,
)
from stithy.analysis.validity.reasons import Flag


def window(**changes: Any) -> dict[str, Any]:
    """A window of 100 transactions a second and 4 users, of a driver that can 1,000 and 40."""
    row = {
        "measure_from_s": 10.0, "measure_to_s": 20.0, "transactions": 1000, "users": 4,
        "driver_rate_per_s_max": 1000.0, "driver_users_max": 40, "unserved": 0,
        "window_id": "w", "lateness_p99_s": 1e-5, "service_p50_s": 1e-3,
    }  # fmt: skip
    return {**row, **changes}


@pytest.mark.parametrize(
    ("changes", "little"),
    [
        ({"transactions": 5000}, False),
        ({"transactions": 5001}, True),
        ({"users": 20}, False),
        ({"users": 21}, True),
    ],
)
def test_more_than_half_is_little(changes: dict[str, Any], little: bool) -> None:
    """Exactly half is allowed."""
    assert headroom(window(**changes)).is_little is little


def test_what_was_due_and_not_begun_was_asked_for_too() -> None:
    """In an open loop the storage may hold back what the driver had to be ready for."""
    assert headroom(window(unserved=1000)).rate_per_s == 200.0


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"transactions": 10_000}, None),
        (
            {"transactions": 10_100},
            "it did 1,010 transactions a second in w, more than the 1,000 that it was shown to "
            "sustain",
        ),
        ({"unserved": 50_000}, None),
        ({"users": 41}, "it served 41 users in w, more than the 40 that it was shown to serve"),
        ({"users": 41, "lateness_p99_s": 0.5}, None),
        ({"lateness_p99_s": 0.5}, None),
        ({"transactions": 9000, "lateness_p99_s": 0.5}, None),
        ({"driver_rate_per_s_max": None, "driver_users_max": None, "lateness_p99_s": 0.5}, None),
        ({"transactions": None, "lateness_p99_s": None}, None),
    ],
)
def test_a_limit_holds_until_a_window_shows_otherwise(
    changes: dict[str, Any], told: str | None
) -> None:
    """By what it did, and not by what it was asked for; a limit that is reached is none refuted."""
    assert list(refuted([window(), window(**changes)]).values()) == ([told] if told else [])


def test_a_refuted_limit_holds_in_no_window_that_has_it() -> None:
    """One that another session found stays; of several windows the clearest one is named."""
    rows = [
        window(transactions=11_000, window_id="a"), window(transactions=20_000, window_id="b"),
        window(), window(driver_rate_per_s_max=9000.0, transactions=20_000),
    ]  # fmt: skip
    found = unless_refuted(rows)
    assert [each["driver_rate_per_s_max"] for each in found] == [None, None, None, 9000.0]
    assert ["in b" in (each["driver_refuted"] or "") for each in found] == [True] * 3 + [False]


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


def test_a_drive_that_had_next_to_nothing_to_do_is_not_judged() -> None:
    """Two late answers of four are chance, and nobody waited for them."""
    idle = _row(answered=4, late_answers=2)
    assert late([idle]) is None
    assert delivered([_of("read", 1e-3, 4e-3, answered=4)]) is None
    busy = _row(late_answers=20)
    found = late([idle, busy])
    assert found is not None
    assert found.flag is Flag.DRIVE_AT_TIMES_LATE
