"""The expected time of the rest learns from the steps that were done."""

from stithy.plan.steps import Cost, Step, StepKind, WindowPlan
from stithy.run.before.forecast import Forecast


def step(kind: StepKind, candidate: str, time_s: float, *, window: bool = False) -> Step:
    """A step with this estimate."""
    plan = WindowPlan("w", candidate, 1, 0, 0, 5.0, 20.0, 1, checkpoint=True) if window else None
    return Step("id", kind, candidate, Cost(time_s, 2 * time_s, 0, 0), plan)


def test_without_experience_the_plan_is_believed() -> None:
    """The sum of its estimates."""
    assert Forecast().left_s([step("restore", "a", 4), step("check", "a", 2)]) == 6


def test_a_step_misses_its_estimate_as_one_like_it_did() -> None:
    """Of the same candidate first, of any else."""
    forecast = Forecast()
    forecast.learn(step("restore", "a", 4), 12.0)
    assert forecast.left_s([step("restore", "a", 2)]) == 6.0
    assert forecast.left_s([step("restore", "b", 2)]) == 6.0
    forecast.learn(step("restore", "b", 4), 4.0)
    assert forecast.left_s([step("restore", "b", 2)]) == 2.0
    assert forecast.left_s([step("check", "b", 2)]) == 2.0


def test_the_measured_time_of_a_window_is_fixed() -> None:
    """Only what is around it is scaled."""
    forecast = Forecast()
    forecast.learn(step("window", "a", 29, window=True), 33.0)
    assert forecast.left_s([step("window", "a", 29, window=True)]) == 33.0


def test_one_odd_step_does_not_spoil_the_forecast() -> None:
    """The median counts, and factors are bounded."""
    forecast = Forecast()
    for duration_s in (4.0, 4.0, 4000.0):
        forecast.learn(step("restore", "a", 4), duration_s)
    assert forecast.left_s([step("restore", "a", 4)]) == 4.0
