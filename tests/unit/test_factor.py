"""Factors: which of them is the level, and what none may be called."""

import pytest

from stithy import activity
from stithy.activity import DeclaredActivity, Factor, get_level_factor, require_usable
from stithy.errors import UserError
from stithy.registry import plugins


def test_the_level_is_that_of_a_load_whatever_other_activities_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where another activity comes before it by the name of its file."""
    first = DeclaredActivity("first", factors=(Factor("knocks", "Knocks", "knock"),))
    every = {"first": first, **plugins(DeclaredActivity)}
    monkeypatch.setattr(activity, "plugins", lambda _: every)
    assert next(iter(activity.map_factors())) == "knocks"
    assert get_level_factor().name == "users"


def test_a_factor_with_the_name_of_another_column_of_figures_is_refused() -> None:
    """A block's number would stand for the factor's value, or the value for a percentile."""
    require_usable(("users", "bytes", "neighbour", "rate", "profile"), "own")
    with pytest.raises(UserError, match="cannot be called `block`") as caught:
        require_usable(("bytes", "value", "block"), "own")
    assert caught.value.where == "`factors` of the scenario own"
