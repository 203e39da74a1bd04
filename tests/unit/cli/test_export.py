"""`stithy export`: to a file or to standard output, and what is told beside it."""

from pathlib import Path

import pytest

from stithy.cli.app import run
from stithy.cli.export import export
from stithy.registry import plugins
from support.sample_run import Shape, build_run

SHAPE = Shape(users=(1,), duration_s=2, series=False)


@pytest.mark.parametrize("name", list(plugins("export")))
def test_every_format_goes_to_a_file_as_to_standard_output(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Byte for byte the same; nothing else is on standard output, and nothing is changed."""
    build_run(tmp_path / "run", SHAPE)
    before = sorted((tmp_path / "run").rglob("*"))
    assert run(["export", str(tmp_path / "run"), "--to", name]) == 0
    shown = capsys.readouterr().out
    assert shown
    file = tmp_path / "out"
    assert run(["export", str(tmp_path / "run"), "--to", name, "--out", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert file.read_text() == shown
    assert sorted((tmp_path / "run").rglob("*")) == before


def test_every_format_is_told_in_the_help() -> None:
    """The list in the help is that of the files there are."""
    help_text = export.__doc__ or ""
    assert all(f"`{name}`" in help_text for name in plugins("export"))


@pytest.mark.parametrize(("name", "told"), [("bencher", "left out"), ("csv", "marked")])
def test_how_many_windows_are_not_valid_is_told(
    name: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, so that the document stays whole."""
    changes = {"w-disk-u1-b0": {"errors": 5, "error_text": "no"}}
    build_run(tmp_path, Shape(users=(1,), duration_s=2, changes=changes))
    assert run(["export", str(tmp_path), "--to", name]) == 0
    assert capsys.readouterr().err == (
        f"1 window is invalid: {told}; the report gives the reasons\n"
    )


def test_an_unknown_format_is_refused_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is read."""
    assert run(["export", str(tmp_path), "--to", "openmetric"]) == 2
    assert "did you mean openmetrics?" in capsys.readouterr().err
    assert run(["export", str(tmp_path), "--to", "x"]) == 2
    assert "one of bencher, csv, go-bench, openmetrics" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The option is named."""
    build_run(tmp_path / "run", SHAPE)
    file = tmp_path / "gone" / "out.csv"
    assert run(["export", str(tmp_path / "run"), "--to", "csv", "--out", str(file)]) == 2
    assert f"--out {file}" in capsys.readouterr().err


def test_no_valid_window_is_no_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 5, and nothing on standard output."""
    build_run(tmp_path, Shape(users=()))
    assert run(["export", str(tmp_path), "--to", "go-bench"]) == 5
    assert capsys.readouterr().out == ""
