"""What works on a machine, and what is missing for the rest."""

from pathlib import Path

import pytest

from conftest import ROOT
from fakes.machine import PROGRAMS, TEXTS, FakeMachine
from stithy.errors import PreconditionError
from stithy.needs import Judgement
from stithy.plan.cost import memory_bytes
from stithy.plan.expand import expand
from stithy.registry import plugins
from stithy.run.preparation import doctor
from stithy.run.preparation.doctor import DEMO_MEMORY_BYTES, Examination, Part, engine_here, examine
from stithy.study.load import read_study


def has_engine(name: str) -> Judgement:
    """An engine that is there."""
    return Judgement(name, "there", "15.1 in /usr/bin")


def lacks_engine(name: str) -> Judgement:
    """One that is not."""
    return Judgement(name, "missing", "no server programs", "apt-get install it")


def part(found: Examination, family: str, name: str) -> Part:
    """One part by its name."""
    return next(each for each in found.parts if (each.family, each.name) == (family, name))


def test_on_a_good_machine_everything_works(tmp_path: Path) -> None:
    """Every plug-in is told of, and nothing keeps the demo from running."""
    found = examine(FakeMachine(), {}, ask_engine=has_engine, here=tmp_path)
    assert found.demo_lacks == ()
    assert all(each.works for each in found.parts)
    for family in (*doctor.FAMILIES, "engine"):
        told = [each.name for each in found.parts if each.family == family]
        assert told == list(plugins(family))


def test_without_rights_directories_can_still_be_compared(tmp_path: Path) -> None:
    """A lack is told of the parts that have it, and of no others."""
    machine = FakeMachine(is_root=False, no_memory_limit="none can be made")
    found = examine(machine, {}, ask_engine=has_engine, here=tmp_path)
    assert part(found, "provider", "path").works
    assert part(found, "scenario", "load").works
    assert not part(found, "provider", "drive").works
    assert not part(found, "collector", "cgroup").works
    assert [each.what for each in found.demo_lacks] == ["root"]


def test_what_a_part_can_do_without_does_not_stop_it(tmp_path: Path) -> None:
    """XFS is one of several file systems."""
    programs = {name: told for name, told in PROGRAMS.items() if "xfs" not in name}
    found = examine(FakeMachine(programs=programs), {}, ask_engine=has_engine, here=tmp_path)
    drive = part(found, "provider", "drive")
    assert drive.works
    assert found.demo_lacks == ()
    lacking = [each.judgement for each in drive.needs if each.judgement.state == "missing"]
    assert [each.what for each in lacking] == ["mkfs.xfs", "xfs_repair"]


def test_a_missing_engine_keeps_the_demo_from_running(tmp_path: Path) -> None:
    """As its own check says it."""
    found = examine(FakeMachine(), {}, ask_engine=lacks_engine, here=tmp_path)
    assert found.demo_lacks == (lacks_engine("postgresql"),)
    assert not part(found, "engine", "postgresql").works


def test_too_little_memory_or_no_place_for_results_is_told(tmp_path: Path) -> None:
    """Both are needed by no part and yet by the demo."""
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o400)
    small = TEXTS | {"/proc/meminfo": "MemTotal: 4194304 kB\nMemAvailable: 2097152 kB"}
    found = examine(FakeMachine(texts=small), {}, ask_engine=has_engine, here=file)
    assert [each.what for each in found.demo_lacks] == ["memory", "results"]


def test_the_demo_fits_the_memory_that_is_asked_for_it() -> None:
    """Its plan says how much that is, images of drives included."""
    plan = expand(read_study(ROOT / "studies/demo.yaml").study)
    assert memory_bytes(plan) <= DEMO_MEMORY_BYTES


def test_a_command_is_judged_like_a_part(tmp_path: Path) -> None:
    """By the needs that it names itself."""
    from stithy.drives.measure import FIO

    commands = {"drive profile": (FIO,)}
    bare = FakeMachine(programs={})
    for machine, works in ((FakeMachine(), True), (bare, False)):
        found = examine(machine, commands, ask_engine=has_engine, here=tmp_path)
        assert part(found, "command", "drive profile").works is works


def test_an_engine_is_asked_by_its_own_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it raises is what is missing, and its remedy the remedy."""

    def nobody() -> None:
        raise PreconditionError("nobody is there", where="users", remedy="make one")

    monkeypatch.setattr(doctor, "server_user", nobody)
    assert engine_here("postgresql") == Judgement(
        "postgresql", "missing", "users: nobody is there", "make one"
    )


@pytest.mark.needs_postgresql
def test_a_server_that_is_here_is_told_with_its_version() -> None:
    """And with the place of its programs."""
    assert engine_here("postgresql").state == "there"
