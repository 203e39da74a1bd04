"""What earlier runs teach about the time of steps."""

from pathlib import Path

import pytest

from stithy.plan.steps import Cost, Plan, Step
from stithy.run.before.earlier import (
    KEPT,
    earlier_added_s,
    earlier_factors,
    earlier_noise,
    earlier_rates,
    keep_added_s,
    keep_learned,
    keep_noise,
)
from stithy.run.before.forecast import Forecast, mended

STEP = Step("check-a", "check", "a", Cost(2.0, 8.0, 0, 0))


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing ever ran."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    return tmp_path


def test_a_machine_without_runs_teaches_nothing() -> None:
    """The plan's estimates stand."""
    assert earlier_factors() == {}
    assert Forecast(earlier_factors()).expected_s(STEP) == 2.0


def test_what_one_run_learned_the_next_expects() -> None:
    """By kind of step, whatever the candidates were called."""
    forecast = Forecast()
    forecast.learn(STEP, 6.0)
    keep_learned(forecast.learned)
    later = Forecast(earlier_factors())
    assert later.expected_s(STEP) == pytest.approx(6.0)
    assert later.knows("check")
    assert not later.knows("restore")


def test_the_run_itself_teaches_more_than_those_before() -> None:
    """A candidate may be slower than what was measured last week."""
    forecast = Forecast({"check": [0.5]})
    forecast.learn(STEP, 6.0)
    assert forecast.expected_s(STEP) == 6.0


def test_only_the_last_of_many_runs_count() -> None:
    """So that a changed machine is known again soon."""
    keep_learned({"check": [9.0] * KEPT})
    keep_learned({"check": [1.0] * (KEPT - 1)})
    assert earlier_factors()["check"] == [9.0, *[1.0] * (KEPT - 1)]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": 2, "factors": {}}', '{"version": 1}']
)
def test_what_cannot_be_read_teaches_nothing(state: Path, content: str) -> None:
    """Damaged, or of another version."""
    (state / "durations.json").write_text(content)
    assert earlier_factors() == {}


def test_a_plan_shows_what_is_expected_and_keeps_its_bounds() -> None:
    """Likely times change; a bound grows only where it was passed."""
    plan = Plan(1, (STEP,), "a", 0, 0, 0, {})
    for factor, bound_s in ((2.0, 8.0), (5.0, 10.0)):
        [step] = mended(plan, Forecast({"check": [factor]})).steps
        assert step.cost == Cost(2.0 * factor, bound_s, 0, 0)


def test_noise_is_kept_by_metric_beside_times_and_rates(state: Path) -> None:
    """Each run adds one number; none takes anything of the others."""
    assert earlier_noise("nopm") == []
    keep_noise("nopm", 0.01)
    keep_learned({"check": [2.0]}, {"disk": 500.0})
    keep_noise("nopm", 0.03)
    keep_noise("p95", 0.2)
    assert (earlier_noise("nopm"), earlier_noise("p95")) == ([0.01, 0.03], [0.2])
    assert (earlier_factors(), earlier_rates()) == ({"check": [2.0]}, {"disk": 500.0})
    (state / "durations.json").write_text("{")
    assert earlier_noise("nopm") == []


def test_the_last_run_tells_how_drives_missed_their_profiles() -> None:
    """By profile and operation; what else is known stays."""
    keep_learned({"check": [2.0]})
    keep_added_s({"generic-nvme flush": 32e-6, "generic-nvme read": -5e-6})
    keep_added_s({"generic-nvme flush": 20e-6})
    keep_noise("p95", 0.1)
    assert earlier_added_s() == {"generic-nvme flush": 20e-6, "generic-nvme read": -5e-6}
    assert earlier_factors()["check"] == [2.0]
