"""The study of space by policy has a candidate with the policy of each published test."""

import tomllib
from pathlib import Path

import pytest

from stithy.plan.expand import set_aside
from stithy.study.load import read_study

NEEDED = dict.fromkeys(("data", "log", "temp", "backup"), 10**9)


def test_each_published_test_of_space_has_its_candidate(root: Path) -> None:
    """Mirrors take two bytes for one, erasure coding of 3+1 four thirds; ratios are of numbers."""
    study = read_study(root / "studies/papers/test-space.yaml").study
    tests = {
        each["candidate"]: each
        for each in tomllib.loads((root / "studies/papers/space.toml").read_text())["experiment"]
        if each.get("study") == "test-space.yaml"
    }
    assert list(tests) == list(study.candidates)
    whole = tests["mirrors"]["results"]["space_physical_written_gb"]
    for name, each in tests.items():
        coded = "RAID-5" in each["parameters"]["policy"]
        aside = set_aside(study.candidates[name], NEEDED)["data"]
        assert aside.redundancy == pytest.approx(4 / 3 if coded else 2)
        if "saving_ratio" in each["results"]:
            used = {**each["results"], **each.get("probable", {})}["space_used_gb"]
            assert whole / used == pytest.approx(each["results"]["saving_ratio"], abs=0.02)
