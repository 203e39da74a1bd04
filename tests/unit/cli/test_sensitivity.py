"""`--sensitivity`: which corners are measured, that a cut one goes on, and what the report says."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.cli.running.deciding import status
from stithy.cli.running.sensitivity import ended_before_its_corners, with_corners
from stithy.errors import InfrastructureError
from stithy.report.context import context_of
from stithy.report.formats import json as json_format
from stithy.report.page import build
from stithy.report.parts import sensitivity
from stithy.results.read import read_manifest, read_run
from stithy.results.write import write_json
from stithy.run.cleanup.handlers import clean
from stithy.run.executor import Outcome
from stithy.workload.program import RunRequest
from support.faked_run import FakedRun
from support.running import entries
from support.sample_drives import sample_drive

PROFILE = sample_drive().profile + '[provenance]\nassumed = ["channels", "read"]\n'


Speeds = Mapping[tuple[str, str], float]
"""How long an answer takes, by where (`main` or whom a corner is against) and candidate."""


@dataclass
class PrimaryComparison:
    """A faked run whose candidates pass for emulated drives once it has ended."""

    faked: FakedRun
    outcome: Outcome

    def corners(self) -> Outcome:
        """The outcome with the corners measured."""
        faked = self.faked
        return with_corners(self.outcome, faked.stop, faked.events.append, tools=faked.tools)

    def said(self) -> tuple[list[str], list[str]]:
        """What the report says in support, and as a flaw."""
        context = context_of(read_run(self.faked.out))
        return list(sensitivity.support(context)), list(sensitivity.flaws(context))


def asked(root: Path, speeds: Speeds) -> PrimaryComparison:
    """A run that ended well, of which the sensitivity was asked."""

    def response_s(request: RunRequest) -> float:
        assert request.hlog_stem is not None  # a run always keeps its latencies
        folder = request.hlog_stem.parent
        where = folder.parents[2].name.removeprefix("against-")
        return speeds[where if where in "ab" else "main", folder.name.split("-")[1]]

    hammer = FakeHammer(sound=True, response_s=response_s)
    faked = FakedRun(root, hammer=hammer, users=(2,), load={"repeat": ""}, judge=status,
                     primary="{blocks: 4}")  # fmt: skip
    outcome = faked.run()
    (faked.out / "sensitivity").mkdir()
    manifest = read_manifest(faked.out / "manifest.json")
    assert manifest is not None
    drive = sample_drive().model_copy(update={"profile": PROFILE, "assumed": ("channels", "read")})
    drawn = tuple(each.model_copy(update={"drives": (drive,)}) for each in manifest.candidates)
    write_json(faked.out / "manifest.json", manifest.model_copy(update={"candidates": drawn}))
    return PrimaryComparison(faked, outcome)


MAIN = {("main", "a"): 0.002, ("main", "b"): 0.001}


def test_the_corner_against_the_better_candidate_is_measured(tmp_path: Path) -> None:
    """The verdict holds; the report's first screen says by how much, with the interval."""
    run = asked(tmp_path, {**MAIN, ("b", "a"): 0.002, ("b", "b"): 0.0015})
    assert run.corners().end == "finished"
    support, flaws = run.said()
    assert support == [
        "With every assumed number of the drives 25 % against b, b is still better: new orders per "
        "minute, b to a, ratio 1.33 (1.33 to 1.33; conservative 95 % interval, 4 blocks)."
    ]
    assert flaws == []
    corner = run.faked.out / "sensitivity/against-b"
    assert [path.name for path in (run.faked.out / "sensitivity").iterdir()] == ["against-b"]
    assert "25 % better" in (corner / "a.data.toml").read_text()
    assert "25 % worse" in (corner / "b.data.toml").read_text()
    assert {path.name for path in (corner / "run/windows").iterdir()} == {
        f"w-{name}-u2-b{block}" for name in "ab" for block in range(4)
    }


def test_a_verdict_that_is_overturned_weakens_the_answer(tmp_path: Path) -> None:
    """Programs are told the same in `report.json`, with what was varied."""
    run = asked(tmp_path, {**MAIN, ("b", "a"): 0.001, ("b", "b"): 0.002})
    run.corners()
    support, [flaw] = run.said()
    assert support == []
    assert "against b, a would be better: " in flaw
    page = build(context_of(read_run(run.faked.out)))
    assert flaw in page.answer.flawed
    [told] = json.loads(json_format.make(page, {}))["sensitivity"]
    expected = {"against": "b", "better": "a", "holds": False, "call": "worse"}
    assert expected.items() <= told.items()
    assert told["low"] <= told["ratio"] <= told["high"]
    assert told["missing_because"] is None


def test_without_a_better_candidate_both_corners_are_measured(tmp_path: Path) -> None:
    """An equivalence may be overturned either way."""
    equal = {(where, name): 0.001 for where in ("main", "a", "b") for name in "ab"}
    run = asked(tmp_path, {**equal, ("b", "a"): 0.0005})
    run.corners()
    [holds], [overturned] = run.said()
    assert "against a, the two are still equivalent within 2 %" in holds
    assert "against b, a would be better" in overturned


def test_a_corner_that_was_cut_off_goes_on_and_can_be_cleaned(tmp_path: Path) -> None:
    """Until then the report says that it is not known; afterwards nothing is left to resume."""
    run = asked(tmp_path, {**MAIN, ("b", "a"): 0.002, ("b", "b"): 0.0015})
    before = len(run.faked.hammer.runs)

    def fail() -> None:
        if len(run.faked.hammer.runs) == before + 3:
            raise OSError("the disk is gone")

    run.faked.hammer.before_run = fail
    with pytest.raises(OSError, match="gone"):
        run.corners()
    assert "this measurement was not completed" in run.said()[1][0]
    assert all(not each.left for each in clean(run.faked.out))
    run.faked.hammer.before_run = lambda: None
    with ExitStack() as held:
        again = ended_before_its_corners(run.faked.out, held)
        assert again is not None
        assert replace(run, outcome=again).corners().end == "finished"
    corner = run.faked.out / "sensitivity/against-b/run"
    assert len(entries(corner, "run-resumed")) == 1
    assert run.said()[0]
    with ExitStack() as held:
        assert ended_before_its_corners(run.faked.out, held) is None


def test_a_run_that_failed_or_did_not_ask_has_no_corners(tmp_path: Path) -> None:
    """There is nothing whose answer could change, or nobody wants to know."""
    run = asked(tmp_path, MAIN)
    error = InfrastructureError("gone", where="here", remedy="none")
    failed = replace(run, outcome=replace(run.outcome, end="failed", error=error))
    assert failed.corners() is failed.outcome
    (run.faked.out / "sensitivity").rmdir()
    assert run.corners() is run.outcome
    assert run.said() == ([], [])
