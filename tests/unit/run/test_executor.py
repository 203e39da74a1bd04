"""The steps are done in order and written down; however a run ends, nothing is left."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fakes.engine import FakeEngine
from fakes.hammer import FakeHammer
from stithy.activity import DeclaredActivity
from stithy.errors import InfrastructureError
from stithy.registry import plugins
from stithy.results.files import Run, read_run
from stithy.results.layout import RunDirectory
from stithy.results.manifest import LimitFacts
from stithy.run import events
from stithy.run.cleaning import clean
from stithy.run.executor import execute
from stithy.run.window import WATCHED
from stithy.wire.messages import ErrorCount
from support.faked_run import FakedRun
from support.running import entries, left_by, manifest, window_row

pytestmark = pytest.mark.usefixtures("own_state")
NO_ROOM = "No space left on device"
FAULT = InfrastructureError("the drive is gone", where="somewhere", remedy="none")
WINDOWS = [f"w-{name}-u{users}-b0" for name in "ab" for users in (1, 3)]


class Whole(NamedTuple):
    """A run at two levels with all that a load may have; `found`: the databases of its windows."""

    faked: FakedRun
    run: Run
    planned: list[str]
    found: list[tuple[str, bool]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """Such a run, to be looked at; each window leaves a file in its database."""
    root, found, engine = tmp_path_factory.mktemp("whole"), list[tuple[str, bool]](), FakeEngine()

    def strike() -> None:
        data = engine.starts[-1].data
        found.append(((data / "log").read_text(), (data / "left").exists()))
        (data / "left").touch()

    load = {"calibrate": "true", "ledger": "true", "limit": "p99 of payment ≤ 72 ms"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STITHY_STATE", str(root / "state"))
        faked = FakedRun(root, engine=engine, hammer=FakeHammer(before_run=strike), users=(1, 3),
                         load=load)  # fmt: skip
        context = faked.start()
        outcome = execute(context)
        assert (outcome.end, outcome.error, outcome.left) == ("finished", None, ())
        yield Whole(faked, read_run(faked.out), [step.id for step in context.plan.steps], found)


def test_every_step_of_the_plan_is_done_and_written_down_and_nothing_is_left(whole: Whole) -> None:
    """In the plan's order, for the journal and for who watches. Each window has a fresh copy."""
    faked, run = whole.faked, whole.run
    for event, kind in (
        ("step-started", events.StepStarted), ("step-finished", events.StepFinished),
    ):  # fmt: skip
        assert [entry.facts["id"] for entry in entries(faked.out, event)] == whole.planned
        assert [e.step.id for e in faked.events if isinstance(e, kind)] == whole.planned
    first = next(each for each in faked.events if not isinstance(each, events.Note))
    assert isinstance(first, events.RunStarted)
    seconds = [each for each in faked.events if isinstance(each, events.SecondPassed)]
    assert [second.p95_s for second in seconds] == [None] * 4, "ten orders bear no percentile"
    sampled = [each for each in faked.events if isinstance(each, events.WindowSampled)]
    assert {each.window.id for each in sampled} == {*WINDOWS}
    assert {of.collector for each in sampled for of in each.samples} <= WATCHED
    assert (run.problems, sorted(run.window["window_id"])) == ((), WINDOWS)
    assert run.window["complete"].all()
    # Loading, the check after it, the calibration, and the window's own start.
    assert whole.found == [("empty" + "started\n" * 4, False)] * 4
    assert sorted(run.restores["window_id"]) == WINDOWS
    assert run.restores["files"].to_list() == [3] * 4
    assert run.restores["identical"].all()
    for row in run.restores.iter_rows(named=True):
        assert (row["resident_bytes"] == 0) == (row["resident_note"] is None)
    assert left_by(faked.out) == []
    assert sorted(path.name for path in faked.root.iterdir()) == ["out", "state", "study.yaml"]
    assert list((faked.root / "state/runs").iterdir()) == []
    assert not any(path.parent.exists() for path in faked.hammer.baselines)


