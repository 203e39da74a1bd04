"""The end of a run: thresholds, the exit code, and what is remembered."""

import json
import math
from pathlib import Path
from statistics import stdev
from xml.etree import ElementTree

import pytest

from stithy.cli.app import run
from stithy.cli.running.conclude import conclude, remember_noise
from stithy.cli.talk.options import require_writable
from stithy.errors import InfrastructureError, InvalidMeasurement, StithyError, UserError
from stithy.report.context import context_of
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.executor import Outcome
from stithy.run.preparation.forecast import earlier_noise
from support.sample_run import Shape, build_run
from support.sample_thresholds import thresholds


def test_how_much_blocks_varied_is_remembered_where_there_were_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the metric of the question; three blocks tell too little."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    for blocks in (3, 4):
        shape = Shape(users=(4,), repeat=blocks, duration_s=2, series=False)
        build_run(tmp_path / str(blocks), shape)
        context = context_of(read_run(tmp_path / str(blocks)))
        remember_noise(context)
    windows = context.run.window.sort("block").to_dicts()
    of = {
        name: [w["nopm"] for w in windows if w["candidate"] == name] for name in ("disk", "memory")
    }
    logs = [math.log(b / a) for a, b in zip(of["disk"], of["memory"], strict=True)]
    assert earlier_noise("nopm") == pytest.approx([stdev(logs)])


@pytest.mark.parametrize(
    ("error", "advised"), [(InvalidMeasurement, False), (InfrastructureError, True)]
)
def test_a_question_without_an_answer_is_not_gone_on_with(
    error: type[StithyError],
    advised: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the first window showed holds for the rest, too; a server can be started again."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    root = tmp_path / "run"
    build_run(root, Shape(users=(4,), duration_s=2, series=False))
    ended = error("it ended", where="here", remedy="look")
    conclude(Outcome(RunDirectory(root), "failed", ended, (), {}), None, json=False)
    assert ("stithy resume" in capsys.readouterr().err) is advised


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
