"""A run that asks `analysis`: it ends when decided, repeats what is invalid, searches, varies."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes.hammer import FakeHammer
from stithy.analysis.capacity import find_capacities, find_capacity
from stithy.analysis.decision import is_answered
from stithy.cli.app import run
from stithy.cli.talk.conclude import is_ended_before_corners, run_corners
from stithy.errors import InfrastructureError
from stithy.report.context import Context, make_context
from stithy.report.formats.json import JsonFormat
from stithy.report.page import Page
from stithy.report.sections.answer import answer, sensitivity
from stithy.report.sections.certainty import describe_status
from stithy.results.files import read_manifest, read_run, write_json
from stithy.results.layout import RunDirectory
from stithy.run.cleaning import clean
from stithy.run.deciders import find_invalid, judge_by, make_deciders
from stithy.run.deciding import Deciders
from stithy.run.events import InterimAnalysis, StepStarted
from stithy.run.executor import RunOutcome, execute
from stithy.run.session import Stop
from stithy.wire.jobs import RunRequest
from support.faked_run import FakedRun
from support.points import at
from support.running import entries, manifest
from support.sample_drives import sample_drive
from support.sample_run import Shape, build_run

pytestmark = pytest.mark.usefixtures("own_state")
UNTIL_DECIDED = {"repeat": ""}


def _context(faked: FakedRun) -> Context:
    return make_context(read_run(faked.out))


def _answered(context: Context) -> bool:
    return is_answered(context.evidence, is_null=context.is_null)


def _measured(faked: FakedRun) -> list[str]:
    ended = [str(each.facts["id"]) for each in entries(faked.out, "step-finished")]
    return [step for step in ended if step.startswith("w-")]


def test_a_null_study_of_equals_ends_at_the_look_that_decides(tmp_path: Path) -> None:
    """Equivalent after four of twenty blocks, with like volumes, the same memory."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), users=(1,), load=UNTIL_DECIDED,
                     keys={"a": "memory: 256 MiB"})  # fmt: skip
    assert execute(faked.start(null=True), Deciders(judge_by(describe_status))).end == "finished"
    [look] = [event for event in faked.events if isinstance(event, InterimAnalysis)]
    assert (look.blocks, look.decided, "equivalent within 2 %" in look.text) == (4, True, True)
    names = ("a", "a-again")
    effect = look.effect
    assert effect is not None
    assert (effect.a, effect.b, effect.none) == (*names, 1.0)
    assert effect.margin[0] < effect.low <= effect.value <= effect.high < effect.margin[1]
    assert {*_measured(faked)} == {f"w-{name}-u1-b{n}" for name in names for n in range(4)}
    assert len(manifest(faked.out)["plan"]["skipped"]) == 2 * 16
    read = _context(faked)
    assert (read.evidence.candidates, is_answered(read.evidence)) == (names, True)
    assert "NULL STUDY" in (read.label or "")
    assert read.manifest is not None
    shown = [(each.path, each.memory_limit_bytes) for each in read.manifest.candidates]
    assert shown == [(str(tmp_path / name), 2**28) for name in names]


def test_what_a_measurement_was_made_for_needs_a_valid_block_or_window(tmp_path: Path) -> None:
    """One candidate a window; a null study must find no difference, as the sample's are."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(complete=False), users=(1,), load=UNTIL_DECIDED,
                     primary="{blocks: 5}")  # fmt: skip
    execute(faked.start(), Deciders(judge_by(describe_status)))
    assert len(_measured(faked)) == 2 * 5
    assert {each.facts["blocks"] for each in entries(faked.out, "interim-analysis")} == {0}
    assert not _answered(_context(faked))
    usual: dict[str, Any] = {"users": (4,), "duration_s": 2, "series": False}
    for name, more, answered in (
        ("alone", {"candidates": ("disk",)}, True), ("plain", {"repeat": 4}, True),
        ("null", {"repeat": 4, "null": True}, False),
    ):  # fmt: skip
        build_run(tmp_path / name, Shape(**usual, **more))
        assert _answered(make_context(read_run(tmp_path / name))) is answered


def test_unsteady_windows_are_valid(tmp_path: Path) -> None:
    """A stall is the storage's doing; what is merely noted is valid, too."""
    late, other = "w-disk-u4-b0", "w-memory-u4-b0"
    notes: dict[str, Any] = {"memory_limit_enforced": False, "checkpoints_inside": 0}
    build_run(tmp_path, Shape(users=(4,), changes={late: {"lateness_mean_s": 1.0}, other: notes}))
    found = find_invalid(RunDirectory(tmp_path), [late, other, "w-none-u4-b0"])
    assert found == {late: "driver late"}


