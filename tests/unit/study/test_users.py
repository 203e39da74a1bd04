"""The `load` section: what is made of it."""

import pytest

from stithy.study.pace import Pace
from stithy.study.users import Load
from support.studies import study


def load(*lines: str, users: str = "[1, 4]") -> Load:
    """The checked section with these lines."""
    text = "".join(f"  {line}\n" for line in (f"users: {users}", *lines))
    return study(("  users: [1, 4]\n", text)).load


def test_users_work_back_to_back_over_their_own_connections_by_default() -> None:
    """Nobody has a home, all data are in reach."""
    found = load()
    assert (found.pace, found.rate_per_s, found.home_users) == (Pace("none"), None, None)
    assert (found.connections, found.connections_max, found.reach(2)) == (None, 4, None)


def test_a_pool_is_what_the_server_must_admit() -> None:
    """However many users share it."""
    found = load("connections: 64", "pace: {think: 2 s}", users="[100, 15000]")
    assert (found.connections_max, found.pace) == (64, Pace("think", 2.0))


@pytest.mark.parametrize(("line", "home"), [("pace: keyed", 10), ("users_per_warehouse: 3", 3)])
def test_keyed_users_are_at_home_ten_to_a_warehouse(line: str, home: int) -> None:
    """Others only where the study says so."""
    assert load(line).home_users == home


def test_a_rate_is_so_many_a_second_in_an_open_loop() -> None:
    """Whatever the unit of time that it is written in."""
    found = load("rate: 600/min", "arrivals: constant")
    assert (found.rate_per_s, found.arrivals) == (10.0, "constant")


@pytest.mark.parametrize(("share", "reach"), [(1, 1), (30, 3), (31, 4), (100, None)])
def test_the_share_in_reach_is_rounded_up_to_whole_warehouses(
    share: int, reach: int | None
) -> None:
    """At least one is touched; None is all of them."""
    assert load(f"touch: {share}%").reach(10) == reach
