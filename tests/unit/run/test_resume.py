"""A run that was cut off goes on where it ended, or is refused; what its journal tells of it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fakes.hammer import FakeHammer
from stithy.errors import Exit, InfrastructureError, PreconditionError, Refused, UserError
from stithy.results.layout import RunDirectory
from stithy.run.events import Event, StepFinished, StepStarted
from stithy.run.resume import resume_run
from stithy.run.session import Stop
from stithy.storage.providers.path import DirectoryStorage
from support.faked_run import FakedRun
from support.running import entries, left_by, manifest, window_row

pytestmark = pytest.mark.usefixtures("own_state")


def _windows(out: Path) -> list[str]:
    return sorted(path.parent.name for path in out.glob("windows/*/window.parquet"))


def interrupted(root: Path, number: int = 1, **more: Any) -> FakedRun:
    """A run that a person stopped in the window with this number."""
    faked = FakedRun(root, **more)
    seen: list[Event] = []

    def stop(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step.kind == "window":
            seen.append(event)
            if len(seen) == number:
                faked.stop.signal()

    faked.on_event = stop
    assert faked.run().end == "interrupted"
    faked.stop, faked.on_event = Stop(), lambda event: None
    return faked


def test_it_ends_with_the_windows_of_the_plan(tmp_path: Path) -> None:
    """What was measured and found is kept to the byte; a window whose row is gone is made anew.

    tests/unmeasured kills and resumes at every kind of line of the journal.
    """
    own = {"b": "memory: 256 MiB, settings: {shared_buffers: 48MB}"}
    faked = interrupted(tmp_path, 3, load={"calibrate": "true"}, keys=own)
    first = manifest(faked.out)
    lost = RunDirectory(faked.out).window(first["plan"]["windows"][1]).root
    (lost / "window.parquet").unlink()
    tables = [*faked.out.glob("windows/*/*.parquet"), faked.out / "tables/baseline.parquet"]
    kept = {path: path.read_bytes() for path in tables if path.parent != lost}
    assert len(_windows(faked.out)) == 2
    assert (faked.resume().end, left_by(faked.out)) == ("finished", [])
    now = manifest(faked.out)
    assert _windows(faked.out) == sorted(now["plan"]["windows"])
    assert {path: path.read_bytes() for path in kept} == kept
    assert (len(faked.hammer.runs), len(faked.hammer.calibrated)) == (5, 1)
    # Ctrl-C costs no more than a kill.
    assert len(entries(faked.out, "step-started", kind="prepare")) == 1
    assert [each["end"] for each in now["sessions"]] == ["interrupted", "finished"]
    for same in ("started_at_s", "comparability_key", "database", "memory", "seed", "calibration"):
        assert now[same] == first[same], same
    in_force = [
        [each["effective_settings"] for each in known["candidates"]] for known in (first, now)
    ]
    assert in_force == 2 * [[{"shared_buffers": "1MB"}, {"shared_buffers": "48MB"}]]
    with pytest.raises(PreconditionError, match="ended well"):
        faked.resume()


ALIKE = ("rand_read", "rand-read", "randread", "RandRead")


def test_alike_points_are_all_measured(tmp_path: Path) -> None:
    """Each once, also where the run was cut off between them: none is taken for another."""
    vary = f"{{database.settings.cluster_name: [{', '.join(ALIKE)}]}}"
    faked = interrupted(tmp_path, 5, users=(1,), vary=vary)
    assert (faked.resume().end, len(faked.hammer.runs)) == ("finished", 8)
    rows = pl.concat(map(pl.read_parquet, faked.out.glob("windows/*/window.parquet")))
    points = {f"users=1, database.settings.cluster_name={value}" for value in ALIKE}
    assert set(rows.select("candidate", "point").iter_rows()) == {
        (name, point) for name in "ab" for point in points
    }
    assert sorted(rows["window_id"]) == sorted(manifest(faked.out)["plan"]["windows"])


def test_a_window_without_a_row_fails_the_run(tmp_path: Path) -> None:
    """Whatever took its file while the run went on: nobody takes the rest for the whole."""
    faked = FakedRun(tmp_path, users=(1, 2))

    def lose(event: Event) -> None:
        if isinstance(event, StepFinished) and event.step.id == "w-a-u1-b0":
            (RunDirectory(faked.out).window(event.step.id).root / "window.parquet").unlink()

    faked.on_event = lose
    outcome = faked.run()
    assert outcome.error is not None
    assert (outcome.end, outcome.error.exit) == ("failed", Exit.INFRASTRUCTURE)
    assert "1 of 4 planned windows without a row, such as w-a-u1-b0" in outcome.error.problem
    faked.on_event = lambda event: None
    assert (faked.resume().end, len(_windows(faked.out))) == ("finished", 4)


def test_a_window_that_a_person_cut_short_is_measured_again(tmp_path: Path) -> None:
    """What was written of it is kept out of the way; its baseline check is made anew."""
    faked = FakedRun(tmp_path, users=(1,))
    faked.hammer = FakeHammer(complete=False, before_run=lambda: faked.stop.signal())
    assert faked.run().end == "interrupted"
    [cut] = _windows(faked.out)
    assert not window_row(faked.out, cut)["complete"]
    faked.hammer, faked.stop = FakeHammer(), Stop()
    faked.resume()
    assert window_row(faked.out, cut)["complete"]
    assert (RunDirectory(faked.out).cut_off(1, cut) / "window.parquet").exists()
    checks = pl.read_parquet(faked.out / "tables/baseline.parquet")
    assert len(checks) == len(faked.hammer.baselines) == 1


def test_what_failed_or_meets_a_persons_files_goes_on_once_that_is_mended(tmp_path: Path) -> None:
    """Files in a candidate's place end the session alone, and are not touched."""
    gone = InfrastructureError("the drive is gone", where="somewhere", remedy="none")
    faked = FakedRun(tmp_path, users=(1,), hammer=FakeHammer({"prepare": gone}))
    assert faked.run().end == "failed"
    faked.hammer, precious = FakeHammer(), tmp_path / "a/precious.txt"
    precious.parent.mkdir()
    precious.touch()
    with pytest.raises(PreconditionError):
        faked.resume()
    assert list(precious.parent.iterdir()) == [precious]
    precious.unlink()
    faked.hammer = FakeHammer(before_run=faked.stop.signal)
    assert faked.resume().end == "interrupted"
    faked.hammer, faked.stop = FakeHammer(), Stop()
    precious.touch()
    with pytest.raises(PreconditionError):
        faked.resume()
    precious.unlink()
    assert faked.resume().end == "finished"
    ends = [each["end"] for each in manifest(faked.out)["sessions"]]
    assert ends == ["failed", "failed", "interrupted", "failed", "finished"]
    assert len(_windows(faked.out)) == 2
    # A session that could not begin costs nothing that an earlier one has made.
    assert len(entries(faked.out, "step-started", kind="prepare")) == 2