FIND = {"find": "max users with p95 of new-order <= 10 ms", "find_within": "[1, 64]"}
SERVES = {"a": 3, "b": 5}


def _response_s(request: RunRequest) -> float:
    """10 ms for as many users as the candidate serves."""
    assert request.hlog_stem is not None  # a run always keeps its latencies
    return 0.010 * request.users / SERVES[request.hlog_stem.parent.name.split("-")[1]]


def searching(root: Path, users: tuple[int, ...] | None = None, **more: Any) -> FakedRun:
    """A run of a search with candidates that serve 3 and 5 users."""
    root.mkdir(exist_ok=True)
    load = {**FIND, **({} if users else {"repeat": ""})}
    usual: dict[str, Any] = {"hammer": FakeHammer(sound=True, response_s=_response_s)}
    schedulers = make_deciders(describe_status).schedulers
    return FakedRun(root, users=users, load=load, **{**usual, "schedulers": schedulers, **more})


def _found(faked: FakedRun) -> list[tuple[Any, ...]]:
    """Both ends of each candidate's bracket, and its windows at the end that has fewer."""
    found = find_capacity(_context(faked).evidence)
    assert found is not None
    return [
        (each.candidate, *(end and end.level for end in (each.low, each.high)), each.windows_least)
        for each in found.of
    ]


FOUND = [("a", 3, 4, 2), ("b", 5, 6, 2)]


def _levels(faked: FakedRun) -> list[int]:
    return [int(window.rsplit("-", 2)[1][1:]) for window in _measured(faked)]


def test_a_search_alone_measures_what_it_needs(tmp_path: Path) -> None:
    """Each end twice, shared levels once."""
    faked = searching(tmp_path)
    assert faked.run().end == "finished"
    assert _found(faked) == FOUND
    assert _levels(faked) == [1, 1, 2, 2, 4, 4, 3, 3, 4, 8, 6, 5, 5, 6]
    read, plan = _context(faked), manifest(faked.out)["plan"]
    assert is_answered(read.evidence)
    assert all(window.tried for window in read.evidence.windows)
    assert (plan["windows"], plan["question"], plan["further"]) == ([], None, _measured(faked))
    assert (read.evidence.listed, plan["search"]["alone"]) == ((), True)
    added = [each.facts["because"] for each in entries(faked.out, "windows-added")]
    assert added[0] == "the search tries 1 user on a and b"
    assert added[-1] == "the search measures 6 users again on b"


def test_a_search_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    """What was measured is kept, and the rest is searched for.

    What was cut short in a window is measured again: `unit/run/test_resume.py`.
    """
    faked = searching(tmp_path)

    def cut(event: object) -> None:
        if isinstance(event, StepStarted) and event.step.kind == "window":
            faked.stop.signal() if len(_measured(faked)) == 5 else None

    faked.on_event = cut
    assert faked.run().end == "interrupted"
    first = _measured(faked)
    paths = [path for name in first for path in (faked.out / "windows" / name).glob("*.parquet")]
    kept = {path: path.read_bytes() for path in paths}
    faked.on_event, faked.stop = lambda event: None, Stop()
    assert faked.resume().end == "finished"
    assert (_found(faked), len(_measured(faked)), len(first)) == (FOUND, 14, 6)
    assert {path: path.read_bytes() for path in kept} == kept != {}


