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
from stithy.cli.report import read_opened
from stithy.cli.talk.conclude import conclude, save_noise
from stithy.errors import (
    InfrastructureError,
    InvalidMeasurement,
    NothingValid,
    StithyError,
    UserError,
)
from stithy.registry import plugins
from stithy.report.context import make_context
from stithy.report.exports import ExportFormat
from stithy.report.sections.answer import answer
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory, write_with_checksum
from stithy.run.events import Event, RunEnded
from stithy.run.executor import RunOutcome
from stithy.run.forecast import read_noise
from support.sample_run import Shape, build_run, window_id
from support.sample_thresholds import thresholds

pytestmark = pytest.mark.usefixtures("own_state")
UNDRAWN = pytest.mark.usefixtures("undrawn")
Captured = pytest.CaptureFixture[str]
SLOW = {window_id("disk", 4, block): {"headline_per_min": 1500.0 + block} for block in range(3)}
ONE = {"users": (1,), "repeat": 1}


def build(path: Path, **shape: Any) -> str:
    """A short run in a directory; its path."""
    usual = {"users": (1, 4), "duration_s": 3, "series": False, "repeat": 3}
    build_run(path, Shape(**{**usual, **shape}))
    return str(path)


def reported(capsys: Captured) -> Any:
    """What was just told to programs."""
    return json.loads(capsys.readouterr().out)


@UNDRAWN
def test_findings_and_path_are_printed(tmp_path: Path, capsys: Captured) -> None:
    """At most three sentences and a caution, then a path for each format; the same as JSON."""
    root = build(tmp_path)
    assert run(["report", root]) == 0
    *findings, caution, last = capsys.readouterr().out.splitlines()
    assert last == f"Report: {tmp_path / 'report.html'}"
    assert 0 < len(findings) <= 3
    assert run(["report", root, "--format", "md,json"]) == 0
    paths = {name: str(tmp_path / f"report.{name}") for name in ("md", "json")}
    lines = capsys.readouterr().out.splitlines()
    assert lines == [*findings, caution, *(f"Report: {path}" for path in paths.values())]
    assert run(["report", root, "--format", "md,json", "--json"]) == 0
    document = reported(capsys)
    assert (document["findings"], document["files"]) == (findings, paths)


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


def invalid(*windows: str) -> dict[str, dict[str, int]]:
    """Changes of a run after which these windows are invalid."""
    return dict.fromkeys(windows, {"errors": 500})


def files_of(directory: Path) -> dict[str, bytes]:
    """All files below a directory by their names."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_what_cannot_be_told_is_refused_and_nothing_is_written(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """With the reason and what would be right; an earlier report stays as it was."""
    monkeypatch.chdir(runs)
    before = files_of(runs)
    for line, part in (
        ("report empty", "empty"),
        ("report before --format docx", "html, json, md, pdf"),
        ("report before --format md --compare gone", "gone"),
        ("report before --format md --compare lost", "manifest"),
        ("report before --format md --compare newer", "the Stithy that wrote them"),
        ("report before --compare longer", "duration_s: 4 and 3: --ignore duration_s"),
        ("report before --ignore kernel", "--ignore: this option needs --compare: name a run"),
        ("report before --metric tpm", "--metric: this option needs --compare: name a run"),
        ("report before --junit .", "--junit"),
        ("report before --junit /dev/null", "--junit"),
        ("report before --junit gone/junit.xml", "--junit"),
        ("compare before other", "no candidate of"),
        ("compare before levels", "no level of"),
        ("compare before", "a second run"),
        ("compare before lost", "manifest"),
        ("compare before before --ignore krnel", "mean kernel?"),
        ("compare before before --metric nopn", "nopm"),
        ("compare before before --metric tpm_of_x", "--metric"),
        ("export before --to openmetric", "did you mean openmetrics?"),
        ("export before --to x", "one of bencher, csv, go-bench, openmetrics"),
        ("export before --to csv --out gone/out.csv", "--out gone/out.csv"),
    ):
        assert run(line.split()) == 2
        out, err = capsys.readouterr()
        assert (out, part in err) == ("", True), line
        assert files_of(runs) == before, line


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
def test_the_report_is_opened_by_a_program_of_the_desktop_unless_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it has ended is no failure. It is told the address of a file."""
    program, reported, page = tmp_path / "xdg-open", tmp_path / "told", tmp_path / "a page.html"
    browser = webbrowser.BackgroundBrowser(str(program))
    monkeypatch.setattr(webbrowser, "get", lambda: browser)
    for body, opens in (("exit 0", True), ("exit 3", False), ("exec /bin/sleep 2", True)):
        program.write_text(f'#!/bin/sh\necho "$@" > "{reported}"\necho talk\n{body}\n')
        program.chmod(0o755)
        assert read_opened(page, patience_s=1.0 if "sleep" in body else 30.0) is opens
        assert reported.read_text().strip() == page.as_uri()
    program.unlink()
    assert not read_opened(page)


