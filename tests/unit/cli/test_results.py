"""Commands that read finished runs: report, its thresholds and other runs, compare, export."""

import json
import math
import webbrowser
from pathlib import Path
from statistics import stdev
from typing import Any
from xml.etree import ElementTree

import pytest

from stithy.cli.app import run
from stithy.cli.report import opened
from stithy.cli.running.conclude import conclude, remember_noise
from stithy.errors import InfrastructureError, InvalidMeasurement, StithyError
from stithy.registry import plugins
from stithy.report.context import context_of
from stithy.results.files import write_with_checksum
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.executor import Outcome
from stithy.run.preparation.forecast import earlier_noise
from support.pdf_text import text_of
from support.sample_run import Shape, build_run, window_id
from support.sample_thresholds import thresholds

pytestmark = pytest.mark.usefixtures("own_state")
Captured = pytest.CaptureFixture[str]
SLOW = {window_id("disk", 4, block): {"nopm": 1500.0 + block} for block in range(3)}
ONE = {"users": (1,), "repeat": 1}


def build(path: Path, **shape: Any) -> str:
    """A short run in a directory; its path."""
    usual = {"users": (1, 4), "duration_s": 3, "series": False, "repeat": 3}
    build_run(path, Shape(**{**usual, **shape}))
    return str(path)


def invalid(*windows: str) -> dict[str, dict[str, int]]:
    """Changes of a run after which these windows are invalid."""
    return dict.fromkeys(windows, {"errors": 500})


def told(capsys: Captured) -> Any:
    """What was just told to programs."""
    return json.loads(capsys.readouterr().out)