def test_there_is_one_search_at_each_point_of_what_else_varies(
    tmp_path: Path, undrawn: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those behind go first, each from its own windows; the report names each point."""

    def response_s(request: RunRequest) -> float:
        # Twice the data serves a user fewer.
        assert request.hlog_stem is not None
        name = request.hlog_stem.parent.name
        fewer = 1 if "warehouses2" in name else 0
        return 0.010 * request.users / (SERVES[name.split("-")[1]] - fewer)

    hammer = FakeHammer(sound=True, response_s=response_s)
    faked = searching(tmp_path, vary="{workload.warehouses: [1, 2]}", hammer=hammer)
    assert faked.run().end == "finished"
    context = _context(faked)
    found = find_capacities(context.evidence)
    ends = {
        str(each.setting): [(of.low and of.low.level, of.high and of.high.level) for of in each.of]
        for each in found
    }
    assert ends == {
        "workload.warehouses=1": [(3, 4), (5, 6)],
        "workload.warehouses=2": [(2, 3), (4, 5)],
    }
    assert _answered(context)
    asked = [str(each.facts["because"]) for each in entries(faked.out, "windows-added")]
    assert asked[:2] == [
        f"the search tries 1 user with workload.warehouses {size} on a and b" for size in (1, 2)
    ]
    loaded = [each.facts["dataset"] for each in entries(faked.out, "step-started", kind="prepare")]
    assert loaded == ["warehouses1", "warehouses2"]
    page = Page(context)
    shown = page.tables["search"].frame
    assert set(shown["setting"]) == {"workload.warehouses 1", "workload.warehouses 2"}
    assert run(["report", str(faked.out), "--format", "md"]) == 0
    text = RunDirectory(faked.out).report_as("md").read_text()
    assert "with workload.warehouses 2, a serves 2 users within 10 ms".lower() in text.lower()
    capsys.readouterr()
    run(["plan", str(tmp_path / "study.yaml")])
    assert "windows per candidate and point" in capsys.readouterr().out


def test_a_search_begins_with_what_the_listed_levels_told_and_repeats(tmp_path: Path) -> None:
    """A listed end is measured as its next block; a listed block that is invalid as another's."""
    fails, faked = iter((True, *[False] * 6, True)), searching(tmp_path, (2, 4))

    def fail() -> None:
        if next(fails, False):
            raise InfrastructureError("the hammer died", where="window", remedy="none")

    faked.hammer.before_run = fail
    assert faked.run().end == "finished"
    assert _found(faked) == FOUND
    evidence = _context(faked).evidence
    assert evidence.listed == (at(2), at(4))
    assert {each.point.level for each in evidence.windows if each.tried} == {3, 4, 5, 6, 8}
    found = [window.rsplit("-u", 1)[1] for window in _measured(faked)]
    assert found[:4] == ["2-b0", "2-b0", "2-b0-again", "2-b0-again"]
    assert not any("again" in each for each in found[4:])
    failed = [each.point.level for each in evidence.windows if each.failures]
    assert (len(failed), failed[0]) == (2, 2)


def test_a_search_that_cannot_go_on_ends_and_may_answer_nothing(tmp_path: Path) -> None:
    """A window that cannot be read would be tried for ever; the lowest level is tried twice."""
    faked = searching(tmp_path / "lost")

    def lose(event: object) -> None:
        if isinstance(event, StepStarted) and event.step.id == "w-a-u4-b0":
            for path in (faked.out / "windows").glob("w-*-u2-b0/window.parquet"):
                path.unlink()

    faked.on_event = lose
    assert faked.run().end == "failed", "windows without a row are not all that was planned"
    assert {*_levels(faked)} == {1, 2, 4}
    nothing = searching(tmp_path / "nothing", hammer=FakeHammer(complete=False))
    nothing.run()
    assert _levels(nothing) == [1] * 4
    assert not _answered(_context(nothing))


PROFILE = sample_drive().profile + '[provenance]\nassumed = ["channels", "read"]\n'
Speeds = Mapping[tuple[str, str], float]
"""How long an answer takes, by where (`main` or whom a corner is against) and candidate."""
EQUAL = {(where, name): 0.001 for where in ("main", "a", "b") for name in "ab"}


def asked(root: Path, speeds: Speeds) -> tuple[FakedRun, RunOutcome]:
    """A run that ended well, of which the sensitivity was asked, as if on emulated drives."""

    def response_s(request: RunRequest) -> float:
        assert request.hlog_stem is not None  # a run always keeps its latencies
        folder = request.hlog_stem.parent
        where = folder.parents[2].name.removeprefix("against-")
        return speeds[where if where in "ab" else "main", folder.name.split("-")[1]]

    hammer = FakeHammer(sound=True, response_s=response_s)
    judge = judge_by(describe_status)
    faked = FakedRun(root, hammer=hammer, users=(2,), load=UNTIL_DECIDED, judge=judge,
                     primary="{blocks: 4}")  # fmt: skip
    outcome = faked.run()
    (faked.out / "sensitivity").mkdir()
    shown = read_manifest(faked.out / "manifest.json")
    assert shown is not None
    drive = sample_drive().model_copy(update={"profile": PROFILE, "assumed": ("channels", "read")})
    drawn = tuple(each.model_copy(update={"drives": (drive,)}) for each in shown.candidates)
    write_json(faked.out / "manifest.json", shown.model_copy(update={"candidates": drawn}))
    return faked, outcome


def _corners(faked: FakedRun, outcome: RunOutcome) -> RunOutcome:
    return run_corners(outcome, faked.stop, faked.events.append, tools=faked.tools)


def _said(faked: FakedRun) -> list[list[str]]:
    context = _context(faked)
    return [list(sensitivity.describe_corners(context, holds=holds)) for holds in (True, False)]


def test_a_corner_that_was_cut_off_goes_on_and_can_be_cleaned(tmp_path: Path) -> None:
    """The one against the better candidate; until it is over the report says that it is unknown."""
    faster = {("main", "a"): 0.002, ("b", "a"): 0.002, ("b", "b"): 0.0015}
    faked, outcome = asked(tmp_path, {**EQUAL, **faster})
    gone = InfrastructureError("gone", where="here", remedy="none")
    failed = replace(outcome, end="failed", error=gone)
    assert _corners(faked, failed) is failed
    before = len(faked.hammer.runs)

    def fail() -> None:
        if len(faked.hammer.runs) == before + 3:
            raise OSError("the disk is gone")

    faked.hammer.before_run = fail
    with pytest.raises(OSError, match="gone"):
        _corners(faked, outcome)
    assert "this measurement was not completed" in _said(faked)[1][0]
    assert all(not each.left for each in clean(faked.out))
    faked.hammer.before_run = lambda: None
    with ExitStack() as held:
        again = is_ended_before_corners(faked.out, held)
        assert again is not None
        assert _corners(faked, again).end == "finished"
    [holds], flaws = _said(faked)
    assert "25 % against b, b is still better: " in holds
    assert "ratio 1.33 (1.33 to 1.33; conservative 95 % interval, 4 blocks)" in holds
    assert flaws == []
    [corner] = (faked.out / "sensitivity").iterdir()
    assert (corner.name, len(entries(corner / "run", "run-resumed"))) == ("against-b", 1)
    for name, how in (("a", "better"), ("b", "worse")):
        assert f"25 % {how}" in (corner / f"{name}.data.toml").read_text()
    assert len(list((corner / "run/windows").iterdir())) == 2 * 4
    with ExitStack() as held:
        assert is_ended_before_corners(faked.out, held) is None


def test_without_a_better_candidate_both_corners_are_measured(tmp_path: Path) -> None:
    """An equivalence may be overturned either way; programs are told so in `report.json`."""
    faked, outcome = asked(tmp_path, {**EQUAL, ("b", "a"): 0.0005})
    _corners(faked, outcome)
    [holds], [overturned] = _said(faked)
    assert "against a, the two are still equivalent within 2 %" in holds
    assert "against b, a would be better" in overturned
    page = Page(_context(faked))
    assert overturned in answer(page.context).flaws
    facts = json.loads(JsonFormat().make(page, {}))["sections"]["answer"]["facts"]
    shown = {each["against"]: each for each in facts["sensitivity"]}
    assert {name: each["holds"] for name, each in shown.items()} == {"a": True, "b": False}
    assert (shown["b"]["call"], shown["b"]["missing_because"]) == ("worse", None)
    assert shown["b"]["low"] <= shown["b"]["ratio"] <= shown["b"]["high"]
    (faked.out / "sensitivity").rename(tmp_path / "gone")
    assert _corners(faked, outcome) is outcome
    assert _said(faked) == [[], []]