MET, MISSED = "memory.nopm_at_4 >= 1.2 * disk.nopm_at_4", "disk.nopm_at_4 >= memory.nopm_at_4"
UNKNOWN = "disk.nopm_at_1 > 5"
ALL = {MET: "met", MISSED: "not met", UNKNOWN: "cannot be judged"}


@UNDRAWN
def test_a_report_ends_as_its_thresholds_did(tmp_path: Path, capsys: Captured) -> None:
    """What cannot be judged weighs more than what was not met: it must be measured again."""
    broken, junit = invalid("w-disk-u1-b0"), tmp_path / "junit.xml"
    for texts, code in (((MET,), 0), ((MET, MISSED), 99), (tuple(ALL), 5)):
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        build(root, repeat=1, thresholds=thresholds(*texts), changes=broken)
        words = ["report", str(root), "--format", "md"]
        assert run([*words, "--junit", str(junit), "--json"]) == code
        judged = reported(capsys)["thresholds"]
        assert [each["outcome"] for each in judged] == [ALL[text] for text in texts]
        assert len(ElementTree.parse(junit).findall(".//testcase")) == len(texts)
        assert run(words) == code
        lines = capsys.readouterr().out.splitlines()[-1 - len(texts) : -1]
        marks = {"met": "✓", "not met": "✗", "cannot be judged": "?"}
        for line, text in zip(lines, texts, strict=True):
            assert line.startswith(f"  {marks[ALL[text]]} {text}: {ALL[text]}: ")


@UNDRAWN
@pytest.mark.parametrize(("error", "advised"), [
    (InvalidMeasurement, False),
    (UserError, False),
    (NothingValid, True),
    (InfrastructureError, True),
])  # fmt: skip
def test_how_much_blocks_varied_is_remembered_and_what_can_be_gone_on_with_is_told(
    error: type[StithyError], advised: bool, tmp_path: Path, capsys: Captured
) -> None:
    """Three blocks tell too little; what the first window showed holds for the rest, too."""
    few = Path(build(tmp_path / "few", users=(4,)))
    save_noise(make_context(read_run(few)))
    assert read_noise("nopm") == []
    root = Path(build(tmp_path / "run", users=(4,), repeat=4))
    ended = error("it ended", where="here", remedy="look")
    stays = (root / "tables",)
    code = conclude(
        RunOutcome(RunDirectory(root), "failed", ended, (), {}, stays), None, json=False
    )
    assert code == ended.exit
    shown = capsys.readouterr().err
    assert ("stithy resume" in shown) is advised
    assert f"in {stays[0]}; stithy clean {root} removes it" in shown
    rows = read_run(root).window.sort("candidate", "block").to_dicts()
    values = [row["headline_per_min"] for row in rows]
    logs = [math.log(b / a) for a, b in zip(values[:4], values[4:], strict=True)]
    assert read_noise("nopm") == pytest.approx([stdev(logs)])


@UNDRAWN
def test_the_last_lines_have_the_cautions_of_the_first_screen(
    tmp_path: Path, capsys: Captured
) -> None:
    """After the findings, of a run as of its report, and for programs."""
    root = build(tmp_path / "run", repeat=4, memory_limit_enforced=False)
    outcome = RunOutcome(RunDirectory(Path(root)), "finished", None, (), {})
    page = answer(make_context(read_run(Path(root))))
    assert [each for each in page.flaws if "memory limit was not enforced" in each]
    printed = []
    told: list[Event] = []
    conclude(outcome, None, json=False, tell=told.append)
    [ended] = told
    assert isinstance(ended, RunEnded)
    assert (ended.end, ended.error, ended.report and ended.report.exists()) == (
        "finished", None, True,
    )  # fmt: skip
    assert {f"Caution: {flaw}" for flaw in page.flaws} < {*ended.findings}
    printed.append(capsys.readouterr().out)
    run(["report", root])
    printed.append(capsys.readouterr().out)
    for text in printed:
        lines = [line for line in text.splitlines() if line.startswith("Caution: ")]
        assert lines == [f"Caution: {flaw}" for flaw in page.flaws]
    run(["report", root, "--json"])
    assert reported(capsys)["cautions"] == [*page.flaws]


def test_every_format_tells_of_another_run_if_asked(tmp_path: Path, capsys: Captured) -> None:
    """Figures and tables included. The change is that of `compare`, now over before."""
    before, after = build(tmp_path / "before"), build(tmp_path / "after", changes=SLOW)
    assert run(["compare", before, after, "--json"]) == 0
    [compared] = reported(capsys)["comparisons"]
    [row] = [each for each in compared["rows"] if each["distinguishable"]]
    assert (row["candidate"], row["level"], row["metric"]) == ("disk", "4", "nopm")
    assert row["value_other"] == 1501.0
    assert row["change"]["low"] < row["change"]["ratio"] < row["change"]["high"] < 0.6
    assert run(["report", after, "--compare", before, "--format", "html,md,json"]) == 0
    made = files_of(tmp_path / "after")
    for name in ("html", "md"):
        assert "1 differs by more than chance explains" in made[f"report.{name}"].decode()
    [other] = json.loads(made["report.json"])["sections"]["runs"]["facts"]["pairs"]
    assert (other["base"], other["other"], len(other["rows"])) == ("before", "after", 12)
    ratios = [row["change"]["ratio"] for row in compared["rows"]]
    assert [row["ratio"] for row in other["rows"]] == pytest.approx(ratios)
    assert {"report/figures/runs-1.svg", "report/tables/runs-1.csv"} <= made.keys()
    assert run(["report", after, "--format", "html,json"]) == 0
    left = files_of(tmp_path / "after")
    assert "runs" not in json.loads(left["report.json"])["sections"]
    assert b"against before" not in left["report.html"]
    assert not [name for name in left if "runs-" in name]


