"""The plug-ins that the how-to pages print work as they are printed, with nothing beside them."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.clock import FakeClock, HurriedClock
from stithy.activity import DeclaredActivity
from stithy.collectors.collector import Collector, Sample, Scope, Unavailable
from stithy.errors import UserError
from stithy.plan.expand import expand, needed_bytes
from stithy.plan.scenario import PlannedScenario
from stithy.plan.steps import Step
from stithy.registry import plugins
from stithy.results.layout import RunDirectory
from stithy.results.tables import STOPPED
from stithy.run.activity import Activity, StepKind
from stithy.run.preparation.equip import Tools
from stithy.run.preparation.preflight import preflight
from stithy.run.sampler import Sampler
from stithy.study.load import parse_study, read_study
from support.reported import write_report
from support.sample_run import Shape, build_run
from support.study_reference import study_schema


def test_the_scenario_with_its_step_and_its_activity_is_planned(printed: Path) -> None:
    """Each kind of step is there, and each activity has both halves; other roles hold nothing."""
    study = read_study(printed / "append.yaml").study
    steps = expand(study).steps
    assert "sync" in {step.kind for step in steps} <= plugins(StepKind).keys()
    used = {name for step in steps if step.window for name in step.window.activities}
    assert used == {"append"} <= plugins(DeclaredActivity).keys() & plugins(Activity).keys()
    assert needed_bytes(study) == {"data": 2**30, "log": 0, "temp": 0, "backup": 0}
    assert "Length of a window." in str(study_schema())


def test_a_key_of_the_printed_scenario_that_varies_holds_in_its_windows(printed: Path) -> None:
    """Each point has its own value."""
    text = (printed / "append.yaml").read_text() + "vary: {scenario.append.seconds: [1, 3]}\n"
    steps = expand(parse_study("append.yaml", text.encode())).steps
    windows = [step.window for step in steps if step.window]
    key = "scenario.append.seconds"
    assert {(each.point.values[key], each.duration_s) for each in windows} == {(1, 1), (3, 3)}


def _mistyped(step: Step) -> Step:
    """As the step of a scenario whose activity has another name."""
    return replace(step, window=step.window and replace(step.window, activities=("apend",)))


@pytest.mark.parametrize("name", ["apend", "synk"])
def test_a_plug_in_that_is_not_there_is_named_before_anything_starts(
    printed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """An activity that nobody does, and a kind of step."""
    file = read_study(printed / "append.yaml")
    steps = expand(file.study).steps
    wrong = [_mistyped(step) if name == "apend" else replace(step, kind=name) for step in steps]
    monkeypatch.setattr(plugins(PlannedScenario)["append"], "plan_steps", lambda *_: wrong)
    with pytest.raises(UserError, match=f"names `{name}`, which is no"):
        preflight(file, RunDirectory(tmp_path / "run"), "0" * 12, Tools(), clean=False)


def test_the_collector_gives_the_rate_between_two_readings(printed: Path, tmp_path: Path) -> None:
    """And says so where the kernel has no such file."""
    create, clock = plugins(Collector)["faults"].create, FakeClock()
    assert create is not None
    scope = Scope((), proc=tmp_path, clock=clock)
    with pytest.raises(Unavailable):
        create(scope)
    (tmp_path / "vmstat").write_text("pgfault 812345\npgmajfault 4711\n")
    collector = create(scope)
    assert collector.sample() == []
    (tmp_path / "vmstat").write_text("pgfault 812399\npgmajfault 4721\n")
    clock.sleep_s(2.0)
    assert collector.sample() == [Sample("", "major_per_s", 5.0)]
    collector.close()


def test_a_collector_of_ones_own_that_fails_is_named_with_its_line(
    printed: Path, tmp_path: Path
) -> None:
    """In the reason that its series have, which the report shows."""
    (tmp_path / "vmstat").write_text("pgfault 812345\n")
    scope = Scope((), proc=tmp_path, clock=HurriedClock())
    sampler = Sampler(scope, {"faults": plugins(Collector)["faults"]})
    sampler.start()
    missing = [each.sample.missing_because for each in sampler.stop() if not each.sample.value]
    at = f"{STOPPED}KeyError: 'pgmajfault', at {printed}/collectors/faults.py:"
    assert any(str(each).startswith(at) for each in missing)


def test_the_layer_is_planned(printed: Path) -> None:
    """A drive below it is larger by what stays free."""
    plan = expand(read_study(printed / "spare.yaml").study)
    assert plan.image_bytes["spare"] > plan.image_bytes["full"]


@pytest.mark.usefixtures("printed")
def test_the_section_is_in_the_report(tmp_path: Path) -> None:
    """With its words, its table, and the file of that."""
    run = build_run(tmp_path, Shape(users=(1,), duration_s=3, series=False)).root
    (page,) = write_report(run, ("md",))
    assert "Only valid windows support a verdict." in page.read_text()
    assert (run / "report/tables/valid.csv").read_text().startswith("candidate,windows\n")


def test_the_workload_is_planned_and_is_in_the_schema(printed: Path) -> None:
    """Its metric is that of the study; its key for users makes no other database."""
    text = (printed / "visits.yaml").read_text()
    study = parse_study("visits", f"{text}vary: {{workload.step: [1, 2]}}\n".encode())
    plan = expand(study)
    assert plan.question is not None
    assert (plan.question.metric, len(plan.datasets)) == ("visits_per_min", 1)
    choice = study.workload.choice(study.driving).model_dump()
    assert choice == {"name": "visits", "pages": 10_000, "touched": 10_000, "step": 1}
    assert "What a visit adds." in str(study_schema())
