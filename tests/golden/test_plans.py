"""What `stithy plan` prints, for people and for programs."""

from pathlib import Path

import pytest

from stithy.cli import app
from support import golden

HERE = Path(__file__).parent / "plans"


def studies(root: Path) -> list[Path]:
    """The studies that people are shown, and those kept here for their plans."""
    return [*sorted((root / "studies").glob("*.yaml")), *sorted(HERE.glob("*.yaml"))]


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("form", ["txt", "json"])
@pytest.mark.parametrize("study", studies(ROOT), ids=lambda path: path.stem)
def test_the_plan_of_a_study_is_the_one_accepted(
    study: Path,
    form: str,
    accept_golden: bool,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same study and seed give the same plan: ids, order, seeds and estimates."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))  # a machine on which nothing ever ran
    assert app.run(["plan", str(study), *(["--json"] if form == "json" else [])]) == 0
    golden.same(HERE / f"{study.stem}.{form}", capsys.readouterr().out, accept_golden)
