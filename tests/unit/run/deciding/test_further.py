"""Further windows are decided while a run goes on, written down, measured next, and not lost."""

from pathlib import Path

import pytest

from stithy.errors import InfrastructureError
from stithy.run.deciding.further import SoFar
from stithy.run.events import StepStarted, WindowsAdded
from stithy.run.executor import execute
from support.faked_run import FakedRun
from support.more_windows import two_more
from support.running import entries, left_by, manifest

MORE = ["w-b-u1-b0-more1", "w-b-u1-b0-more2"]


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def faked_run(root: Path) -> FakedRun:
    """A run of two candidates at one level, the first window of which asks for two more."""
    return FakedRun(root, users=(1,), advisers=(two_more,))


def measured(faked: FakedRun) -> list[str]:
    """The windows that were begun, in order, over all sessions."""
    return [e.facts["id"] for e in entries(faked.out, "step-started", kind="window")]


def test_they_are_measured_next(tmp_path: Path) -> None:
    """Each from a fresh restore; what was planned comes after them."""
    faked = faked_run(tmp_path)
    assert faked.run().end == "finished"
    assert measured(faked) == ["w-b-u1-b0", *MORE, "w-a-u1-b0"]
    started = [e.facts["id"] for e in entries(faked.out, "step-started")]
    at = started.index("w-b-u1-b0") + 1
    assert started[at : at + 3] == [f"canary-{MORE[0]}", f"restore-{MORE[0]}", MORE[0]]
    assert started.index("check-end-b") > started.index("w-a-u1-b0")
    assert left_by(faked.out) == []


def test_they_are_written_down_with_the_reason_before_they_begin(tmp_path: Path) -> None:
    """In the journal; the manifest tells them apart from planned ones."""
    faked = faked_run(tmp_path)
    faked.run()
    added = entries(faked.out, "windows-added")
    assert [each.facts["because"] for each in added] == [
        "w-b-u1-b0 was measured",
        f"{MORE[0]} was measured",
    ]
    [begun] = [e for e in entries(faked.out, "step-started") if e.facts["id"] == MORE[0]]
    assert added[0].sequence < begun.sequence
    plan = manifest(faked.out)["plan"]
    assert plan["further"] == MORE
    assert set(plan["windows"]) == {"w-a-u1-b0", "w-b-u1-b0"}


def test_the_count_and_the_time_left_hold_them(tmp_path: Path) -> None:
    """From the moment at which they are decided."""
    faked = faked_run(tmp_path)
    faked.run()
    starts = [event for event in faked.events if isinstance(event, StepStarted)]
    assert [each.number for each in starts] == list(range(1, len(starts) + 1))
    counts = {each.step.id: each.steps for each in starts}
    assert counts["w-b-u1-b0"] + 3 == counts[MORE[0]]
    assert counts["tear-down-b"] == len(starts) == counts["w-b-u1-b0"] + 6
    left = {each.step.id: each.left_s for each in starts}
    [first, _] = [event for event in faked.events if isinstance(event, WindowsAdded)]
    assert first.windows == (MORE[0],)
    assert first.time_s > 0
    assert left[f"canary-{MORE[0]}"] > left["restore-w-a-u1-b0"] + first.time_s * 0.99


def test_an_adviser_sees_every_window_that_is_over(tmp_path: Path) -> None:
    """And is asked before the first as well: a study may have no window in its plan."""
    seen: list[set[str]] = []

    def watch(so_far: SoFar) -> None:
        windows = {step.id for step in so_far.steps if step.kind == "window"}
        seen.append(windows & so_far.done)

    faked = FakedRun(tmp_path, users=(1,), advisers=(watch,))
    faked.run()
    assert seen == [set(), {"w-b-u1-b0"}, {"w-a-u1-b0", "w-b-u1-b0"}]


class Cut(Exception):
    """What ends a run here in the middle, as a bug would."""


def cut_in(root: Path, number: int) -> FakedRun:
    """A run that ended in the window with this number, counted from 1."""
    faked = faked_run(root)

    def cut() -> None:
        if len(faked.hammer.runs) == number - 1:
            raise Cut

    faked.hammer.before_run = cut
    with pytest.raises(Cut):
        faked.run()
    faked.hammer.before_run = lambda: None
    return faked


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_resumed_run_ends_with_the_same_windows(tmp_path: Path, number: int) -> None:
    """Wherever it was cut off: what was decided stays so, and is decided once."""
    faked = cut_in(tmp_path, number)
    assert faked.resume().end == "finished"
    assert len(entries(faked.out, "windows-added")) == 2
    assert manifest(faked.out)["plan"]["further"] == MORE
    done = [e.facts["id"] for e in entries(faked.out, "step-finished")]
    windows = [each for each in done if each.startswith("w-")]
    assert windows == ["w-b-u1-b0", *MORE, "w-a-u1-b0"]
    assert {f"restore-{each}" for each in MORE} <= {*done}


def test_what_nobody_had_asked_for_is_asked_for_on_resuming(tmp_path: Path) -> None:
    """Killed after the window that needs further ones, and before they were written down."""
    faked = FakedRun(tmp_path, users=(1,))

    def fail(so_far: SoFar) -> None:
        if "w-a-u1-b0" in so_far.done:
            raise InfrastructureError("gone", where="here", remedy="none")

    outcome = execute(faked.start(), advisers=(fail,))
    assert outcome.end == "failed"
    assert measured(faked) == ["w-b-u1-b0", "w-a-u1-b0"]
    faked.advisers = (two_more,)
    assert faked.resume().end == "finished"
    assert measured(faked)[2:] == MORE
    done = [e.facts["id"] for e in entries(faked.out, "step-finished")]
    assert done.count("prepare") == 2, "there was nothing left but what nobody had asked for"