def test_what_a_run_found_out_beside_its_windows_is_kept(whole: Whole) -> None:
    """The driver's calibration, limit, ledgers. tests/e2e has them of a real server."""
    faked, run, shown = whole.faked, whole.run, whole.run.manifest
    assert [(row["point"], row["block"]) for row in run.baseline.to_dicts()] == [
        ("users=1", 0),
        ("users=3", 0),
    ]
    first = entries(faked.out, "step-started", kind="restore")[0].facts["id"]
    assert first == f"restore-{run.baseline['window_id'][0]}"
    assert sorted(run.surroundings["window_id"]) == WINDOWS
    assert run.surroundings.select("others_cpu_s", "others_bytes").sum().row(0) == (0, 0)
    assert faked.hammer.calibrated == [3], "once, with the connections of the largest level"
    assert set(run.window["driver_rate_per_s_max"]) == {1000.0}
    assert shown is not None
    assert shown.plan.limit == LimitFacts(percentile="p99", transaction="payment", limit_s=0.072)
    assert sorted(run.ledger["deal"]) == ["order"] * 4 + ["payment"] * 4
    assert set(run.window["ledger_acknowledged"]) == {20}
    notes = [event.text for event in faked.events if isinstance(event, events.Note)]
    shared = [note.split(" share ")[0] for note in notes if " share " in note]
    assert shared == [f"candidate {name} and its ledgers" for name in "ab"]
    assert run.window["ledger_shares"].null_count() == 0


def _gave_up(text: str, sqlstate: str = "XX000") -> FakeHammer:
    return FakeHammer(
        complete=False, errors=(ErrorCount(kind="other", code=sqlstate, text=text, count=3),)
    )


LATE = ("something else", "answers were still missing a minute after the end")
SHARED = f'could not resize shared memory segment "/x" to 9 bytes: {NO_ROOM}'


@pytest.mark.parametrize(
    ("because", "fakes", "has_numbers", "incomplete", "at_once"),
    [
        ("fake server: it fell over: none", {"engine": FakeEngine(frozenset({3}))}, False, 1, 0),
        ("somewhere: the drive is gone: none", {"hammer": FakeHammer({"run": FAULT})}, False, 4, 4),
        ("gave up: what a mess (3 times)", {"hammer": _gave_up("what\na mess")}, True, 4, 4),
        (LATE[1], {"hammer": FakeHammer(complete=False, warnings=LATE)}, True, 4, 4),
        (f"{SHARED} (3 times)", {"hammer": _gave_up(SHARED, "53100")}, True, 4, 4),
        (f"gave up: {NO_ROOM} (3 times)", {"hammer": _gave_up(NO_ROOM, "53100")}, True, 1, 1),
    ],
    ids=["no start", "the hammer dies", "it gives up", "it is late", "shm full", "disk full"],
)
def test_what_befalls_a_window_is_in_its_row_and_only_a_full_disk_ends_the_run(
    because: str, fakes: dict[str, Any], has_numbers: bool, incomplete: int, at_once: int,
    tmp_path: Path,
) -> None:  # fmt: skip
    """A server in trouble is ended at once: it might keep an ordinary end waiting for minutes."""
    faked = FakedRun(tmp_path, **fakes)
    outcome, is_full = faked.run(), because.startswith(f"gave up: {NO_ROOM}")
    assert outcome.end == ("failed" if is_full else "finished")
    assert not outcome.error or "ran full in window" in outcome.error.problem
    there = {path.name for path in RunDirectory(faked.out).windows.iterdir()}
    rows = [window_row(faked.out, each) for each in manifest(faked.out)["plan"]["windows"]
            if each in there]  # fmt: skip
    assert len(rows) == (1 if is_full else 4)
    assert sum(not row["complete"] for row in rows) == incomplete
    assert rows[0]["missing_because"].endswith(because)
    assert [rows[0][name] is not None for name in ("headline_per_min", "errors")] == [
        has_numbers
    ] * 2
    assert faked.engine.stops.count(True) == at_once
    assert left_by(faked.out, but_master=is_full) == []


