"""Thresholds of runs with fakes: what each run ends with, and what it tells of them."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fakes.hammer import FakeHammer
from stithy.cli.running.conclude import conclude
from stithy.errors import InfrastructureError
from support.faked_run import FakedRun

MET, MISSED = "a.nopm_at_1 >= 1", "b.new-order.p95_at_2 <= 1us"


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def concluded(faked: FakedRun, junit: Path | None = None, *, json: bool = False) -> int:
    """The exit code of a whole run with fakes."""
    return int(conclude(faked.run(), junit, json=json))


@pytest.mark.parametrize(("thresholds", "code"), [((), 0), ((MET,), 0), ((MET, MISSED), 99)])
def test_a_run_ends_with_99_where_a_threshold_was_not_met(
    thresholds: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    """And with 0 where all were, or none was asked."""
    assert (
        concluded(FakedRun(tmp_path, hammer=FakeHammer(sound=True), thresholds=thresholds)) == code
    )


def test_each_threshold_is_told_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the values of both sides, for people, for programs and as JUnit XML."""
    junit = tmp_path / "junit.xml"
    concluded(
        FakedRun(tmp_path, hammer=FakeHammer(sound=True), thresholds=(MET, MISSED)),
        junit,
        json=True,
    )
    told = json.loads(capsys.readouterr().out)["thresholds"]
    assert [(each["threshold"], each["outcome"]) for each in told] == [
        (MET, "met"),
        ("b.new-order.p95_at_2 <= 1 us", "not met"),
    ]
    assert told[0]["right"] == 1.0
    (suite,) = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")


def test_every_format_that_is_there_is_written_again(tmp_path: Path) -> None:
    """A PDF of before a run was resumed would contradict the page beside it."""
    outcome = FakedRun(tmp_path, hammer=FakeHammer(sound=True)).run()
    old = outcome.directory.report_as("md")
    old.write_text("of before")
    conclude(outcome, None, json=False)
    assert "of before" not in old.read_text()
    assert not outcome.directory.report_as("pdf").exists()


def test_a_run_without_a_valid_window_meets_no_threshold(tmp_path: Path) -> None:
    """The measurement failed, and not the storage: that is 5, and an error for each."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True, broken=True), thresholds=(MET, MISSED))
    junit = tmp_path / "junit.xml"
    assert concluded(faked, junit) == 5
    (suite,) = ElementTree.parse(junit).getroot()
    assert (suite.get("errors"), suite.get("failures")) == ("2", "0")


def test_a_run_that_failed_ends_with_its_failure(tmp_path: Path) -> None:
    """The thresholds are told of what there is; the JUnit XML is there for the pipeline."""
    gone = InfrastructureError("the drive is gone", where="somewhere", remedy="none")
    faked = FakedRun(tmp_path, hammer=FakeHammer({"prepare": gone}), thresholds=(MET, MISSED))
    junit = tmp_path / "junit.xml"
    assert concluded(faked, junit) == 4
    (suite,) = ElementTree.parse(junit).getroot()
    assert suite.get("errors") == "2"
