"""The planted faults can be planted, and what is not caught is reported."""

import pytest

from book import Done
from planted import read_list, shown
from studies import ROOT

FAULTS, LEAST = read_list()


def test_every_fault_can_be_planted() -> None:
    """Who changes it changes the list as well; no part of the product, no crate, is left out."""
    found = {each.name: (ROOT / each.path).read_text().count(each.before) for each in FAULTS}
    assert found == dict.fromkeys(found, 1)
    assert len(found) == len(FAULTS) >= LEAST
    assert all(each.before != each.after for each in FAULTS)
    folders = [path.parent for path in ROOT.glob("python/stithy/*/__init__.py")]
    folders += [path.parent for path in ROOT.glob("crates/*/Cargo.toml")]
    paths = [ROOT / each.path for each in FAULTS]
    assert [each.name for each in folders if not any(p.is_relative_to(each) for p in paths)] == []


def test_unnoticed_faults_miss_the_target(capsys: pytest.CaptureFixture[str]) -> None:
    """One that could not be planted is no result at all."""
    fault = FAULTS[0]
    caught = Done(fault.part, True, {"caught_by": "tests/x.py::test_it", "took_s": 1.0})
    missed = Done(fault.part, False, {"caught_by": None, "took_s": 2.0})
    assert shown([caught, missed], 1) == 0
    assert shown([caught, missed], 0) == 99
    assert f"{fault.name}: NOT CAUGHT (2 s)" in capsys.readouterr().out
    assert shown([Done(fault.part, False, {"failed": "not found", "took_s": 0.0})], 1) == 5