def test_a_disk_that_is_filled_on_purpose_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An activity that expects it causes it anew in every window."""
    declared = plugins(DeclaredActivity)
    hammer = replace(declared["hammer"], expects=frozenset({"full"}))
    monkeypatch.setattr("stithy.activity.plugins", lambda _: {**declared, "hammer": hammer})
    faked = FakedRun(tmp_path, hammer=_gave_up(NO_ROOM, "53100"))
    assert faked.run().end == "finished"
    assert len(list(RunDirectory(faked.out).windows.iterdir())) == 4


def _burst() -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize(("hammer", "because"), [
    (FakeHammer({"prepare": FAULT}), "somewhere: the drive is gone"),
    (FakeHammer(broken=True), "conditions 1 do not hold after loading"),
    (FakeHammer(before_run=_burst), "a bug in Stithy"),
])  # fmt: skip
def test_a_run_that_must_end_leaves_nothing(
    hammer: FakeHammer, because: str, tmp_path: Path
) -> None:
    """The manifest and the journal say how it ended; a bug is not hidden."""
    faked = FakedRun(tmp_path, hammer=hammer)
    if "bug" in because:
        with pytest.raises(ZeroDivisionError):
            faked.run()
    else:
        assert faked.run().end == "failed"
        assert len(entries(faked.out, "step-failed")) == 1
        assert not RunDirectory(faked.out).windows.exists()
    assert manifest(faked.out)["end"] == "failed"
    assert because in manifest(faked.out)["end_because"]
    assert left_by(faked.out) == []
    assert not (tmp_path / "a").exists()


def test_a_second_signal_ends_the_run_at_once(tmp_path: Path) -> None:
    """The master copy stays. tests/unmeasured presses Ctrl-C once, and closes the terminal."""
    faked = FakedRun(tmp_path)

    def press(shown: events.Event) -> None:
        if isinstance(shown, events.StepStarted) and shown.step.kind == "restore":
            faked.stop.signal()
            faked.stop.signal()

    faked.on_event = press
    outcome = faked.run()
    assert (outcome.end, outcome.error and outcome.error.exit) == ("interrupted", 130)
    left = left_by(faked.out, but_master=True)
    assert [*entries(faked.out, "step-started", kind="restore"), *left] == []


def test_what_a_person_puts_into_a_candidates_place_is_never_removed(tmp_path: Path) -> None:
    """It stays, and the run ends with an error. tests/unmeasured has what is refused before."""
    faked, mine = FakedRun(tmp_path, users=(1,)), tmp_path / "a/mine"

    def put(shown: events.Event) -> None:
        if isinstance(shown, events.StepStarted) and shown.step.id == "tear-down-a":
            mine.touch()

    faked.on_event = put
    outcome = faked.run()
    assert isinstance(outcome.error, InfrastructureError)
    assert [left.resource.kind for left in outcome.left] == ["directory"]
    assert list(mine.parent.iterdir()) == [mine]


def test_instances_are_kept_until_they_are_cleaned(tmp_path: Path) -> None:
    """A URL for each candidate, without a password, which its user alone may read."""
    faked = FakedRun(tmp_path, users=(1,))
    outcome = execute(faked.start(), keep=True)
    assert sorted(outcome.kept) == ["a", "b"]
    for url in outcome.kept.values():
        assert "secret" not in url
        passfile = Path(url.rpartition("passfile=")[2])
        assert passfile.read_text() == "*:*:*:*:secret\n"
        assert passfile.stat().st_mode & 0o777 == 0o600
    [cleaned] = clean()
    assert (cleaned.left, left_by(faked.out)) == ((), [])
