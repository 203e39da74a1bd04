"""The plug-ins that the how-to pages print work as they are printed, with nothing beside them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stithy.plan.expand import expand
from stithy.registry import plugins
from stithy.study.keys import study_schema
from stithy.study.load import parse_study, read_study
from support.reported import write_report
from support.sample_run import Shape, build_run

Printed = Callable[..., Path]


@pytest.fixture
def printed(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Printed:
    """Writes the files of pages into a directory that STITHY_PLUGINS names."""

    def write(*pages: str) -> Path:
        for page in pages:
            text = (root / f"docs/how-to/{page}.md").read_text()
            for name, content in re.findall(
                r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```", text, re.S | re.M
            ):
                (tmp_path / name).parent.mkdir(exist_ok=True)
                (tmp_path / name).write_text(content)
        monkeypatch.setenv("STITHY_PLUGINS", str(tmp_path))
        return tmp_path

    return write


def test_the_scenario_with_its_step_and_its_activity_is_planned(printed: Printed) -> None:
    """Each kind of step is there, and each activity has both halves."""
    study = read_study(printed("add-a-scenario", "add-an-activity") / "append.yaml").study
    steps = expand(study).steps
    assert {step.kind for step in steps} <= plugins("step").keys()
    used = {name for step in steps if step.window for name in step.window.activities}
    assert used == {"append"} <= plugins("activity").keys() & plugins("acting").keys()
    assert "seconds" in str(study_schema())


def test_the_section_is_in_the_report(printed: Printed) -> None:
    """With its words, its table, and the file of that."""
    folder = printed("add-a-section")
    made = build_run(folder / "_run", Shape(users=(1,), duration_s=3, series=False)).root
    (page,) = write_report(made, ("md",))
    assert "Only valid windows support a verdict." in page.read_text()
    assert (made / "report/tables/valid.csv").read_text().startswith("candidate,windows\n")


def test_the_layer_is_planned(printed: Printed) -> None:
    """A drive below it is larger by what stays free."""
    plan = expand(read_study(printed("add-a-layer") / "spare.yaml").study)
    assert plan.image_bytes["spare"] > plan.image_bytes["full"]


def test_the_workload_is_planned_and_is_in_the_schema(printed: Printed) -> None:
    """Its metric is that of the study; its key for users makes no other database."""
    text = (printed("add-a-workload") / "visits.yaml").read_text()
    study = parse_study("visits", f"{text}vary: {{workload.step: [1, 2]}}\n".encode())
    plan = expand(study)
    assert plan.question is not None
    assert (plan.question.metric, len(plan.datasets)) == ("visits_per_min", 1)
    choice = study.workload.choice(study.driving).model_dump()
    assert choice == {"name": "visits", "pages": 10_000, "touched": 10_000, "step": 1}
    assert "What a visit adds." in str(study_schema())