def test_findings_and_path_are_printed(tmp_path: Path, capsys: Captured) -> None:
    """At most three sentences, then a path for each format; the same as JSON."""
    root = build(tmp_path)
    assert run(["report", root]) == 0
    *findings, last = capsys.readouterr().out.splitlines()
    assert last == f"Report: {tmp_path / 'report.html'}"
    assert 0 < len(findings) <= 3
    assert run(["report", root, "--format", "md,json"]) == 0
    paths = {name: str(tmp_path / f"report.{name}") for name in ("md", "json")}
    lines = capsys.readouterr().out.splitlines()
    assert lines == [*findings, *(f"Report: {path}" for path in paths.values())]
    assert run(["report", root, "--format", "md,json", "--json"]) == 0
    document = told(capsys)
    assert (document["findings"], document["files"]) == (findings, paths)
    assert document["report"] == paths["md"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs side by side, some of them damaged, and an earlier report; nothing is to change."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("before", "lost", "newer"):
        build(folder / name, **ONE)
    build(folder / "longer", **ONE, duration_s=4)
    build(folder / "other", **ONE, candidates=("x", "y"))
    build(folder / "levels", users=(2, 8), repeat=1)
    (folder / "empty").mkdir()
    (folder / "lost/manifest.json").write_text("{")
    (folder / "newer/manifest.json").write_text('{"schema_version": 99}')
    (folder / "newer/SHA256SUMS").unlink()
    (folder / "before/report.md").write_text("earlier")
    return folder


def files_of(directory: Path) -> dict[str, bytes]:
    """All files below a directory by their names."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    ("line", "code", "part"),
    [
        ("report empty", 2, "empty"),
        ("report before --format docx", 2, "html, json, md, pdf"),
        ("report before --format md --compare gone", 2, "gone"),
        ("report before --format md --compare lost", 2, "manifest"),
        ("report before --format md --compare newer", 2, "the Stithy that wrote them"),
        ("report before --compare longer", 2, "duration_s: 4 and 3: --ignore duration_s"),
        ("report before --ignore kernel", 2, "--ignore: this option needs --compare: name a run"),
        ("report before --metric tpm", 2, "--metric: this option needs --compare: name a run"),
        ("report lost --junit junit.xml", 5, "manifest"),
        ("report before --junit .", 2, "--junit"),
        ("report before --junit /dev/null", 2, "--junit"),
        ("report before --junit gone/junit.xml", 2, "--junit"),
        ("compare before other", 2, "no candidate of"),
        ("compare before levels", 2, "no level of"),
        ("compare before", 2, "a second run"),
        ("compare before lost", 2, "manifest"),
        ("compare before before --ignore krnel", 2, "mean kernel?"),
        ("compare before before --metric nopn", 2, "nopm"),
        ("compare before before --metric tpm_of_x", 2, "--metric"),
        ("export before --to openmetric", 2, "did you mean openmetrics?"),
        ("export before --to x", 2, "one of bencher, csv, go-bench, openmetrics"),
        ("export before --to csv --out gone/out.csv", 2, "--out gone/out.csv"),
    ],
)
def test_what_cannot_be_told_is_refused_and_nothing_is_written(
    line: str, code: int, part: str, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """With the reason and what would be right; an earlier report stays as it was."""
    monkeypatch.chdir(runs)
    before = files_of(runs)
    assert run(line.split()) == code
    out, err = capsys.readouterr()
    assert part in out + err
    assert out == "" or code == 5
    new = files_of(runs).keys() - before.keys()
    assert all(name.startswith("lost/report") for name in new), "which was asked for"
    assert {name: text for name, text in files_of(runs).items() if name not in new} == before
    assert not (runs / "junit.xml").exists()


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
@pytest.mark.parametrize(
    ("body", "opens"), [("exit 0", True), ("exit 3", False), ("exec /bin/sleep 2", True)]
)
def test_the_report_is_opened_by_a_program_of_the_desktop_unless_it_fails(
    body: str, opens: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it has ended is no failure. It is told the address of a file."""
    program, told = tmp_path / "xdg-open", tmp_path / "told"
    program.write_text(f'#!/bin/sh\necho "$@" > "{told}"\necho talk\n{body}\n')
    program.chmod(0o755)
    browser = webbrowser.BackgroundBrowser(str(program))
    monkeypatch.setattr(webbrowser, "get", lambda: browser)
    page = tmp_path / "a page.html"
    assert opened(page, patience_s=1.0 if "sleep" in body else 30.0) is opens
    assert told.read_text().strip() == page.as_uri()
    program.unlink()
    assert not opened(page)


MET, MISSED = "memory.nopm_at_4 >= 1.2 * disk.nopm_at_4", "disk.nopm_at_4 >= memory.nopm_at_4"
UNKNOWN = "disk.nopm_at_1 > 5"


@pytest.mark.parametrize(
    ("texts", "code"),
    [((), 0), ((MET,), 0), ((MET, MISSED), 99), ((MET, UNKNOWN), 5), ((MISSED, UNKNOWN), 5)],
)
def test_a_report_ends_as_its_thresholds_did(
    texts: tuple[str, ...], code: int, tmp_path: Path, capsys: Captured
) -> None:
    """What cannot be judged weighs more than what was not met: it must be measured again."""
    broken = invalid("w-disk-u1-b0")
    root = build(tmp_path / "run", repeat=1, thresholds=thresholds(*texts), changes=broken)
    junit = tmp_path / "junit.xml"
    junit.write_text("old")
    assert run(["report", root, "--format", "md", "--junit", str(junit), "--json"]) == code
    outcomes = {MET: "met", MISSED: "not met", UNKNOWN: "cannot be judged"}
    judged = told(capsys)["thresholds"]
    assert [each["outcome"] for each in judged] == [outcomes[text] for text in texts]
    assert len(ElementTree.parse(junit).findall(".//testcase")) == len(texts)
    assert all(each["left"] < each["right"] for each in judged if each["outcome"] == "not met")
    assert run(["report", root, "--format", "md"]) == code
    lines = capsys.readouterr().out.splitlines()[-1 - len(texts) : -1]
    marks = {"met": "✓", "not met": "✗", "cannot be judged": "?"}
    for line, text in zip(lines, texts, strict=True):
        assert line.startswith(f"  {marks[outcomes[text]]} {text}: {outcomes[text]}: ")


@pytest.mark.parametrize(
    ("error", "advised"), [(InvalidMeasurement, False), (InfrastructureError, True)]
)
def test_how_much_blocks_varied_is_remembered_and_what_can_be_gone_on_with_is_told(
    error: type[StithyError], advised: bool, tmp_path: Path, capsys: Captured
) -> None:
    """Three blocks tell too little; what the first window showed holds for the rest, too."""
    few = Path(build(tmp_path / "few", users=(4,)))
    remember_noise(context_of(read_run(few)))
    assert earlier_noise("nopm") == []
    root = Path(build(tmp_path / "run", users=(4,), repeat=4))
    ended = error("it ended", where="here", remedy="look")
    code = conclude(Outcome(RunDirectory(root), "failed", ended, (), {}), None, json=False)
    assert code == ended.exit
    assert ("stithy resume" in capsys.readouterr().err) is advised
    rows = read_run(root).window.sort("candidate", "block").to_dicts()
    values = [row["nopm"] for row in rows]
    logs = [math.log(b / a) for a, b in zip(values[:4], values[4:], strict=True)]
    assert earlier_noise("nopm") == pytest.approx([stdev(logs)])


def test_every_format_tells_of_another_run_and_a_report_without_it_takes_that_away(
    tmp_path: Path,
) -> None:
    """Figures and tables included."""
    before, after = build(tmp_path / "before"), build(tmp_path / "after", seed=2, changes=SLOW)
    assert run(["report", after, "--compare", before, "--format", "html,pdf,md,json"]) == 0
    made = files_of(tmp_path / "after")
    page, summary = (made[f"report.{name}"].decode() for name in ("html", "md"))
    for text in (page, summary, " ".join(text_of(made["report.pdf"]).split())):
        assert "after against before" in text
        assert "1 differs by more than chance explains: new orders per minute of disk" in text
    [other] = json.loads(made["report.json"])["runs"]
    assert (other["base"], other["other"], len(other["rows"])) == ("before", "after", 12)
    assert {"report/figures/runs-1.svg", "report/tables/runs-1.csv"} <= made.keys()
    assert run(["report", after, "--format", "html,json"]) == 0
    left = files_of(tmp_path / "after")
    assert json.loads(left["report.json"]).get("runs", []) == []
    assert b"against before" not in left["report.html"]
    assert not [name for name in left if "runs-" in name]


def test_a_damaged_or_invalid_run_is_compared_by_what_is_left_of_it(
    tmp_path: Path, capsys: Captured
) -> None:
    """With a word on it; findings and exit code are those of the run that is reported."""
    one, two = build(tmp_path / "one"), build(tmp_path / "two")
    file = RunDirectory(Path(two)).window(window_id("disk", 4, 1)).table("window")
    file.write_bytes(file.read_bytes()[:-100])
    assert run(["report", one, "--format", "md,json", "--compare", two, "--metric", "nopm"]) == 0
    [other] = json.loads((tmp_path / "one/report.json").read_text())["runs"]
    counts = {(row["candidate"], row["users"]): row["windows_base"] for row in other["rows"]}
    assert counts == {("disk", 1): 3, ("disk", 4): 2, ("memory", 1): 3, ("memory", 4): 3}
    assert "two: " in (tmp_path / "one/report.md").read_text()
    windows = [window_id(name, users, 0) for name in ("disk", "memory") for users in (1, 4)]
    nothing = build(tmp_path / "nothing", repeat=1, changes=invalid(*windows))
    said = []
    for words in ([], ["--compare", nothing]):
        capsys.readouterr()
        assert run(["report", one, "--format", "md", *words, "--json"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert run(["compare", one, nothing]) == 5
    for root, code in ((one, 0), (nothing, 5)):
        outcome = Outcome(RunDirectory(Path(root)), "finished", None, (), {})
        assert conclude(outcome, None, json=True) == code, "no valid window answers anything"


def change_kernel(directory: str, **more: Any) -> None:
    """As if the run had been made on another kernel, or with more facts that differ."""
    file = Path(directory) / "manifest.json"
    document = json.loads(file.read_text()) | more
    document["environment"]["kernel"]["value"] = "6.2.0"
    write_with_checksum(file, json.dumps(document).encode())


def test_runs_that_differ_in_what_counts_are_compared_only_where_that_is_ignored(
    tmp_path: Path, capsys: Captured
) -> None:
    """Every fact by name, what is ignored above the numbers; flaws of a run are told, too."""
    session = {"started_at_s": 1.0, "boot_id": "x", "changed": ["kernel: 6.0 before, 6.1.0 now"]}
    one = build(tmp_path / "one", changes=invalid("w-disk-u4-b0"), end="interrupted")
    two = build(tmp_path / "two", repeat=1, duration_s=4, seed=2)
    change_kernel(two, sessions=[session])
    assert run(["compare", one, two, "--ignore", "fsync"]) == 2
    err = capsys.readouterr().err
    assert "duration_s: 3 and 4: --ignore duration_s" in err
    assert "kernel: 6.1.0 and 6.2.0: --ignore kernel" in err
    ignored = ["--ignore", "kernel", "--ignore", "duration_s"]
    assert run(["compare", one, two, *ignored]) == 0
    shown = capsys.readouterr().out
    for part in (
        "differs, ignored on request: ", "kernel: 6.1.0 and 6.2.0",
        "does not prevent the comparison: seed: 1 and 2",
        f"{one}: 1 of 12 windows is invalid; left out",
        f"{one}: the run was not finished (interrupted)",
        f"{two}: resumed although something had changed: kernel: 6.0 before",
        "none: 2 windows of each are needed  2+1",
    ):  # fmt: skip
        assert part in shown
    run(["compare", one, two, *ignored, "--json", "--metric", "p99 of payment", "--metric", "tpm"])
    [document] = told(capsys)["comparisons"]
    assert sorted(each["name"] for each in document["ignored"]) == ["duration_s", "kernel"]
    metrics = list(dict.fromkeys(row["metric"] for row in document["rows"]))
    assert (metrics, len(document["rows"])) == (["p99 of payment", "tpm"], 2 * 2 * 2)


def test_report_and_compare_tell_the_same_change_the_same_way_round(
    tmp_path: Path, capsys: Captured
) -> None:
    """Now against before in both: the ratio is the later run over the earlier."""
    before, now = build(tmp_path / "before"), build(tmp_path / "now", changes=SLOW)
    assert run(["compare", before, now, "--json"]) == 0
    [compared] = told(capsys)["comparisons"]
    [row] = [each for each in compared["rows"] if each["distinguishable"]]
    assert (row["candidate"], row["users"], row["metric"]) == ("disk", 4, "nopm")
    assert row["value_other"] == 1501.0
    assert row["change"]["low"] < row["change"]["ratio"] < row["change"]["high"] < 0.6
    assert run(["report", now, "--compare", before, "--format", "json"]) == 0
    [other] = json.loads((tmp_path / "now/report.json").read_text())["runs"]
    ratios = [row["change"]["ratio"] for row in compared["rows"]]
    assert [row["ratio"] for row in other["rows"]] == pytest.approx(ratios)


@pytest.mark.parametrize("name", list(plugins("export")))
def test_every_export_goes_to_a_file_as_to_standard_output(
    name: str, tmp_path: Path, capsys: Captured
) -> None:
    """Byte for byte the same; that windows are not valid is told beside it, nothing is changed."""
    root = build(tmp_path / "run", **ONE, changes=invalid("w-disk-u1-b0"))
    before = files_of(tmp_path / "run")
    assert run(["export", root, "--to", name]) == 0
    shown, talk = capsys.readouterr()
    assert shown
    assert talk.startswith("1 window is invalid: ")
    assert run(["export", root, "--to", name, "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "out").read_text() == shown
    assert files_of(tmp_path / "run") == before
    nothing = build(tmp_path / "nothing", users=())
    assert run(["export", nothing, "--to", "go-bench"]) == 5
    assert capsys.readouterr().out == ""
