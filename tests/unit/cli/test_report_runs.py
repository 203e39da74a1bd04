"""`stithy report --compare`: a section on other runs in every format, or why there is none."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from stithy.cli.app import run
from support.pdf_text import text_of
from support.sample_run import Shape, build_run, window_id

SLOW = {window_id("disk", 4, block): {"nopm": 1500.0 + block} for block in range(3)}
SAID = (
    "Of 12 values that before and after both have, 1 differs by more than chance explains: new "
    "orders per minute of disk at level 4, -5"
)
CAUTION = "The runs were made one after the other."


def build(path: Path, **shape: Any) -> str:
    """A short run in a directory; its path."""
    usual = {"users": (1, 4), "duration_s": 3, "series": False, "repeat": 3}
    build_run(path, Shape(**{**usual, **shape}))
    return str(path)


def told_of(directory: str) -> list[dict[str, Any]]:
    """What `report.json` tells of other runs."""
    document = json.loads((Path(directory) / "report.json").read_text())
    return list(document.get("runs", ()))


def files_of(directory: Path) -> dict[str, bytes]:
    """All files of a run directory by their names."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_every_format_tells_of_the_other_run_and_is_the_same_in_another_place(
    tmp_path: Path,
) -> None:
    """Byte for byte, figures and tables included; a report without it takes all of it away."""
    here, there = tmp_path / "here", tmp_path / "another place"
    build(here / "before")
    build(here / "after", seed=2, changes=SLOW)
    shutil.copytree(here, there)
    for place in (here, there):
        words = ["report", str(place / "after"), "--compare", str(place / "before")]
        assert run([*words, "--format", "html,pdf,md,json"]) == 0
    made = files_of(here / "after")
    assert made == files_of(there / "after")
    page, summary = (made[f"report.{name}"].decode() for name in ("html", "md"))
    printed = " ".join(text_of(made["report.pdf"]).split())
    for text in (page, summary, printed):
        assert SAID in text
        assert CAUTION in text
        assert "after against before" in text
    assert '<section id="runs">' in page
    (told,) = told_of(str(here / "after"))
    assert (told["base"], told["other"], len(told["rows"])) == ("before", "after", 12)
    assert {"report/figures/runs-1.svg", "report/tables/runs-1.csv"} <= made.keys()
    assert run(["report", str(here / "after"), "--format", "html,json"]) == 0
    assert told_of(str(here / "after")) == []
    left = files_of(here / "after")
    assert CAUTION not in left["report.html"].decode()
    assert not [name for name in left if "runs-" in name]


def test_report_and_compare_tell_the_same_change_the_same_way_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Now against before in both: the ratio is the later run over the earlier."""
    before, now = build(tmp_path / "before"), build(tmp_path / "now", changes=SLOW)
    assert run(["compare", before, now, "--json"]) == 0
    (compared,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert run(["report", now, "--compare", before, "--format", "json"]) == 0
    (told,) = told_of(now)
    assert (told["base"], told["other"]) == ("before", "now")
    ratios = [row["change"]["ratio"] for row in compared["rows"]]
    assert [row["ratio"] for row in told["rows"]] == pytest.approx(ratios)
    assert min(ratios) < 0.6


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--compare", "gone"], ["gone"]),
        (["--compare", "lost"], ["manifest"]),
        (["--compare", "newer"], ["99", "the Stithy that wrote them"]),
        (["--compare", "longer"], ["duration_s: 4 and 3: --ignore duration_s"]),
        (["--ignore", "kernel"], ["--ignore: this option needs --compare: name a run"]),
        (["--metric", "tpm"], ["--metric: this option needs --compare: name a run"]),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_cannot_be_compared_is_refused_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    parts: list[str],
) -> None:
    """Exit code 2, with the reason and what would be right; an earlier report stays as it was."""
    monkeypatch.chdir(tmp_path)
    small = {"users": (1,), "repeat": 1}
    for name in ("before", "after", "lost", "newer"):
        build(tmp_path / name, **small)
    build(tmp_path / "longer", **{**small, "duration_s": 4})
    (tmp_path / "lost" / "manifest.json").write_text("{")
    (tmp_path / "newer" / "manifest.json").write_text('{"schema_version": 99}')
    (tmp_path / "newer" / "SHA256SUMS").unlink()
    (tmp_path / "before" / "report.md").write_text("earlier")
    earlier = files_of(tmp_path)
    assert run(["report", "before", "--format", "md", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for part in parts:
        assert part in err
    assert files_of(tmp_path) == earlier


def test_a_damaged_run_is_compared_by_what_is_left_of_it(tmp_path: Path) -> None:
    """With a word on it; the window whose file is cut short is counted in no row."""
    one, two = build(tmp_path / "one"), build(tmp_path / "two")
    file = tmp_path / "two" / "windows" / window_id("disk", 4, 1) / "window.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    assert run(["report", one, "--format", "md,json", "--compare", two, "--metric", "nopm"]) == 0
    (told,) = told_of(one)
    counts = {(row["candidate"], row["users"]): row["windows_base"] for row in told["rows"]}
    assert counts == {("disk", 1): 3, ("disk", 4): 2, ("memory", 1): 3, ("memory", 4): 3}
    assert "two: " in (tmp_path / "one" / "report.md").read_text()


def test_the_exit_code_and_the_findings_are_those_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another run in which nothing is valid changes neither."""
    one = build(tmp_path / "one", users=(4,))
    invalid = {window_id(name, 4, block): {"errors": 500} for name in ("disk", "memory")
               for block in range(3)}  # fmt: skip
    two = build(tmp_path / "two", users=(4,), changes=invalid)
    said = []
    for words in ([], ["--compare", two]):
        assert run(["report", one, "--format", "md", *words, "--json"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    summary = (tmp_path / "one" / "report.md").read_text()
    assert "two and one have no value in common." in summary
    assert "Not shown" not in summary
