"""What every candidate may say, whoever provides it."""

from types import ModuleType

import pytest

from stithy.money import Money
from stithy.registry import plugins
from stithy.study.candidate_keys import candidate_model
from stithy.study.fields import key_at, known_at
from stithy.study.schema import study_schema
from support.studies import problems, study, study_text

COSTS = ("{path: /var/tmp/stithy}", "{path: /var/tmp/stithy, cost: 1200 EUR}")


def test_a_candidate_may_have_a_cost_and_another_one_none() -> None:
    """What is not said is not known; it is never 0."""
    read = study(COSTS)
    assert read.candidates["disk"].cost == Money(1200.0, "EUR")
    assert read.candidates["memory"].cost is None


@pytest.mark.parametrize("provider", plugins("provider").values(), ids=plugins("provider"))
def test_every_provider_has_the_key_after_its_own(provider: ModuleType) -> None:
    """For messages, for editors and on the reference page."""
    own = list(provider.Spec.model_fields)
    assert list(candidate_model(provider.NAME).model_fields) == [*own, "cost"]
    assert key_at(("candidates", "any", "cost"))
    assert known_at(("candidates", "any")).count("cost") == 1
    specs = study_schema()["properties"]["candidates"]["additionalProperties"]["anyOf"]
    [mine] = [each for each in specs if each["title"] == provider.NAME]
    assert mine["properties"]["cost"]["type"] == "string"
    assert mine["description"] == provider.Spec.__doc__


def test_what_is_no_cost_is_told_beside_what_else_is_wrong_with_a_candidate() -> None:
    """All problems at once, each at its key."""
    text = study_text((COSTS[0], "{path: here, cost: 1.200 EUR}"))
    found = [str(each) for each in problems(text)]
    assert any("`candidates.disk.cost`: not a cost: 1.200 EUR" in each for each in found)
    assert any("not an absolute path" in each for each in found)


def test_costs_are_in_one_currency() -> None:
    """Nothing is converted, so that two could not be held against each other."""
    other = ("{path: /dev/shm/stithy}", "{path: /dev/shm/stithy, cost: 1300 USD}")
    [only] = problems(study_text(COSTS, other))
    assert "another currency than the cost of `disk` has" in str(only)
    assert "`candidates.memory.cost`" in str(only)


def test_a_cost_does_not_make_the_same_place_another_one() -> None:
    """Two candidates on one directory share it, whatever they cost."""
    twice = ("{path: /dev/shm/stithy}", "{path: /var/tmp/stithy, cost: 5 EUR}")
    assert "share the same storage" in str(problems(study_text(COSTS, twice))[0])
