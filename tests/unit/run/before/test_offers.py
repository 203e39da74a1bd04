"""What a machine offers to a study, in the words of the study file."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.machine import FakeMachine, place
from stithy.drives.profiles import catalogue
from stithy.run.before.offers import (
    DRIVES,
    directory,
    drive,
    offered_drives,
    offered_memory,
    offered_places,
)
from stithy.study.load import parse_study


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
