"""How long steps take, from what earlier ones took; and what must be the same to go on."""

from pathlib import Path

import pytest

from stithy.plan.steps import Cost, Plan, Step, StepKind, WindowPlan
from stithy.results.manifest import Fact, Scalar
from stithy.run.preparation.equip import changes, fingerprint
from stithy.run.preparation.forecast import (
    KEPT,
    Forecast,
    earlier_added_s,
    earlier_factors,
    earlier_noise,
    earlier_rates,
    keep_added_s,
    keep_learned,
    keep_noise,
    mended,
)


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


MACHINE = {
    "kernel": Fact(value="6.1.0"),
    "cpus": Fact(value=2),
    "memory_bytes": Fact(value=8 * 2**30),
    "cpu_governor": Fact(value="powersave"),
}


def test_it_holds_what_numbers_rest_on() -> None:
    """What may change between two windows anyway is not in it; what is not told is None."""
    found = fingerprint(MACHINE, {"stithy": "1.0", "postgresql": "15.1"})
    assert found == {
        "kernel": "6.1.0",
        "architecture": None,
        "CPU": None,
        "number of CPUs": 2,
        "memory": 8 * 2**30,
        "stithy": "1.0",
        "postgresql": "15.1",
    }


def test_the_same_machine_has_no_changes() -> None:
    """Also where a boot took a little more of the memory for itself."""
    before = fingerprint(MACHINE, {})
    assert changes(before, before) == ()
    assert changes(before, {**before, "memory": 8 * 2**30 - 2**20}) == ()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("kernel", "6.2.0", "kernel: 6.1.0 before, 6.2.0 now"),
        ("number of CPUs", 4, "number of CPUs: 2 before, 4 now"),
        ("memory", 4 * 2**30, "memory: 8 GiB before, 4 GiB now"),
        ("CPU", "new", "CPU: not known before, new now"),
        ("hammer", "2.0", "hammer: not known before, 2.0 now"),
    ],
)
def test_each_change_is_told_with_both_values(name: str, value: Scalar, told: str) -> None:
    """So that the person can judge whether it matters."""
    before = fingerprint(MACHINE, {})
    assert changes(before, {**before, name: value}) == (told,)
