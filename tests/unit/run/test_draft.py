"""A new study for a machine: what it offers, as far as it fits."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.machine import FACTS, TEXTS, FakeMachine, place
from stithy.drives.profiles import catalogue
from stithy.errors import PreconditionError
from stithy.needs import Judgement, Machine
from stithy.plan.steps import Plan
from stithy.run.preparation.draft import (
    DRIVES,
    Drafted,
    Wishes,
    check_here,
    directory,
    draft,
    drive,
    offered_drives,
    offered_memory,
    offered_places,
)
from stithy.study.load import parse_study
from stithy.study.model import Study


def here(name: str) -> Judgement:
    """An engine that is there."""
    return Judgement(name, "there", "15.1")


def anything(_study: Study, _plan: Plan) -> None:
    """Everything fits."""


def drafted(machine: Machine | None = None, wishes: Wishes | None = None) -> Drafted:
    """A new study where everything fits."""
    return draft(machine or FakeMachine(), wishes or Wishes(), ask_engine=here, check=anything)


def names(found: Drafted) -> list[str]:
    """Its candidates."""
    return list(found.study.candidates)


def test_several_file_systems_are_compared_with_each_other() -> None:
    """And drives stand beside them as comments."""
    places = (place("/a/stithy", 90), place("/b/stithy", 80, device="sdb"))
    found = drafted(FakeMachine(open_places=places))
    assert names(found) == ["a", "b"]
    assert "# generic-sata: {drive: generic-sata}" in found.text


def test_a_single_file_system_gets_a_drive_beside_it_or_memory() -> None:
    """A study compares."""
    assert names(drafted()) == ["var-tmp", "generic-nvme"]
    assert names(drafted(FakeMachine(is_root=False))) == ["var-tmp", "memory"]


def test_what_is_asked_for_is_what_is_compared() -> None:
    """And nothing else."""
    wishes = Wishes(paths=(Path("/x/one"),), drives=("gp3", "gp3"), warehouses=7)
    found = drafted(wishes=wishes)
    assert names(found) == ["one", "gp3", "gp3-2"]
    assert found.study.workload.warehouses == 7


def test_the_database_is_three_times_what_the_server_keeps_in_memory() -> None:
    """Else its storage is never read."""
    found = drafted()
    assert found.study.workload.warehouses == 20
    assert 2.5 < found.plan.database_bytes / found.study.database.memory_bytes < 6


def test_a_short_study_is_small() -> None:
    """It takes minutes."""
    found = drafted(wishes=Wishes(short=True)).study
    assert found.workload.warehouses == 5
    assert (found.load.ramp_up_s, found.load.duration_s) == (5, 15)
    assert len(found.load.users) == 2


def test_users_grow_with_the_cpus() -> None:
    """Up to where one driver does well."""
    wishes = Wishes(paths=(Path("/x"),))
    for cpus, users in ((1, (1, 2, 4)), (2, (1, 4, 8)), (512, (1, 256))):
        machine = FakeMachine(facts=FACTS | {"cpus": cpus})
        assert drafted(machine, wishes).study.load.users == users


def test_emulated_drives_leave_cpus_for_fewer_users() -> None:
    """They share them."""
    assert drafted(FakeMachine(facts=FACTS | {"cpus": 2})).study.load.users == (1, 2, 4)


def test_the_largest_database_that_fits_is_taken() -> None:
    """Smaller ones are tried until one does."""

    def up_to_two(study: Study, _plan: Plan) -> None:
        if study.workload.warehouses > 2:
            raise PreconditionError("too large", where="here", remedy="use less")

    found = draft(FakeMachine(), Wishes(), ask_engine=here, check=up_to_two)
    assert found.study.workload.warehouses == 2


def test_less_is_compared_where_not_everything_fits() -> None:
    """Better one candidate than none."""

    def one(study: Study, _plan: Plan) -> None:
        if len(study.candidates) > 1:
            raise PreconditionError("too much", where="here", remedy="use less")

    assert names(draft(FakeMachine(), Wishes(), ask_engine=here, check=one)) == ["var-tmp"]


def test_nothing_that_fits_is_refused_with_the_reason() -> None:
    """The check's own."""

    def never(_study: Study, _plan: Plan) -> None:
        raise PreconditionError("no room", where="here", remedy="make room")

    with pytest.raises(PreconditionError, match="no room"):
        draft(FakeMachine(), Wishes(), ask_engine=here, check=never)


