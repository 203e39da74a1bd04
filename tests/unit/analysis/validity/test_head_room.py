"""What a window asked of the driver, as shares of what it can do."""

from typing import Any

import pytest

from stithy.analysis.validity.head_room import head_room, refuted, unless_refuted


def window(**changes: Any) -> dict[str, Any]:
    """A window of 100 transactions a second and 4 users, of a driver that can 1,000 and 40."""
    row = {
        "measure_from_s": 10.0, "measure_to_s": 20.0, "transactions": 1000, "users": 4,
        "driver_rate_per_s_max": 1000.0, "driver_users_max": 40, "unserved": 0,
        "window_id": "w", "lateness_p99_s": 1e-5, "service_p50_s": 1e-3,
    }  # fmt: skip
    return {**row, **changes}


def test_shares_are_of_the_calibrated_rate_and_users() -> None:
    """The larger of the two counts."""
    found = head_room(window(users=10))
    assert found.rate_per_s == 100.0
    assert found.rate_share == pytest.approx(0.1)
    assert found.users_share == pytest.approx(0.25)
    assert found.share == found.users_share


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
    assert head_room(window(**changes)).is_little is little


def test_what_was_due_and_not_begun_was_asked_for_too() -> None:
    """In an open loop the storage may hold back what the driver had to be ready for."""
    assert head_room(window(unserved=1000)).rate_per_s == 200.0


def test_what_is_not_known_is_none() -> None:
    """Without calibration, without pauses, without numbers."""
    assert head_room(window(driver_rate_per_s_max=None, driver_users_max=None)).share is None
    assert head_room(window(driver_users_max=None)).users_share is None
    bare = head_room(window(measure_from_s=None, measure_to_s=None, transactions=None))
    assert (bare.rate_per_s, bare.rate_share) == (None, None)
    assert not head_room(window(driver_rate_per_s_max=None, driver_users_max=None)).is_little


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
