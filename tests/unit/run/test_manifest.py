"""What a run tells of its study in the manifest."""

from pathlib import Path

import pytest

from stithy.results.layout import RunDirectory
from stithy.results.manifest import CostFacts, LimitFacts
from stithy.results.pieces import manifest_of
from stithy.run.executor import execute
from support.faked_run import FakedRun


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def test_limit_and_costs_of_the_study_are_told(tmp_path: Path) -> None:
    """A report is made from the results alone; what the study does not say stays missing."""
    load = {"limit": "p99 of payment ≤ 72 ms"}
    faked = FakedRun(tmp_path, load=load, costs={"b": "1200.50 EUR"})
    faked.run()
    told = manifest_of(RunDirectory(faked.out).manifest)
    assert told.plan.limit == LimitFacts(percentile="p99", transaction="payment", limit_s=0.072)
    assert [each.cost for each in told.candidates] == [
        None, CostFacts(amount=1200.5, currency="EUR"),
    ]  # fmt: skip


def test_the_like_of_a_candidate_costs_what_it_costs(tmp_path: Path) -> None:
    """In a null study nothing differs."""
    faked = FakedRun(tmp_path, costs={"a": "7 EUR", "b": "8 EUR"})
    execute(faked.start(null=True))
    told = manifest_of(RunDirectory(faked.out).manifest)
    assert {each.name: each.cost for each in told.candidates} == {
        name: CostFacts(amount=7, currency="EUR") for name in ("a", "a-again")
    }
