"""Several datasets in a run: each loaded once, kept, put back where its points need it."""

from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.cli.app import run
from stithy.report.context import make_context
from stithy.results.files import read_run
from stithy.run.events import StepStarted
from stithy.study.problems import StudyError
from support.faked_run import FakedRun
from support.forked import run_code
from support.running import entries, left_by, manifest

pytestmark = pytest.mark.usefixtures("own_state")
VARY = "{workload.warehouses: [1, 3], load.pace.think: [10 ms, 2 s]}"


KILLED = """
import os, sys
from pathlib import Path
from stithy.run.events import StepStarted
from support.faked_run import FakedRun
def die(event):
    if isinstance(event, StepStarted) and event.step.id == sys.argv[3]:
        os._exit(9)
FakedRun(Path(sys.argv[1]), users=(2,), vary=sys.argv[2], on_event=die).run()
"""


def _loaded(out: Path) -> list[str]:
    return [entry.facts["dataset"] for entry in entries(out, "step-started", kind="prepare")]


def _killed(root: Path, step_id: str) -> FakedRun:
    """A run that was killed when this step began."""
    assert run_code(KILLED, root, VARY, step_id) == 9
    return FakedRun(root, users=(2,), vary=VARY)


def test_each_dataset_is_loaded_once_and_each_window_has_that_of_its_point(tmp_path: Path) -> None:
    """And its users act as its point says."""
    calibrated, hammer = {"calibrate": "true"}, FakeHammer(users_max=9)
    faked = FakedRun(tmp_path, users=(2,), vary=VARY, load=calibrated, hammer=hammer)
    assert faked.run().end == "finished"
    table = read_run(faked.out).window
    rows = table.select("think_mean_s", "driver_users_max").unique().rows()
    assert {*rows} == {(0.01, 9), (2.0, None)}, "users were tried with the shortest pause alone"
    assert _loaded(faked.out) == ["warehouses1", "warehouses3"]
    windows = [step for step in faked.events if isinstance(step, StepStarted)]
    points = [window.step.window.point.values for window in windows
              if window.step.kind == "window" and window.step.window]  # fmt: skip
    asked = [dict(choice)["warehouses"] for job, choice in faked.hammer.choices if job == "run"]
    assert asked == [point["workload.warehouses"] for point in points]
    think_s = {"10 ms": 0.01, "2 s": 2.0}
    paces = [getattr(each.pace, "mean_s", None) for each in faked.hammer.runs]
    assert paces == [think_s[str(point["load.pace.think"])] for point in points]
    assert left_by(faked.out) == []


@pytest.mark.parametrize(("cut", "again"), [
    ("prepare-warehouses3", ["warehouses3"]),
    ("w-a-u2-warehouses3-think2s-b0", []),
])  # fmt: skip
def test_a_resumed_run_loads_what_has_no_whole_master_copy(
    tmp_path: Path, undrawn: None, cut: str, again: list[str]
) -> None:
    """And no other; its records of loading stay, and its report says which sizes there were."""
    faked = _killed(tmp_path, cut)
    first = _loaded(faked.out)
    assert faked.resume().end == "finished"
    assert _loaded(faked.out)[len(first) :] == again
    conditions = read_run(faked.out).conditions
    assert (conditions["moment"] == "load").sum() == 2 * 12
    assert manifest(faked.out)["workload"]["varied"] == ["warehouses"]
    context = make_context(read_run(faked.out))
    assert "several paces" in context.done
    assert run(["report", str(faked.out), "--format", "md"]) == 0


def test_a_damaged_master_copy_is_loaded_again_and_the_other_is_used(tmp_path: Path) -> None:
    """Each is proven by itself."""
    faked = _killed(tmp_path, "w-b-u2-warehouses1-think2s-b0")
    [copy] = faked.out.rglob("master-warehouses3")
    next(path for path in copy.rglob("*") if path.is_file()).write_text("other")
    first = _loaded(faked.out)
    assert faked.resume().end == "finished"
    assert _loaded(faked.out)[len(first) :] == ["warehouses3"]


def test_users_work_on_what_was_loaded_before_it_is_kept(tmp_path: Path) -> None:
    """Once, also where the run is cut off and goes on; every window starts from what they left."""
    keys = {"precondition": "{users: 1, for: 3 s}"}
    faked = FakedRun(tmp_path, users=(2,), load=keys)
    faked.run_cut_off()
    kinds = [entry.facts["kind"] for entry in entries(faked.out, "step-started")]
    assert kinds.count("precondition-database") == 1
    assert kinds.index("check") < kinds.index("precondition-database") < kinds.index("snapshot")
    started = [step.step.id for step in faked.events if isinstance(step, StepStarted)]
    assert sum(name == "precondition-database" for name in started) == 1
    assert manifest(faked.out)["load"]["precondition"] == "1 user for 3 s"
    context = make_context(read_run(faked.out))
    assert "pre-conditioned by 1 user for 3 s" in context.footer


@pytest.mark.parametrize("asked", ["{users: 9, for: 3 s}", "{users: 0, for: 3 s}", "{users: 1}"])
def test_more_users_than_any_level_has_are_refused(tmp_path: Path, asked: str) -> None:
    """And whoever works for no time; each at its line."""
    with pytest.raises(StudyError) as raised:
        FakedRun(tmp_path, users=(2,), load={"precondition": asked}).start()
    assert ".yaml:" in raised.value.problems[0].where
