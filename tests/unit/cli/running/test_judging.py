"""Thresholds at the command line: lines, exit codes, JUnit XML."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stithy.cli.app import run
from stithy.cli.running.judging import require_writable
from stithy.errors import UserError
from support.sample_run import Shape, build_run
from support.sample_thresholds import thresholds

MET, MISSED = "memory.nopm_at_4 >= 1.2 * disk.nopm_at_4", "disk.nopm_at_4 >= memory.nopm_at_4"
UNKNOWN = "disk.nopm_at_1 > 5"
INVALID = {"w-disk-u1-b0": {"errors": 500}}


def build(path: Path, *texts: str) -> None:
    """A small run of which one window is invalid."""
    build_run(
        path,
        Shape(
            users=(1, 4), duration_s=3, series=False, thresholds=thresholds(*texts),
            changes=INVALID,
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "code"),
    [((), 0), ((MET,), 0), ((MET, MISSED), 99), ((MET, UNKNOWN), 5), ((MISSED, UNKNOWN), 5)],
)
def test_a_report_ends_as_its_thresholds_did(
    texts: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    """What cannot be judged weighs more than what was not met: it must be measured again."""
    build(tmp_path, *texts)
    assert run(["report", str(tmp_path)]) == code


def test_thresholds_are_told_after_the_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In words, and in JSON with all digits."""
    build(tmp_path, MET, MISSED)
    run(["report", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4] == "Thresholds: 1 of 2 met"
    assert lines[-3].startswith(f"  ✓ {MET}: met: ")
    assert lines[-1].startswith("Report: ")
    run(["report", str(tmp_path), "--json"])
    told = json.loads(capsys.readouterr().out)["thresholds"]
    assert [each["outcome"] for each in told] == ["met", "not met"]
    assert told[1]["left"] < told[1]["right"]
    assert "Thresholds of the study" in (tmp_path / "report.html").read_text()


def test_junit_xml_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    """Over an older one, too."""
    build(tmp_path / "run", MET, MISSED)
    file = tmp_path / "junit.xml"
    file.write_text("old")
    assert run(["report", str(tmp_path / "run"), "--junit", str(file)]) == 99
    assert len(ElementTree.parse(file).findall(".//testcase")) == 2


def test_a_place_where_no_file_can_be_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    """Directories, devices, and files below nothing."""
    for place in (tmp_path, Path("/dev/null"), tmp_path / "missing" / "junit.xml"):
        with pytest.raises(UserError):
            require_writable(place)
    require_writable(tmp_path / "junit.xml")
    require_writable(None)


def test_without_its_manifest_a_run_has_no_thresholds_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty suite would look like a success."""
    build(tmp_path, MET)
    (tmp_path / "manifest.json").write_text("{")
    assert run(["report", str(tmp_path), "--junit", str(tmp_path / "junit.xml")]) == 5
    assert not (tmp_path / "junit.xml").exists()
    assert "manifest" in capsys.readouterr().err
