"""A run that asks `analysis` measures blocks with invalid windows once more, and no others."""

from pathlib import Path
from typing import Any

import pytest

from fakes.engine import FakeEngine
from fakes.hammer import FakeHammer
from stithy.cli.running.advisers import advisers, invalid
from stithy.cli.running.looking import look
from stithy.errors import InfrastructureError
from stithy.metrics import NOPM
from stithy.report.context import context_of
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.executor import execute
from support.faked_run import FakedRun
from support.running import entries, manifest
from support.sample_run import Shape, build_run


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def failing(*numbers: int) -> FakeHammer:
    """A hammer whose windows are valid, but for those with these numbers, in which it dies."""
    hammer = FakeHammer(sound=True)
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        if len(calls) in numbers:
            raise InfrastructureError("the hammer died", where="window", remedy="none")

    hammer.before_run = fail
    return hammer


def again(faked: FakedRun) -> list[str]:
    """The windows that were measured beside those of the plan."""
    found: list[str] = manifest(faked.out)["plan"]["further"]
    return found


def test_valid_blocks_are_measured_once(tmp_path: Path) -> None:
    """Nothing is added, and nobody is told of it."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), advisers=advisers())
    faked.run()
    assert again(faked) == []


def test_a_window_without_numbers_is_invalid(tmp_path: Path) -> None:
    """Its block is measured again, and then the question is answered by as many blocks as ever."""
    faked = FakedRun(tmp_path, users=(2,), hammer=failing(3), load={"repeat": ""})
    assert execute(faked.start(), judge=look, advisers=advisers()).end == "finished"
    assert sorted(again(faked)) == ["w-a-u2-b1-again", "w-b-u2-b1-again"]
    [added] = entries(faked.out, "windows-added")
    assert "(no numbers)" in added.facts["because"]
    evidence = context_of(read_run(faked.out)).evidence
    assert evidence.effect("a", "b", 2, NOPM).pairs == 4
    assert len(evidence.windows) == 10
    [looked] = entries(faked.out, "looked")
    assert looked.facts["blocks"] == 4


def test_a_server_that_ended_by_itself_makes_its_window_invalid(tmp_path: Path) -> None:
    """For want of memory, for example; if it ends again that is told, and not tried once more."""
    engine = FakeEngine(ended_starts=frozenset({3, 5}))
    hammer = FakeHammer(sound=True)

    def lose() -> None:
        if len(engine.starts) in (3, 5):
            raise InfrastructureError("connection lost", where="hammer", remedy="none")

    hammer.before_run = lose
    faked = FakedRun(tmp_path, users=(1,), engine=engine, hammer=hammer, advisers=advisers())
    assert faked.run().end == "finished"
    assert sorted(again(faked)) == ["w-a-u1-b0-again", "w-b-u1-b0-again"]
    windows = {each.id: each for each in context_of(read_run(faked.out)).evidence.windows}
    assert "ended by SIGKILL" in windows["w-b-u1-b0-again"].row["missing_because"]


def test_a_run_that_a_person_stops_measures_nothing_again(tmp_path: Path) -> None:
    """The window that was cut short is left for `stithy resume`."""
    faked = FakedRun(tmp_path, users=(1,), advisers=advisers())
    faked.hammer = FakeHammer(complete=False, before_run=lambda: faked.stop.signal())
    assert faked.run().end == "interrupted"
    assert again(faked) == []


def test_a_full_disk_ends_the_run(tmp_path: Path) -> None:
    """Every window would meet it."""
    faked = FakedRun(tmp_path, users=(1,), advisers=advisers())

    def fill() -> None:
        log = RunDirectory(faked.out).window("w-b-u1-b0").server_log
        log.write_text("PANIC: could not write to file: No space left on device\n")

    faked.hammer = FakeHammer(before_run=fill)
    assert faked.run().end == "failed"
    assert again(faked) == []


def test_unsteady_windows_are_valid(tmp_path: Path) -> None:
    """A stall is the storage's doing; what is merely noted is valid, too."""
    late, other = "w-disk-u4-b0", "w-memory-u4-b0"
    notes: dict[str, Any] = {"memory_limit_enforced": False, "checkpoints_inside": 0}
    changes: dict[str, dict[str, Any]] = {late: {"lateness_p99_s": 1.0}, other: notes}
    build_run(tmp_path, Shape(users=(4,), changes=changes))
    found = invalid(RunDirectory(tmp_path), [late, other, "w-none-u4-b0"])
    assert found == {late: "driver late"}
    assert invalid(RunDirectory(tmp_path), [other]) == {}
