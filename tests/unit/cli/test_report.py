"""`stithy report`: the page's path and the main findings, for people and for programs."""

import json
from pathlib import Path

import pytest

from stithy.cli.app import run
from support.sample_run import Shape, build_run


def test_findings_and_path_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At most three sentences, then the path; the same as JSON."""
    build_run(tmp_path, Shape(users=(1, 4), duration_s=3, series=False))
    assert run(["report", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("At 4 users, memory completed")
    assert lines[-1] == f"Report: {tmp_path / 'report.html'}"
    assert run(["report", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["report"] == str(tmp_path / "report.html")
    assert told["findings"] == lines[:-1]
    assert len(told["findings"]) <= 3


def test_a_directory_without_a_run_is_a_wrong_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the directory and what would be right; nothing is written there."""
    assert run(["report", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
