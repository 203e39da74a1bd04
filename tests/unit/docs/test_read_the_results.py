"""The examples of the page on reading results do what the page says."""

import re
import shutil
from pathlib import Path

import pytest

from support.captured import DATA
from support.sample_run import build_run


def test_every_python_example_runs_on_a_run_directory(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a run at the place that the page names."""
    page = (root / "docs" / "how-to" / "read-the-results.md").read_text()
    run = build_run(tmp_path / "runs" / "demo")
    for window in run.windows.iterdir():
        shutil.copy(DATA / "hammer" / "run.response.hlog", window / "hammer.response.hlog")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    for example in examples:
        exec(example, {})
        assert capsys.readouterr().out
    assert len(examples) == 2
