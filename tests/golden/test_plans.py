"""What `stithy plan` prints for people: of the demo, and of a study with three candidates."""

from pathlib import Path

import pytest

from stithy.cli import app
from stithy.errors import Problems
from stithy.run.preparation import preflight
from support import golden

HERE = Path(__file__).parent / "plans"
STUDIES = (
    Path(__file__).resolve().parents[2] / "studies" / "demo.yaml",
    HERE / "three-candidates.yaml",
)


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_the_plan_of_a_study_is_the_one_accepted(
    study: Path,
    accept_golden: bool,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same study and seed give the same plan: ids, order, seeds and estimates."""
    checked = preflight.Preflight(None, Problems(), ())
    monkeypatch.setattr(preflight, "preflight", lambda *_, **__: checked)
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))  # a machine on which nothing ever ran
    assert app.run(["plan", str(study)]) == 0
    golden.same(HERE / f"{study.stem}.txt", capsys.readouterr().out, accept_golden)
