"""Whether a machine stayed what it was, by its canaries."""

from itertools import permutations
from math import factorial
from typing import Any

import pytest

from stithy.analysis.validity.canary import LEAST, Canary, judged, order_chance, trends

Row = dict[str, Any]


def rows(*rates: float | None, reads: tuple[float, ...] = ()) -> list[Row]:
    """Canaries a minute apart; reads are as usual where they are not given."""
    times = reads or tuple(1e-4 for _ in rates)
    return [
        {
            "window_id": f"w-{number}", "at_s": 60.0 * number, "users": 4, "block": number,
            "one_rounds_per_s": rate, "all_rounds_per_s": None, "read_p50_s": read_s,
        }
        for number, (rate, read_s) in enumerate(zip(rates, times, strict=True))
    ]  # fmt: skip


def odd(found: tuple[Canary, ...]) -> list[int]:
    """The blocks whose canary is off."""
    return [canary.row["block"] for canary in found if canary.off]


def test_what_is_below_the_floor_is_not_odd() -> None:
    """However alike the others are: a median deviation of nothing makes nothing odd."""
    assert odd(judged(rows(100, 100, 100, 100, 95.1))) == []
    assert odd(judged(rows(100, 100, 100, 100, 94.9))) == [4]


def test_a_machine_that_is_never_quiet_has_no_odd_canary() -> None:
    """The allowance grows with what canaries of this run usually do."""
    assert odd(judged(rows(100, 80, 120, 85, 115, 90, 110))) == []


def test_of_a_few_canaries_none_is_odd() -> None:
    """Nobody can say which of three is the odd one."""
    assert LEAST == 4
    assert odd(judged(rows(100, 100, 50))) == []
    assert odd(judged(rows(100, 100, 100, 50))) == [3]


def test_what_is_not_known_is_not_judged() -> None:
    """A canary without numbers is neither odd nor usual."""
    found = judged(rows(100, None, 100, 100, 100))
    assert odd(found) == []
    assert "one_rounds_per_s" not in found[1].shares
    assert "all_rounds_per_s" not in found[0].shares
    assert judged([]) == ()


def test_a_drift_is_told_with_its_size() -> None:
    """A fall of 2 % a minute over six minutes is 12 %."""
    [rate, reads] = trends(rows(*(100 - 2 * number for number in range(7))))
    assert rate.clear
    assert rate.share == pytest.approx(-12 / 94)
    assert rate.chance_share == pytest.approx(2 / factorial(7))
    assert not reads.clear


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_chance_of_an_order_is_that_of_all_orders(n: int) -> None:
    """Counted one by one."""

    def score(order: tuple[int, ...]) -> int:
        pairs = [(i, j) for j in range(n) for i in range(j)]
        return abs(sum(1 if order[j] > order[i] else -1 for i, j in pairs))

    orders = list(permutations(range(n)))
    for order in orders:
        as_clear = sum(score(each) >= score(order) for each in orders)
        assert order_chance(order) == pytest.approx(as_clear / len(orders))
