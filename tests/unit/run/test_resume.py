"""A run that was cut off goes on, or is refused."""

import os
from pathlib import Path

import polars as pl
import pytest

from fakes.hammer import FakeHammer
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.hosts.processes import identity_of
from stithy.results.layout import RunDirectory
from stithy.run.cleanup.handlers import clean
from stithy.run.events import Event, StepStarted
from stithy.run.journal import Journal
from stithy.run.resuming.resume import resumed_run
from stithy.run.stop import Stop
from support.faked_run import FakedRun
from support.running import entries, left_by, manifest, window_row


def windows(out: Path) -> list[str]:
    """Ids of the windows that have a row."""
    return sorted(path.parent.name for path in out.glob("windows/*/window.parquet"))


def interrupted_at(root: Path, kind: str, number: int = 1) -> FakedRun:
    """A run that a person stopped in the step of this kind with this number."""
    faked = FakedRun(root)
    seen: list[Event] = []

    def stop(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step.kind == kind:
            seen.append(event)
            if len(seen) == number:
                faked.stop.signal()

    faked.on_event = stop
    assert faked.run().end == "interrupted"
    faked.stop, faked.on_event = Stop(), lambda event: None
    return faked


def test_it_ends_with_the_windows_of_the_plan(tmp_path: Path) -> None:
    """Those that were measured are kept to the byte, the others are measured."""
    faked = interrupted_at(tmp_path, "window", 2)
    kept = {path: path.read_bytes() for path in faked.out.glob("windows/*/*.parquet")}
    assert len(windows(faked.out)) == 2
    outcome = faked.resume()
    assert (outcome.end, outcome.error, outcome.left) == ("finished", None, ())
    assert windows(faked.out) == sorted(manifest(faked.out)["plan"]["windows"])
    assert {path: path.read_bytes() for path in kept} == kept
    assert len(faked.hammer.runs) == 4
    assert pl.read_parquet(faked.out / "tables/restores.parquet")["window_id"].n_unique() == 4
    assert left_by(faked.out) == []
    assert list((tmp_path / "state/runs").iterdir()) == []


def test_the_manifest_keeps_the_sessions(tmp_path: Path) -> None:
    """How each ended; the run began with the first."""
    faked = interrupted_at(tmp_path, "window", 2)
    first = manifest(faked.out)
    faked.resume()
    now = manifest(faked.out)
    assert [each["end"] for each in now["sessions"]] == ["interrupted", "finished"]
    assert now["started_at_s"] == first["started_at_s"]
    assert now["end"] == "finished"
    for known in ("comparability_key", "database", "memory", "seed"):
        assert now[known] == first[known], known


def test_a_window_that_a_person_cut_short_is_measured_again(tmp_path: Path) -> None:
    """What was written of it is kept out of the way."""
    faked = FakedRun(tmp_path)
    faked.hammer = FakeHammer(complete=False, before_run=lambda: faked.stop.signal())
    assert faked.run().end == "interrupted"
    [cut] = windows(faked.out)
    assert not window_row(faked.out, cut)["complete"]
    faked.hammer, faked.stop = FakeHammer(), Stop()
    faked.resume()
    assert window_row(faked.out, cut)["complete"]
    assert (RunDirectory(faked.out).cut_off(1, cut) / "window.parquet").exists()


def test_a_run_that_failed_goes_on(tmp_path: Path) -> None:
    """From where it failed: here before anything was measured."""
    gone = InfrastructureError("the drive is gone", where="somewhere", remedy="none")
    faked = FakedRun(tmp_path, hammer=FakeHammer({"prepare": gone}))
    assert faked.run().end == "failed"
    faked.hammer = FakeHammer()
    assert faked.resume().end == "finished"
    assert len(windows(faked.out)) == 4


def test_the_driver_is_not_calibrated_twice(tmp_path: Path) -> None:
    """All windows are held against the same."""
    faked = FakedRun(tmp_path, load={"calibrate": "true"})
    faked.on_event = lambda event: (
        faked.stop.signal()
        if isinstance(event, StepStarted) and event.step.kind == "window"
        else None
    )
    faked.run()
    before = manifest(faked.out)["calibration"]
    faked.stop, faked.on_event = Stop(), lambda event: None
    faked.resume()
    assert len(faked.hammer.calibrated) == 1
    assert manifest(faked.out)["calibration"] == before


def test_a_cleaned_run_goes_on_too(tmp_path: Path) -> None:
    """It is the journal that knows what was done."""
    faked = interrupted_at(tmp_path, "window", 1)
    clean()
    assert faked.resume().end == "finished"


def test_a_run_that_ended_well_is_refused(tmp_path: Path) -> None:
    """And the report is pointed to."""
    faked = FakedRun(tmp_path)
    faked.run()
    with pytest.raises(PreconditionError) as raised:
        faked.resume()
    assert "ended well" in raised.value.problem
    assert "stithy report" in raised.value.remedy


def test_a_run_that_still_goes_on_is_refused(tmp_path: Path) -> None:
    """A process is known by boot, id and start, so one that got its id later does not count."""
    faked = interrupted_at(tmp_path, "window", 1)
    owner = identity_of(os.getppid())
    assert owner is not None
    again = {**entries(faked.out, "run-started")[0].facts, "owner": owner.facts()}
    write(faked, **again)
    with pytest.raises(PreconditionError) as raised:
        faked.resume()
    assert f"still active: process {owner.pid}" in raised.value.problem
    write(faked, **{**again, "owner": {**owner.facts(), "boot_id": "another"}})
    assert faked.resume().end == "finished"


def write(faked: FakedRun, **facts: object) -> None:
    """Begin a session in the journal."""
    journal = Journal(RunDirectory(faked.out).journal, faked.clock)
    journal.write("run-resumed", **facts)
    journal.close()


def test_nobody_resumes_what_is_being_resumed(tmp_path: Path) -> None:
    """Two sessions would clean each other away."""
    faked = interrupted_at(tmp_path, "window", 1)
    with resumed_run(faked.out, Stop(), lambda event: None, tools=faked.tools):
        with pytest.raises(PreconditionError) as raised:
            faked.resume()
        assert "another process" in raised.value.problem
    faked.resume()
    assert manifest(faked.out)["end"] == "finished", "the other has gone, and what it left as well"


def test_a_changed_machine_is_refused(tmp_path: Path) -> None:
    """Unless the person insists; then the manifest says what had changed."""
    faked = interrupted_at(tmp_path, "window", 1)
    faked.hammer_version = "hammer 1.fake"
    told = "hammer: hammer 0.fake before, hammer 1.fake now"
    with pytest.raises(PreconditionError) as raised:
        faked.resume()
    assert told in raised.value.problem
    assert len(entries(faked.out, "run-resumed")) == 0
    assert faked.resume(force=True).end == "finished"
    assert manifest(faked.out)["sessions"][-1]["changed"] == [told]


def test_a_changed_study_is_refused(tmp_path: Path) -> None:
    """Where the person insists, the study stays the one that was begun."""
    faked = interrupted_at(tmp_path, "window", 1)
    study = tmp_path / "study.yaml"
    study.write_text(study.read_text().replace("[1, 2]", "[1, 2, 3]"))
    with pytest.raises(PreconditionError) as raised:
        faked.resume()
    assert "study.yaml" in raised.value.problem
    assert faked.resume(force=True).end == "finished"
    assert len(windows(faked.out)) == 4


def test_a_changed_copy_of_the_study_is_always_refused(tmp_path: Path) -> None:
    """What was measured belongs to the study as it was."""
    faked = interrupted_at(tmp_path, "window", 1)
    copy = RunDirectory(faked.out).study
    copy.write_text(copy.read_text().replace("[1, 2]", "[1, 2, 3]"))
    with pytest.raises(PreconditionError) as raised:
        faked.resume(force=True)
    assert "own copy" in raised.value.problem


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    """Nothing is made there."""
    faked = FakedRun(tmp_path)
    with pytest.raises(UserError):
        faked.resume()
    assert list(tmp_path.iterdir()) == []


def test_a_candidate_that_cannot_be_used_ends_the_session_only(tmp_path: Path) -> None:
    """What a person put there meanwhile is not touched; afterwards the run goes on."""
    faked = interrupted_at(tmp_path, "window", 1)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/precious.txt").write_text("mine")
    with pytest.raises(PreconditionError):
        faked.resume()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["precious.txt"]
    assert list((tmp_path / "state/runs").iterdir()) == []
    (tmp_path / "a/precious.txt").unlink()
    assert faked.resume().end == "finished"
    ends = [each["end"] for each in manifest(faked.out)["sessions"]]
    assert ends == ["interrupted", "failed", "finished"]


def test_a_candidate_on_other_storage_is_refused(tmp_path: Path) -> None:
    """A mount that is missing after a reboot leaves a directory of another file system there."""
    faked = interrupted_at(tmp_path, "window", 1)
    [begun] = entries(faked.out, "run-started")
    was = begun.facts["machine"]["storage of a"]
    journal = RunDirectory(faked.out).journal
    other = f'"storage of a": "ext4 at {tmp_path} on FAST 1000 of 1 GiB"'
    journal.write_text(journal.read_text().replace(f'"storage of a": "{was}"', other))
    with pytest.raises(PreconditionError) as raised:
        faked.resume()
    assert f"storage of a: ext4 at {tmp_path} on FAST 1000 of 1 GiB before" in raised.value.problem
    assert f"{was} now" in raised.value.problem
