"""Roles on sources of several kinds: provided together, asked one by one."""

from pathlib import Path

import pytest

from stithy.hosts.runner import LocalRunner
from stithy.plan.expand import set_aside, sum_image_bytes
from stithy.run.books import Resource
from stithy.run.cleaning import clean_up
from stithy.storage.provider import ROLES, Site
from stithy.storage.several import SeveralSources, create_storage
from stithy.study.candidates import is_emulated, name_drives, read_candidate
from support.studies import problems, study_text

NEEDED = {"data": 10**9, "log": 10**8, "temp": 10**7, "backup": 10**9}


def _site(place: Path) -> Site:
    return Site(LocalRunner(), dict.fromkeys(ROLES, 10**6), place, dict.fromkeys(ROLES, 1))


def test_each_role_lies_where_its_source_is(tmp_path: Path) -> None:
    """All volumes of a candidate are made, marked, asked for their space, and removed."""
    value = {
        "path": str(tmp_path / "data"),
        "roles": {"log": {"path": str(tmp_path / "log")}, "temp": {"path": str(tmp_path / "temp")}},
    }
    sources = {
        role: (each.provider, each.spec) for role, each in read_candidate(value).sources.items()
    }
    provider = create_storage(sources, "a", _site(tmp_path))
    assert isinstance(provider, SeveralSources)
    provider.check()
    assert [room.takes_bytes for room in provider.list_rooms()] == [None, 10**6, 10**6]
    made: list[Resource] = []
    volume = provider.provision(
        "r1", lambda kind, facts: made.append(Resource(len(made), kind, facts))
    )
    assert {role: part.path for role, part in volume.by_role.items()} == {
        role: tmp_path / role for role in ("data", "log", "temp")
    }
    (volume.get_part("log").path / "segment").write_bytes(b"x" * 5000)
    assert provider.measure_space(volume.get_part("log")).logical_bytes > 5000
    assert volume.get_part("backup") is volume
    (volume.get_part("log").path / "segment").unlink()
    provider.release()
    assert clean_up("r1", made, lambda number: None, everything=False) == []
    assert list(tmp_path.iterdir()) == []


def test_drives_of_roles_are_named_and_counted_by_role() -> None:
    """A constant log on a mirror while the data vary, as test reports have it."""
    mirror = {"array": {"drives": 2, "drive": "generic-15k", "level": "raid1", "size": "1 GiB"}}
    candidate = read_candidate({"path": "/var/tmp/a", "roles": {"log": mirror}})
    assert name_drives(candidate) == ("log-1", "log-2")
    assert is_emulated(candidate)
    assert sum_image_bytes(candidate, NEEDED) == 2 * 2**30
    found = set_aside(candidate, NEEDED)
    assert found["data"].provisioned_bytes is None
    assert (found["log"].provisioned_bytes, found["log"].redundancy) == (2 * 2**30, 2.0)
    together = read_candidate({"drive": "io2", "roles": {"log": {"drive": "gp3", "size": "1 GiB"}}})
    assert name_drives(together) == ("data", "log")


@pytest.mark.parametrize(("roles", "shown"), [
    ("{log: {path: /var/tmp/stithy}}", "two roles on the same storage"),
    ("{log: {bucket: s3}}", "a source without a provider"),
    ("{log: {array: {drives: 1, drive: a}}}", "too few devices for it"),
    ("{log: {drive: a, cost: 7 EUR}}", "unknown key"),
    ("{wal: {drive: a}}", "wal"),
])  # fmt: skip
def test_sources_of_roles_are_read_as_those_of_candidates(roles: str, shown: str) -> None:
    """Each problem at its key; what belongs to the candidate is not the source's."""
    plain = "disk: {path: /var/tmp/stithy"
    [problem] = problems(study_text((f"{plain}}}", f"{plain}, roles: {roles}}}")))
    assert shown in str(problem)
