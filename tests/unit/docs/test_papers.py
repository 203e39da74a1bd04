"""Studies of published tests are scale models of what was published."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from stithy.study.load import read_study

MIB = 2**20


@pytest.fixture(scope="module")
def published(root: Path) -> dict[str, Any]:
    """What was published, and which study runs which test."""
    return tomllib.loads((root / "studies/papers/published.toml").read_text())


@pytest.mark.parametrize("number", range(5))
def test_users_are_as_published(root: Path, published: dict[str, Any], number: int) -> None:
    """Warehouses, memory at every point, and the drives of as many hosts as were published."""
    model = published["study"][number]
    study = read_study(root / "studies/papers" / model["file"]).study
    tests = [each for each in published["test"] if each["id"] in model["tests"]]
    asked = [{**each["parameters"], **each.get("probable", {})} for each in tests]
    assert len(tests) == len(model["tests"])
    users = {tuple(_listed(each["virtual_users"])) for each in asked if "virtual_users" in each}
    assert users <= {tuple(study.load.users)}
    assert {each["warehouses"] for each in asked} == {study.workload.units * model["divisor"]}
    divisor = model.get("memory_divisor", model["divisor"])
    wanted = {-(-each["ram_gb"] * 1024 // divisor) * MIB for each in asked}
    assert {study.at(point).database.memory_bytes for point in study.points} == wanted
    for candidate in study.candidates.values():
        spec: Any = candidate.spec
        # A data store is one profile; of single drives each cluster had nine.
        drives = 1 if spec.drive.endswith("-vsan") else 9
        assert round(model.get("drive_divisor", model["divisor"]) / spec.scale) == drives


def _listed(users: int | list[int]) -> list[int]:
    return [users] if isinstance(users, int) else users


def test_backups_have_the_published_cycles(root: Path, published: dict[str, Any]) -> None:
    """Those of one host; the paper had more of them at work alone than beside backups."""
    asked = {each["id"]: each["parameters"] for each in published["test"]}
    backup: Any = read_study(root / "studies/papers/test-4.yaml").study.scenario.spec
    assert {backup.cycles} == {asked["4a"]["cycles"], asked["4b"]["cycles"]}
    beside = read_study(root / "studies/papers/test-5.yaml").study
    neighbour: Any = beside.scenario.spec
    assert neighbour.cycles == asked["5c"]["backup_cycles"] == asked["5d"]["backup_cycles"]
    assert list(neighbour.instances) == [asked["5c"]["backup_vms_per_host"]]
    hosts = [asked[name]["oltp_vms_per_host"] for name in ("5a", "5b", "5c", "5d")]
    assert hosts == [3, 3, beside.instances, beside.instances]


def test_published_tests_have_studies(published: dict[str, Any]) -> None:
    """So that nothing of what was published is lost; a damaged number has its probable value."""
    ran = [name for each in published["study"] for name in each["tests"]]
    assert ran == [each["id"] for each in published["test"]] == [
        "1a", "1b", "1c", "2a", "2b", "2c", "3a", "3b", "4a", "4b", "5a", "5b", "5c", "5d",
    ]  # fmt: skip
    for each in published["test"]:
        results = {**each["results"], **each.get("probable", {})}
        rates = [results[name] for name in ("tpm", "nopm") if name in results]
        rates += [results[f"{name}_avg_per_vm"] for name in ("tpm", "nopm") if each["id"] > "5"]
        assert each["id"] < "4" or "at_virtual_users" not in results
        assert not rates or 4 < rates[0] / rates[1] < 5.3
        assert bool(rates) is (each["id"] not in ("4a", "4b"))
    backups = [each["results"] for each in published["test"] if each["id"] in ("5c", "5d")]
    for each in backups:
        mean_min = each["backup_duration_total_min"] / each["backup_count"]
        assert int(mean_min) == each["backup_duration_avg_min"]


@pytest.mark.parametrize(("file", "count"), [("space.toml", 9), ("raid.toml", 3)])
def test_published_policies_have_candidates(root: Path, file: str, count: int) -> None:
    """A candidate of the study that it names; each candidate of these studies stands for one."""
    tests = tomllib.loads((root / "studies/papers" / file).read_text())["experiment"]
    assert len({each["id"] for each in tests}) == len(tests) == count
    modelled = [each for each in tests if "not_modelled" not in each]
    for name in {each["study"] for each in modelled}:
        study = read_study(root / "studies/papers" / name).study
        asked = [each["candidate"] for each in modelled if each["study"] == name]
        assert sorted(asked) == sorted(study.candidates)
