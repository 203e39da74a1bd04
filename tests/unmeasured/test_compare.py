"""Two runs of one study held against each other, as a real manifest describes them."""

from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.cli.app import run
from support.faked_run import FakedRun


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def ran(place: Path, **load: str) -> str:
    """The directory of a run with fakes."""
    place.mkdir()
    faked = FakedRun(place, hammer=FakeHammer(sound=True), load=load)
    faked.run()
    return str(faked.out)


def test_the_same_study_run_twice_is_comparable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of a run that is its own, such as times and places, stands in the way."""
    one, two = ran(tmp_path / "one"), ran(tmp_path / "two")
    assert run(["compare", one, two]) == 0
    shown = capsys.readouterr().out
    assert "differs" not in shown
    assert "1+1" in shown


def test_a_study_with_another_load_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal names what is different in the study."""
    one, two = ran(tmp_path / "one"), ran(tmp_path / "two", ledger="true")
    assert run(["compare", one, two]) == 2
    assert "ledger: no and yes" in capsys.readouterr().err
    assert run(["compare", one, two, "--ignore", "ledger"]) == 0