def test_the_reason_told_is_that_of_what_was_wanted_most() -> None:
    """Not that of what was tried in its place."""

    def never(study: Study, _plan: Plan) -> None:
        raise PreconditionError(f"no room for {' '.join(study.candidates)}", where="x", remedy="y")

    with pytest.raises(PreconditionError, match="no room for var-tmp generic-nvme"):
        draft(FakeMachine(), Wishes(), ask_engine=here, check=never)


def test_a_machine_without_any_place_is_refused_with_the_remedy() -> None:
    """There is nothing to try."""
    bare = FakeMachine(open_places=(), is_root=False)
    with pytest.raises(PreconditionError) as caught:
        draft(bare, Wishes(), ask_engine=here, check=anything)
    assert "--path" in caught.value.remedy


def test_without_an_engine_there_is_no_study() -> None:
    """The engine's own remedy is told."""

    def gone(name: str) -> Judgement:
        return Judgement(name, "missing", "no programs", "apt-get install it")

    with pytest.raises(PreconditionError) as caught:
        draft(FakeMachine(), Wishes(), ask_engine=gone, check=anything)
    assert caught.value.problem == "postgresql: no programs"
    assert caught.value.remedy == "apt-get install it"


def test_half_of_what_is_free_is_left_to_others(disk_place: Path) -> None:
    """A study that takes more than that of the memory is refused."""
    wishes = Wishes(paths=(disk_place / "stithy",), warehouses=1)
    found = draft(FakeMachine(), wishes, ask_engine=here, check=anything)
    check_here(FakeMachine(), found.study, found.plan)
    small = TEXTS | {"/proc/meminfo": "MemAvailable: 409600 kB"}
    with pytest.raises(PreconditionError, match="more than half"):
        check_here(FakeMachine(texts=small), found.study, found.plan)


def test_a_directory_that_may_not_be_used_is_refused(disk_place: Path) -> None:
    """As the run would refuse it."""
    (disk_place / "photo.jpg").touch()
    with pytest.raises(PreconditionError, match="photo"):
        draft(FakeMachine(), Wishes(paths=(disk_place,), warehouses=1), ask_engine=here)


def test_places_are_named_after_their_mounts() -> None:
    """The root's is the system's; names are unique."""
    root = replace(place("/var/tmp/stithy", 9), mount_point=Path("/"))
    twice = [place("/Data 1/stithy", 5), place("/data.1/stithy", 4)]
    found = offered_places(FakeMachine(open_places=(root, *twice)))
    assert [each.name for each in found] == ["system", "data-1", "data-1-2"]
    assert found[0].lines == {"path": "/var/tmp/stithy"}
    assert found[0].note == "ext4 on vda, 9 GiB free"


def test_memory_is_offered_apart() -> None:
    """It is no storage that survives."""
    machine = FakeMachine()
    assert [each.name for each in offered_memory(machine)] == ["memory"]
    assert "memory" not in [each.name for each in offered_places(machine)]


def test_drives_are_offered_where_they_can_be_had() -> None:
    """Not without rights."""
    assert [each.name for each in offered_drives(FakeMachine())] == list(DRIVES)
    assert offered_drives(FakeMachine(is_root=False)) == []


@pytest.mark.needs_drive
def test_drives_that_are_offered_are_shipped() -> None:
    """Under these names."""
    assert set(DRIVES) <= {each.facts.name for each in catalogue().profiles}


@pytest.mark.parametrize(
    "path", ["/a/true", "/a/7200", "/a/---", "/", f"/a/{'x' * 200}", "/a/Ä", "/a/a b"]
)
def test_a_directory_gives_a_name_that_a_study_takes(path: str) -> None:
    """Whatever it is called."""
    name = directory(Path(path), ["at"]).name
    text = f"""study: q?
candidates:
  {name}: {{path: /x}}
database: {{engine: postgresql, memory: 1 GiB}}
workload: {{name: order-entry, warehouses: 1}}
load: {{users: [1], duration: 1 s}}
"""
    assert list(parse_study("s", text.encode()).candidates) == [name]


def test_a_profile_file_gives_its_name() -> None:
    """And the path stays as it was given."""
    option = drive("./drives/Mine.toml")
    assert (option.name, option.lines) == ("mine", {"drive": "./drives/Mine.toml"})
