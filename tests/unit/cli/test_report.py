"""`stithy report`: the page's path and the main findings, for people and for programs."""

import json
import subprocess
import sys
import time
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


def _browser(folder: Path, name: str, ends: int = 0) -> tuple[Path, Path]:
    """A program that writes down what it is called with; it, and where it writes."""
    folder.mkdir(exist_ok=True)
    program, told = folder / name, folder / f"{name}.told"
    program.write_text(
        f'#!/bin/sh\necho "$@" > "{told}.new"\n/bin/mv "{told}.new" "{told}"\nexit {ends}\n'
    )
    program.chmod(0o755)
    return program, told


def _opened(directory: Path, root: Path, **environment: str) -> tuple[int, str, str]:
    """Exit code, output and talk of `stithy report --open` with no more than this environment."""
    command = [sys.executable, "-m", "stithy", "report", str(directory), "--format", "md", "--open"]
    known = {"PYTHONPATH": str(root / "python"), "PATH": "", **environment}
    done = subprocess.run(command, env=known, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def _appears(path: Path) -> str:
    """The text of a file that a program in the background writes."""
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return path.read_text().strip()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The smallest run, in a directory whose name a URL must escape."""
    return build_run(tmp_path / "a run?", Shape(users=(1,), duration_s=2, series=False)).root


def test_the_report_is_opened_in_the_browser_that_the_person_chose(
    small: Path, tmp_path: Path, root: Path
) -> None:
    """By BROWSER, or else the one of the desktop; as the address of a file."""
    page = (small / "report.md").as_uri()
    assert "a%20run%3F" in page
    program, told = _browser(tmp_path / "own", "my-browser")
    code, out, talk = _opened(small, root, BROWSER=str(program))
    assert (code, talk) == (0, "")
    assert out.splitlines()[-1] == f"Report: {small / 'report.md'}"
    assert _appears(told) == page
    program, told = _browser(tmp_path / "desktop", "xdg-open")
    assert _opened(small, root, PATH=str(program.parent), DISPLAY=":99")[::2] == (0, "")
    assert _appears(told) == page


def test_without_a_browser_with_windows_the_report_is_written_and_that_is_told(
    small: Path, tmp_path: Path, root: Path
) -> None:
    """None at all, one that fails, and one that would take the terminal, which is not started."""
    page = small / "report.md"
    lynx, told = _browser(tmp_path / "terminal", "lynx")
    failing, _ = _browser(tmp_path / "failing", "broken", ends=1)
    for environment in (
        {}, {"BROWSER": str(failing)}, {"PATH": str(lynx.parent), "TERM": "xterm"},
        {"PATH": str(lynx.parent), "TERM": "xterm", "BROWSER": "lynx"},
    ):  # fmt: skip
        page.unlink(missing_ok=True)
        code, out, talk = _opened(small, root, **environment)
        assert (code, talk) == (
            0,
            f"not opened, because no graphical web browser was found: {page}\n",
        )
        assert out.splitlines()[-1] == f"Report: {page}"
        assert page.exists()
    assert not told.exists()
