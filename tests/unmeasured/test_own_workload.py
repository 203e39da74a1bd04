"""A run of a workload of one's own, which only its file knows: size, unit, what it lacks."""

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from fakes.hammer import FakeHammer
from stithy.registry import plugins
from stithy.report.context import make_context
from stithy.results.files import read_run
from stithy.run.events import SecondPassed
from stithy.study.load import parse_study
from stithy.study.problems import StudyError
from stithy.wire.hammer import NOBODY, Driven, ProgressWatch
from stithy.wire.jobs import RunRequest, WorkloadChoice
from stithy.workloads.workload import Driving, Workload
from support.faked_run import FakedRun
from support.published import publish
from support.running import manifest

pytestmark = pytest.mark.usefixtures("own_state")

STUDY = """study: Does a workload of one's own work?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
database: {engine: postgresql, memory: 192 MiB}
workload: {name: counter, groups: 10, counters: 100}
load: {users: [1], ramp_up: 1 s, duration: 2 s, calibrate: false, repeat: 1, touch: 30%}
vary: {workload.counters: [100, 200], workload.step: [1, 5]}
"""


class Counting(FakeHammer):
    """Its users have one type of transaction."""

    shares = MappingProxyType({"increment": 1.0})

    def run(
        self, workload: WorkloadChoice, request: RunRequest, *, watch: ProgressWatch = NOBODY
    ) -> Driven:
        """It says what of the counters they touch."""
        driven, asked = super().run(workload, request, watch=watch), dict(workload)
        touched = {"units_touched": asked["touched"], "units_total": asked["counters"]}
        proof = driven.summary.proof.model_copy(update={"before": None, "after": None})
        update = {"workload": touched, "proof": proof}
        return replace(driven, summary=driven.summary.model_copy(update=update))


def test_an_own_workload_is_reported(
    tmp_path: Path, fakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each size is a dataset, each step only other users; both are said in its own words."""
    faked = FakedRun(tmp_path, hammer=Counting(sound=True), text=STUDY)
    assert faked.run().end == "finished"
    loaded = [dict(choice) for job, choice in faked.hammer.choices if job == "prepare"]
    assert [each["counters"] for each in loaded] == [1000, 2000]
    driven = {tuple(dict(choice).values()) for job, choice in faked.hammer.choices if job == "run"}
    assert driven == {("counter", n, n * 3 // 10, step) for n in (1000, 2000) for step in (1, 5)}
    assert {event.label for event in faked.events if isinstance(event, SecondPassed)} == {"TPS"}
    facts = manifest(faked.out)["workload"]
    assert facts["size"] == {"groups": 10, "counters": 100}
    assert (facts["options"], facts["varied"]) == ({"step": 1}, ["counters", "step"])
    _assert_without_proof(faked)
    text = publish(faked.out, capsys, draws=True)["md"]
    assert "increments per second" in text
    assert "has no consistency conditions: none were verified" in text
    assert "how many increment transactions were done" in text
    assert "1,000 and 2,000 counters" in text
    assert "several values of workload.step" in text
    assert "600 of 2,000 counters" in text
    assert "groups | 10" in text
    assert "warehouse" not in text.lower()


def _assert_without_proof(faked: FakedRun) -> None:
    """No condition is verified or missed, and what is not declared flags no window."""
    results = read_run(faked.out)
    assert results.conditions.is_empty()
    windows = make_context(results).evidence.windows
    flags = {reason.flag.value for window in windows for reason in window.reasons}
    assert not [flag for flag in flags if "verified" in flag]
    for window in windows:
        row = window.row
        per_s = row["headline_committed"] / (row["measure_to_s"] - row["measure_from_s"])
        assert row["headline_per_s"] == pytest.approx(per_s)


def test_the_fake_workload_is_read_by_rust(fakes: Path) -> None:
    """Every key, in the text that the hammer's own tests give to the fake workload there."""
    said = json.loads((fakes / "workloads/counter.json").read_text())
    spec = plugins(Workload)["counter"].keys.model_validate(
        {"name": "counter", "groups": 1, "counters": 5, "step": 2}
    )
    assert spec.choice(Driving(touch_percent=80)).model_dump() == said


def test_an_own_workload_refuses_a_load(fakes: Path) -> None:
    """At its own key."""
    text = STUDY.replace("counters: 100}", "counters: 100, step: 5}").split("vary")[0]
    for load, expected in (
        ("rate: 5/s", "`workload.step`: a step at a rate"),
        ("pace: keyed", "`load.pace`: keyed pace of a workload without pauses"),
        ("ledger: true", "`load.ledger`: a ledger of a workload without one"),
    ):
        study = text.replace("touch: 30%", load).replace("{root}", "/x")
        with pytest.raises(StudyError) as caught:
            parse_study("study.yaml", study.encode())
        [problem] = caught.value.problems
        assert expected in problem.problem
