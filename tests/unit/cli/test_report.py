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


def test_the_formats_that_were_asked_for_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line each for people, a path each for programs."""
    build_run(tmp_path, Shape(users=(1,), duration_s=3, series=False))
    assert run(["report", str(tmp_path), "--format", "md,json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    paths = [str(tmp_path / name) for name in ("report.md", "report.json")]
    assert lines[-2:] == [f"Report: {path}" for path in paths]
    assert run(["report", str(tmp_path), "--format", "md,json", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == {"md": paths[0], "json": paths[1]}
    assert told["report"] == paths[0]


def test_an_unknown_format_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the formats that there are."""
    build_run(tmp_path, Shape(users=(1,), duration_s=3, series=False))
    assert run(["report", str(tmp_path), "--format", "docx"]) == 2
    assert "html, json, md, pdf" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()
