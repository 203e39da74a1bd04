"""A run of a workload of one's own, which only its file knows."""

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from fakes.hammer import FakeHammer
from stithy.registry import plugins
from stithy.study.load import parse_study
from stithy.study.problems import StudyError
from stithy.wire.hammer import NOBODY, Driven, Watch
from stithy.wire.jobs import RunRequest, WorkloadChoice
from stithy.workloads.workload import Driving, Workload
from support.faked_run import FakedRun
from support.published import publish
from support.running import manifest

pytestmark = pytest.mark.usefixtures("own_state")

STUDY = """study: Does a workload of one's own work?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
database: {engine: postgresql, memory: 192 MiB}
workload: {name: counter, counters: 1000}
load: {users: [1], ramp_up: 1 s, duration: 2 s, calibrate: false, repeat: 1, touch: 30%}
vary: {workload.counters: [1000, 2000], workload.step: [1, 5]}
"""


class Counting(FakeHammer):
    """Its users have one type of transaction."""

    shares = MappingProxyType({"increment": 1.0})

    def run(
        self, workload: WorkloadChoice, request: RunRequest, *, watch: Watch = NOBODY
    ) -> Driven:
        """It says what of the counters they touch."""
        driven, asked = super().run(workload, request, watch=watch), dict(workload)
        touched = {"units_touched": asked["touched"], "units_total": asked["counters"]}
        return replace(driven, summary=driven.summary.model_copy(update={"workload": touched}))


def test_a_workload_of_ones_own_goes_from_study_to_report(
    tmp_path: Path, fakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each size is a dataset, each step only other users; both are said in its own words."""
    faked = FakedRun(tmp_path, hammer=Counting(sound=True), text=STUDY)
    assert faked.run().end == "finished"
    loaded = [dict(choice) for job, choice in faked.hammer.choices if job == "prepare"]
    assert [each["counters"] for each in loaded] == [1000, 2000]
    driven = {tuple(dict(choice).values()) for job, choice in faked.hammer.choices if job == "run"}
    assert driven == {("counter", n, n * 3 // 10, step) for n in (1000, 2000) for step in (1, 5)}
    facts = manifest(faked.out)["workload"]
    assert (facts["units"], facts["options"]) == (1000, {"step": 1})
    assert facts["varied"] == ["units", "step"]
    text = publish(faked.out, capsys)["md"]
    assert "several values of workload.step" in text
    assert "600 of 2,000 counters" in text
    assert "counters | 1000" in text
    assert "warehouse" not in text.lower()


def test_the_fake_workload_says_to_the_hammer_what_the_one_in_rust_reads(fakes: Path) -> None:
    """Every key, in the text that the hammer's own tests give to the fake workload there."""
    said = json.loads((fakes / "workloads/counter.json").read_text())
    spec = plugins(Workload)["counter"].keys.model_validate(
        {"name": "counter", "counters": 5, "step": 2}
    )
    assert spec.choice(Driving(touch_percent=80)).model_dump() == said


def test_a_workload_of_ones_own_says_what_does_not_fit_a_load(fakes: Path) -> None:
    """At its own key."""
    text = STUDY.replace("counters: 1000}", "counters: 1000, step: 5}").split("vary")[0]
    keyed = text.replace("touch: 30%", "pace: keyed").replace("{root}", "/x")
    with pytest.raises(StudyError) as caught:
        parse_study("study.yaml", keyed.encode())
    [problem] = caught.value.problems
    assert "`workload.step`: a step with keys" in problem.problem