@UNDRAWN
def test_another_run_changes_neither_findings_nor_code(tmp_path: Path, capsys: Captured) -> None:
    """A run without a valid window answers nothing, and is reported beside one that does."""
    one, said = build(tmp_path / "one"), []
    windows = [window_id(name, users, 0) for name in ("disk", "memory") for users in (1, 4)]
    nothing = build(tmp_path / "nothing", repeat=1, changes=invalid(*windows))
    for words in ([], ["--compare", nothing]):
        capsys.readouterr()
        assert run(["report", one, "--format", "md", *words, "--json"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert run(["compare", one, nothing]) == 5
    for root, code in ((one, 0), (nothing, 5)):
        outcome = RunOutcome(RunDirectory(Path(root)), "finished", None, (), {})
        assert conclude(outcome, None, json=True) == code, "no valid window answers anything"


def test_what_counts_is_compared_only_where_it_is_ignored(tmp_path: Path, capsys: Captured) -> None:
    """Every fact by name, what is ignored above the numbers; flaws of a run are reported, too."""
    session = {"started_at_s": 1.0, "boot_id": "x", "changed": ["kernel: 6.0 before, 6.1.0 now"]}
    one = build(tmp_path / "one", changes=invalid("w-disk-u4-b0"), end="interrupted")
    two = build(tmp_path / "two", repeat=1, duration_s=4, seed=2)
    file = tmp_path / "two/manifest.json"
    document = json.loads(file.read_text()) | {"sessions": [session]}
    document["environment"]["kernel"]["value"] = "6.2.0"
    write_with_checksum(file, json.dumps(document).encode())
    assert run(["compare", one, two, "--ignore", "fsync"]) == 2
    err = capsys.readouterr().err
    assert "duration_s: 3 and 4: --ignore duration_s" in err
    assert "kernel: 6.1.0 and 6.2.0: --ignore kernel" in err
    assert run(["compare", one, two, "--ignore", "kernel", "--json"]) == 2
    facts = [{"name": "duration_s", "subject": "", "base": "3", "other": "4"}]
    assert reported(capsys)["failure"]["facts"] == facts
    ignored = ["--ignore", "kernel", "--ignore", "duration_s"]
    assert run(["compare", one, two, *ignored]) == 0
    shown = capsys.readouterr().out
    for part in (
        "differs, ignored on request: ", "does not prevent the comparison: seed: 1 and 2",
        f"{one}: 1 of 12 windows is invalid; left out",
        f"{one}: the run was not finished (interrupted)",
        f"{two}: resumed although something had changed: kernel: 6.0 before",
        "none: 2 windows of each are needed  2+1",
    ):  # fmt: skip
        assert part in shown
    run(["compare", one, two, *ignored, "--json", "--metric", "p99 of payment", "--metric", "tpm"])
    [document] = reported(capsys)["comparisons"]
    assert sorted(each["name"] for each in document["ignored"]) == ["duration_s", "kernel"]
    flaws = ["1 of 12 windows is invalid; left out", "the run was not finished (interrupted)"]
    assert document["flaws"]["base"] == flaws
    assert len(document["flaws"]["other"]) == 1
    metrics = list(dict.fromkeys(row["metric"] for row in document["rows"]))
    assert (metrics, len(document["rows"])) == (["p99 of payment", "tpm"], 2 * 2 * 2)


def test_an_export_goes_to_a_file_as_to_standard_output(tmp_path: Path, capsys: Captured) -> None:
    """Byte for byte the same; that windows are not valid is said beside it, nothing is changed."""
    root = build(tmp_path / "run", **ONE, changes=invalid("w-disk-u1-b0"))
    before, out = files_of(tmp_path / "run"), tmp_path / "out"
    for name in plugins(ExportFormat):
        assert run(["export", root, "--to", name]) == 0
        shown, talk = capsys.readouterr()
        assert talk.startswith("1 window is invalid: ")
        assert run(["export", root, "--to", name, "--out", str(out)]) == 0
        assert (capsys.readouterr().out, out.read_text()) == ("", shown)
    assert files_of(tmp_path / "run") == before
    assert run(["export", build(tmp_path / "nothing", users=()), "--to", "go-bench"]) == 5
    assert capsys.readouterr().out == ""
