"""What a person sees for a study file that is wrong: one file of errors for each such study."""

from pathlib import Path

import pytest

from stithy.cli import app
from support import golden

HERE = Path(__file__).parent / "errors"
STUDIES = sorted(path.stem for path in HERE.glob("*.yaml"))


@pytest.mark.parametrize("name", STUDIES)
def test_a_wrong_study_shows_the_errors_accepted(
    name: str,
    accept_golden: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2, nothing on standard output, all problems with their places."""
    monkeypatch.chdir(HERE)
    assert app.run(["plan", f"{name}.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    golden.same(HERE / f"{name}.txt", err, accept_golden)


def test_every_wrong_study_is_tested() -> None:
    """No error text is left of a study that is gone."""
    assert sorted(path.stem for path in HERE.glob("*.txt")) == STUDIES
