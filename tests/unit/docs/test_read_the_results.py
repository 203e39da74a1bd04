"""The examples of the page on reading results do what the page says."""

import re
import shutil
from pathlib import Path

import duckdb
import pytest

from stithy.analysis.bottlenecks.rules import RULES
from support.captured import DATA
from support.sample_run import Shape, build_run


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


def test_the_sql_example_tells_every_window(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With DuckDB itself, in the order that the example asks for."""
    page = (root / "docs" / "how-to" / "read-the-results.md").read_text()
    build_run(tmp_path / "runs" / "demo", Shape(users=(1, 4), duration_s=2, series=False))
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    with duckdb.connect() as connection:
        rows = connection.execute(example).fetchall()
    levels = [("disk", 1), ("memory", 1), ("disk", 4), ("memory", 4)]
    assert [tuple(row[:2]) for row in rows] == levels


def test_every_limit_is_told_with_its_letter_and_its_words(root: Path) -> None:
    """As the strip and the table of the report have them."""
    page = (root / "docs" / "how-to" / "read-the-results.md").read_text()
    missing = [rule for rule in RULES.values() if f"| {rule.letter} | {rule.words} |" not in page]
    assert missing == []
