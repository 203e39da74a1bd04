"""The section of brokerage: steps of its size, what it says to the hammer, what it refuses."""

from typing import Any

import pytest
from pydantic import ValidationError

from stithy.workloads.brokerage import BROKERAGE, SMALL, BrokerageKeys
from stithy.workloads.workload import Driving


def keys(**more: Any) -> BrokerageKeys:
    """A section of one load unit."""
    return BrokerageKeys.model_validate({"name": "brokerage", "customers": 1000, **more})


@pytest.mark.parametrize(
    "more",
    [{"customers": 1500}, {"customers": 0}, {"days": 7}, {"price_period": 5}, {"skew_part": 0}],
)
def test_what_is_no_size_is_refused(more: dict[str, Any]) -> None:
    """Customers come in thousands, days from 8; a time has its unit."""
    with pytest.raises(ValidationError):
        keys(**more)


def test_a_load_unit_with_eight_days_is_the_least() -> None:
    """As the specified load unit, with the fewest days that fill every list."""
    assert BROKERAGE.fit_size(1) == {"customers": 1000, "days": 12}
    assert BROKERAGE.parse_size("customers=2000,days=30") == {"customers": 2000, "days": 30}
    assert 0.7e9 < BROKERAGE.data_bytes(keys().size) < 0.8e9


def test_the_hammer_is_told_every_number() -> None:
    """Times in seconds; the connections of the exchange only where they are given."""
    asked = keys(price_period="1m", exchange_connections=3).choice(Driving()).model_dump()
    assert asked == {
        "name": "brokerage",
        "customers": 1000,
        "days": 12,
        "price_period_s": 60.0,
        "exchange_delay_s": 1.0,
        "maintenance_interval_s": 60.0,
        "skew_part": 4,
        "exchange_connections": 3,
    }
    assert "exchange_connections" not in keys().choice(Driving()).model_dump()
    words = BROKERAGE.in_words(keys().options(Driving()))
    assert words[0] == "prices swing once in 15 min"


def test_the_exchange_has_connections_of_its_own() -> None:
    """Half as many as users up to 64, one for eight of more, at least two, or as many as given."""
    assert [keys().count_connections(users) for users in (1, 16, 200, 800)] == [2, 8, 64, 100]
    assert keys(exchange_connections=7).count_connections(800) == 7


def test_users_touch_all_customers_and_have_no_pauses() -> None:
    """A part of the data and keyed pace are refused, each at its key."""
    found = BROKERAGE.find_misfits(keys(), Driving(touch_percent=50, is_keyed=True))
    assert [misfit.loc for misfit in found] == [("load", "pace"), ("load", "touch")]


def test_a_thousand_customers_complete_two_trades_a_second() -> None:
    """The specified scale, by the metric's minute; other workloads have none."""
    assert BROKERAGE.get_nominal_rate(keys().size) == 120.0
    assert sum(BROKERAGE.shares.values()) == pytest.approx(1.0)


def test_every_number_of_few_customers_says_so() -> None:
    """Unless their number varies, and stands beside each number anyway."""
    assert BROKERAGE.label({}, keys(customers=4000).size) == SMALL
    assert BROKERAGE.label({}, keys(customers=5000).size) is None
    assert BROKERAGE.label({}, {"days": 12}) is None