@contextmanager
def _rewritten(path: Path, old: str, new: str) -> Iterator[None]:
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new))
    yield
    path.write_text(before)


@contextmanager
def _other_hammer(faked: FakedRun) -> Iterator[None]:
    faked.hammer_version = "hammer 1.fake"
    yield
    faked.hammer_version = "hammer 0.fake"


def _other_storage(faked: FakedRun) -> Any:
    before = entries(faked.out, "run-started")[0].facts["machine"]["storage of a"]
    key = '"storage of a": "'
    return _rewritten(RunDirectory(faked.out).journal, f"{key}{before}", f"{key}FAST 1000")


LEVELS = "[1, 2]", "[1, 2, 3]"
REFUSED: dict[str, tuple[str, Callable[[FakedRun], Any]]] = {
    "another session resumes it": (
        "by another process", lambda f: resume_run(f.out, Stop(), lambda _: None, tools=f.tools)
    ),
    "its own copy of the study was changed": (
        "own copy", lambda f: _rewritten(RunDirectory(f.out).study, *LEVELS)
    ),
    "the study was changed": (
        "study.yaml", lambda f: _rewritten(f.root / "study.yaml", *LEVELS)
    ),
    "the driver was changed": ("hammer: hammer 0.fake before, hammer 1.fake now", _other_hammer),
    "a mount is missing": ("storage of a: FAST 1000 before, ", _other_storage),
}  # fmt: skip
NEVER = [*REFUSED][:2]


def test_what_must_not_go_on_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    """What has changed may be insisted on: the study that was begun is measured, and said."""
    faked = interrupted(tmp_path)
    book = RunDirectory(faked.out).journal
    for case, (problem, change) in REFUSED.items():
        with change(faked):
            before = book.read_bytes()
            with pytest.raises(PreconditionError, match=problem):
                faked.resume(force=case in NEVER)
            assert book.read_bytes() == before, case
    may = [each for case, each in REFUSED.items() if case not in NEVER]
    with ExitStack() as changed:
        for _, change in may:
            changed.enter_context(change(faked))
        assert faked.resume(force=True).end == "finished"
        shown = " ".join(manifest(faked.out)["sessions"][-1]["changed"])
    assert [problem for problem, _ in may if problem not in shown] == []
    assert len(_windows(faked.out)) == 4


def test_storage_that_does_not_answer_is_not_called_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says itself what to do, once for each candidate."""
    faked = interrupted(tmp_path)

    def down(provider: DirectoryStorage) -> None:
        raise PreconditionError("no answer", where=str(provider.place()), remedy="start it")

    with monkeypatch.context() as patched:
        patched.setattr(DirectoryStorage, "describe_identity", lambda _: None)
        patched.setattr(DirectoryStorage, "check", down)
        with pytest.raises(Refused) as refused:
            faked.resume()
    assert {part.remedy for part in refused.value.parts()} == {"start it"}
    assert faked.resume().end == "finished"


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    """With what it lacks; it is not guessed whose run it was, and nothing is made there."""
    book = tmp_path / "out/journal.jsonl"
    begun = '{"sequence": 0, "at_s": 1, "monotonic_s": 1, "event": "run-started", "facts": {}}\n'
    with pytest.raises(UserError, match="no such directory"):
        FakedRun(tmp_path).resume()
    book.parent.mkdir()
    for text, error, problem in (
        (None, UserError, "it has no journal"),
        ('{"sequence": 0, "at', UserError, "before it began"),
        (begun, PreconditionError, "lacks entries that resuming needs"),
    ):
        if text is not None:
            book.write_text(text)
        with pytest.raises(error, match=problem):
            FakedRun(tmp_path).resume()
    assert list(tmp_path.rglob("*")) == [book.parent, book]


@pytest.mark.parametrize(("names", "problem"), [
    (("study.yaml",), "before it began"),
    (("study.yaml", "journal.jsonl", "sensitivity/"), "before it began"),
    (("study.yaml", "notes.txt"), "it has no journal"),
    (("study.yaml", "sensitivity/against-nvme/"), "it has no journal"),
    (("journal.jsonl", "windows/w-disk-u4-b0/"), "no run begins in its journal"),
])  # fmt: skip
def test_nobody_is_told_to_remove_a_folder_of_their_own(
    names: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    """A study alone may be a person's, and with anything else in its folder it is no run's."""
    for name in names:
        path = tmp_path / "out" / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.touch()
    with pytest.raises(UserError, match=problem) as refused:
        FakedRun(tmp_path).resume()
    assert "remove" not in refused.value.remedy
