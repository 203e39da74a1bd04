"""Whole runs with fakes, from their study to their end: thresholds, durability, comparison."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from fakes.hammer import FakeHammer
from recompute import points
from recompute.statistics import around
from reference.study import study_schema
from stithy.cli.app import run
from stithy.cli.talk.conclude import conclude
from stithy.engines.instance import Configuration
from stithy.errors import InfrastructureError
from stithy.report.context import make_context
from stithy.report.drawing import draw
from stithy.report.page import Page
from stithy.report.sections.answer import answer
from stithy.results.files import read_rows, read_run, write_json, write_table
from stithy.results.layout import RunDirectory
from stithy.results.tables import VALUES
from stithy.run.events import Note, StepStarted
from stithy.run.session import Stop
from support.faked_run import FakedRun
from support.published import EXPORTS, TEXTS, publish
from support.sample_run import Shape, build_run

pytestmark = pytest.mark.usefixtures("own_state")
MET, MISSED = "a.nopm_at_1 >= 1", "b.new-order.p95_at_2 <= 1us"
GONE = InfrastructureError("the drive is gone", where="somewhere", remedy="none")


@pytest.mark.parametrize(("thresholds", "how", "code", "counted"), [
    ((), {}, 0, ("0", "0", "0")),
    ((MET,), {}, 0, ("1", "0", "0")),
    ((MET, MISSED), {}, 99, ("2", "1", "0")),
    ((MET, MISSED), {"broken": True}, 5, ("2", "0", "2")),
    ((MET, MISSED), {"faults": {"prepare": GONE}}, 4, ("2", "0", "2")),
])  # fmt: skip
def test_a_missed_threshold_ends_with_99(
    thresholds: tuple[str, ...], how: dict[str, Any], code: int, counted: tuple[str, ...],
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """And with 5 where nothing is valid, or with its failure; a pipeline has its JUnit XML.

    Every format that is there is written again: it would contradict the page beside it.
    """
    hammer, junit = FakeHammer(sound=True, **how), tmp_path / "junit.xml"
    outcome = FakedRun(tmp_path, hammer=hammer, thresholds=thresholds).run()
    old = outcome.directory.report_as("md")
    old.write_text("of before")
    assert conclude(outcome, junit, json=True) == code
    judged = json.loads(capsys.readouterr().out)["thresholds"]
    expected = ["cannot be judged"] * 2 if how else ["met", "not met"]
    assert [each["outcome"] for each in judged] == expected[: len(thresholds)]
    suites = ElementTree.parse(junit).getroot()
    [suite] = list(suites) or [suites]
    assert tuple(suite.get(name) for name in ("tests", "failures", "errors")) == counted
    assert ("of before" in old.read_text()) is ("faults" in how or "broken" in how)
    assert not outcome.directory.report_as("pdf").exists()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The directory of a usual run, which others are held against."""
    root = tmp_path_factory.mktemp("plain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STITHY_STATE", str(root / "state"))
        return _ran(root / "run")


OWN = {"a": "memory: 256 MiB, settings: {shared_buffers: 64MB, fsync: off}"}


def test_a_candidate_has_its_own_settings(
    tmp_path: Path, plain: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not while its database becomes the master copy. Results, page and comparison say so."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), keys=OWN)
    faked.run()
    given = Configuration({"max_wal_size": "64MB", "shared_buffers": "64MB", "fsync": "off"}, 2**28)
    starts = {
        name: [s.own for s in faked.engine.starts if s.data.is_relative_to(faked.root / name)]
        for name in "ab"
    }
    # Loading and its check, then two windows and the last check.
    assert starts == {"a": [None, None, given, given, given], "b": [None] * 3}
    context = make_context(read_run(faked.out))
    assert context.manifest is not None
    assert context.manifest.database.effective_settings == {"wal_level": "replica"}
    assert [candidate.effective_settings for candidate in context.manifest.candidates] == [
        {"fsync": "off", "shared_buffers": "64MB"}, {"fsync": "on", "shared_buffers": "1MB"},
    ]  # fmt: skip
    page = Page(context)
    assert page.tables["candidates"].frame.select("memory_limit_bytes", "settings").rows() == [
        (256 * 2**20, "shared_buffers = 64MB, fsync = off"),
        (192 * 2**20, "shared_buffers = 32MB, fsync = on"),
    ]
    assert (
        "database settings of candidates",
        "a: shared_buffers = 64MB, fsync = off; b: shared_buffers = 32MB, fsync = on",
    ) in page.tables["compared"].frame.rows()
    assert answer(context).flaws[0].startswith("Durability is given up with fsync off on a: ")
    assert context.label == "NOT DURABLE: fsync off on a"
    assert context.names_drawn == {"a": "a (fsync off)", "b": "b"}
    assert run(["compare", plain, str(faked.out)]) == 2
    shown = capsys.readouterr().err
    for fact in ("settings.fsync: on and off", "settings.shared_buffers: 1MB and 64MB",
                 "memory_limit_bytes: 201326592 and 268435456"):  # fmt: skip
        assert f"a: {fact}" in shown


VARY = "{database.memory: [192 MiB, 320 MiB, 1 GiB]}"


def test_varied_memory_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Servers are started as each point says; rounds have every point; all formats tell of it."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), users=(4,), vary=VARY,
                     load={"repeat": "2"}, primary="{at: {database.memory: 1 GiB}}",
                     thresholds=("a.nopm_at_1GiB >= 1", "b.nopm_at_u4-memory192mib >= 1"),
                     )  # fmt: skip
    outcome = faked.run()
    context = make_context(read_run(faked.out))
    evidence = context.evidence
    sizes = {each.point.values["database.memory"] for each in evidence.windows}
    assert (len(evidence.windows), sizes) == (12, {"192 MiB", "320 MiB", "1 GiB"})
    assert [str(level) for level in evidence.levels][::2] == [
        "users=4, database.memory=192 MiB", "users=4, database.memory=1 GiB",
    ]  # fmt: skip
    for window in evidence.windows:
        own = window.point.values["database.memory"] != "192 MiB"
        starts = [s for s in faked.engine.starts if window.id in str(s.log)]
        assert [s.own is not None for s in starts] == [own]
        assert not own or starts[0].own is not None
        assert {s.own.memory_bytes for s in starts if s.own} <= {320 * 2**20, 2**30}
    places = {str(point): place for place, point in enumerate(evidence.points)}
    turns = [(row["block"], places[row["point"]]) for row in context.run.window.to_dicts()]
    rounds = {block: {place for b, place in turns if b == block} for block, _ in turns}
    assert rounds == {0: {0, 1, 2}, 1: {0, 1, 2}}
    assert conclude(outcome, None, json=True) == 0
    assert [load["outcome"] for load in json.loads(capsys.readouterr().out)["thresholds"]] == [
        "met", "met",
    ]  # fmt: skip
    shown = publish(faked.out, capsys)
    for kind in TEXTS:
        assert "What database.memory changed" in shown[kind]
        assert "320 MiB" in shown[kind]
    assert "4 users with database.memory 320 MiB" in shown["compare"]
    assert [to for to in EXPORTS if "database.memory=320" not in shown[to]] == []
    page = Page(context)
    assert page.tables["factor-steps"].frame.select("candidate", "from", "to").rows() == [
        (name, *step)
        for name in "ab" for step in (("192 MiB", "320 MiB"), ("320 MiB", "1 GiB"))
    ]  # fmt: skip
    assert context.manifest is not None
    assert context.manifest.memory is not None
    assert context.manifest.memory.varied == ("limit_bytes",)


def test_an_own_scenario_goes_to_its_report(
    tmp_path: Path, fakes: Path, plain: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its keys, and a step of a kind of its own; nothing knows it but its two files."""
    own = "{sleep: {seconds: 2}}"
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), scenario=own)
    faked.run_cut_off()
    journal = (faked.out / "journal.jsonl").read_text()
    assert journal.count("slept 2 s") == 1
    run(["plan", str(faked.root / "study.yaml")])  # whether a server could run here is not asked
    shown = capsys.readouterr().out
    assert "Scenario: sleep {seconds: 2}" in shown
    assert "sleep, remove everything" in shown
    assert "sleep {seconds: 2}" in publish(faked.out, capsys)["md"]
    assert run(["compare", plain, str(faked.out)]) == 2
    assert "scenario: load and sleep {seconds: 2}" in capsys.readouterr().err
    wrong = faked.root / "wrong.yaml"
    text = (faked.root / "study.yaml").read_text()
    wrong.write_text(text.replace("seconds: 2", "seconds: 0"))
    assert run(["plan", str(wrong)]) == 2
    assert "`scenario.sleep.seconds`: too small: 0: at least 1" in capsys.readouterr().err
    scenarios = study_schema()["properties"]["scenario"]["anyOf"][0]["enum"]
    assert scenarios == [
        "backup", "block-io", "durability", "failure", "load", "migration", "noisy-neighbour",
        "notes", "sleep",
    ]  # fmt: skip


def _is_window(event: object) -> bool:
    return isinstance(event, StepStarted) and event.step.kind == "window"


NOTES = """study: Does it note?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
scenario: {notes: {lines: [50, 100], repeat: 1}}
vary: {scenario.notes.length: [8, 64]}
thresholds: [a.note.lines_per_s_at_lines50-length8 >= 40/s]
"""


def test_a_scenario_may_have_no_database(
    tmp_path: Path, fakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its activity and metrics are of their own; it is cut off, resumed, compared and exported."""
    faked = FakedRun(tmp_path, text=NOTES)
    faked.on_event = lambda event: faked.stop.signal() if _is_window(event) else None
    assert faked.run().end == "interrupted"
    faked.on_event, faked.stop = lambda event: None, Stop()
    assert faked.resume().end == "finished"
    run(["plan", str(faked.root / "study.yaml")])
    assert "scenario.notes.length: 8, 64" in capsys.readouterr().out
    shown = publish(faked.out, capsys)
    for kind in TEXTS:
        assert "lines per second" in shown[kind]
        assert "Acknowledged work" not in shown[kind]  # nor what else only a database can have
    assert "lines/s" in shown["compare"]
    assert [to for to in EXPORTS if "lines" not in shown[to]] == []


LOST = """study: Does it lose lines?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
scenario: {notes: {lines: [50], repeat: 4}}
primary: {metric: note.lost}
thresholds: [b.note.lost_at_50 <= 20]
"""


def test_metrics_around_0_are_compared_by_differences(
    tmp_path: Path, fakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of lines lost, 0 on one candidate: verdict, interval and comparison are in lines.

    Exports mark what does not count in a window; all else of it is valid.
    """
    faked = FakedRun(tmp_path, text=LOST)
    outcome = faked.run()
    assert conclude(outcome, None, json=True) == 0
    context = make_context(read_run(faked.out))
    lost = context.run.values.filter(metric="note.lost").join(
        context.run.window.select("window_id", "candidate", "block"), on="window_id"
    )
    of = {name: lost.filter(candidate=name).sort("block")["value"].to_list() for name in ("a", "b")}
    assert of == {"a": [0.0] * 4, "b": [3.0, 4.0, 3.0, 4.0]}
    low, high = around([b - a for a, b in zip(*of.values(), strict=True)]) or (0.0, 0.0)
    [row] = Page(context).tables["verdicts"].frame.filter(metric="lost").to_dicts()
    assert (row["value"], row["low"], row["difference"]) == (None, None, 3.5)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx((low, high))
    shown = publish(faked.out, capsys, "--metric", "note.lost")
    assert "none: the windows do not vary" in shown["compare"]
    assert "−" in shown["compare"]
    assert "note_lost{" in shown["openmetrics"]
    for kind in TEXTS:
        assert "b is worse than a: its lines lost came to 3.5 more" in shown[kind]
    # Its own table is read by the name that it declares.
    of_b = [window.id for window in context.evidence.windows if window.candidate == "b"]
    assert sorted(context.run.detail("note_lines", each).height for each in of_b) == [3, 3, 4, 4]
    assert context.run.detail("note_lines").is_empty()
    # What does not count in a window is a span of it alone.
    spans = Page(context).tables["spans"].frame
    assert all(each.valid for each in context.evidence.windows)
    assert spans.filter(valid=False)["because"].to_list() == ["more than 3 lines were lost"] * 2
    assert len(spans) == 8
    [window] = context.run.window.filter(candidate="b", block=1)["window_id"].to_list()
    path = RunDirectory(faked.out).window(window).table("values")
    known = list(read_rows(path, VALUES))
    write_table(path, VALUES, [*known, known[1] | {"of": "noting"}])
    assert run(["export", str(faked.out), "--to", "csv"]) == 0
    rows = pl.read_csv(capsys.readouterr().out.encode()).filter(window_id=window)
    assert rows.sort("transaction").select("transaction", "valid", "invalid_because").rows() == [
        ("all", True, None), ("noting", False, "more than 3 lines were lost"),
    ]  # fmt: skip
    assert run(["export", str(faked.out), "--to", "openmetrics"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "note_lost{" in line]
    of_window = [each for each in lines if f'window="{window}"' in each]
    marked = sorted(('of="noting"' in each, 'valid="false"' in each) for each in of_window)
    assert marked == [(False, False), (True, True)]


def test_metrics_around_0_declare_their_margin(
    tmp_path: Path, fakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A share of nothing is refused; the plan has no odds of ratios."""
    study = tmp_path / "study.yaml"
    text = LOST.replace("{root}", str(tmp_path))
    study.write_text(text)
    run(["plan", str(study)])  # whether this machine could run it does not matter
    shown = capsys.readouterr().out
    assert "lines lost at lines 50, b against a, margin 0.5." in " ".join(shown.split())
    assert "How likely each answer is" not in shown
    study.write_text(text.replace("{metric: note.lost}", "{metric: note.lost, margin: 2%}"))
    assert run(["plan", str(study)]) == 2
    assert "a share as the margin of `note.lost`" in capsys.readouterr().err


def test_tables_of_factors_follow_from_windows(tmp_path: Path, fakes: Path) -> None:
    """Each value, and each step between two, in tables, words and a figure."""
    faked = FakedRun(tmp_path, text=NOTES.replace("repeat: 1", "repeat: 4"))
    faked.run()
    page = Page(make_context(read_run(faked.out)))
    assert all(window.valid for window in page.context.evidence.windows)
    found = points.measured(faked.out, summed=("note.lost",))
    rows = page.tables["measured"].frame.to_dicts()
    assert len(rows) == len(found) == 8
    for row in rows:
        at = tuple((key, row[key]) for key in ("lines", LENGTH))
        expected = found[row["candidate"], at]
        assert {name: row[name] for name in expected} == pytest.approx(expected)
    asked = LENGTH, "note.lines_per_s", {"lines": "100"}
    for name, same in (("factors", points.factors), ("factor-steps", points.steps)):
        rows = page.tables[name].frame.to_dicts()
        expected_rows = list(same(faked.out, *asked))
        assert len(rows) == len(expected_rows) > 0
        for expected_row in expected_rows:
            [row] = [row for row in rows if row | _texts(expected_row) == row]
            numbers = {
                key: expected_row[key] for key in expected_row if key not in _texts(expected_row)
            }
            assert {key: row[key] for key in numbers} == pytest.approx(numbers)
    shown = [column.column for column in page.tables["factors"].columns]
    assert shown == ["factor", "value", "candidate", "asked", "windows"]
    assert f"by-{LENGTH}" in {figure.name for figure in page.figures}


LENGTH = "scenario.notes.length"


def _texts(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if isinstance(value, str)}


def test_runs_are_compared_at_shared_points(
    tmp_path: Path, fakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which points are measured and how often is not what was done; the rest of the keys is."""
    texts = {
        "one": LOST,
        "two": LOST.replace("[50], repeat: 4", "[50, 80], repeat: 2"),
        "longer": LOST.replace("repeat: 4", "repeat: 4, length: 16"),
    }
    outs = {}
    for name, text in texts.items():
        faked = FakedRun(tmp_path / name, text=text)
        faked.root.mkdir()
        faked.run()
        outs[name] = str(faked.out)
    assert run(["compare", outs["one"], outs["two"]]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "4+2" in line]
    assert {(row[1], row[2]) for row in rows} == {("a", "50"), ("b", "50")}
    assert run(["compare", outs["one"], outs["longer"]]) == 2
    assert "scenario: notes {length: 8} and notes {length: 16}" in capsys.readouterr().err


OFF = {"fsync": "off", "full_page_writes": "off"}
SAID = "Durability is given up with fsync off: nothing is flushed"
LABEL = "NOT DURABLE: fsync off, full_page_writes off"


def _ran(place: Path, *, durable: bool = True, **load: str) -> str:
    """The directory of a run with fakes."""
    place.mkdir()
    settings = {} if durable else OFF
    faked = FakedRun(place, hammer=FakeHammer(sound=True), load=load, settings=settings)
    faked.run()
    first = next(n for n, each in enumerate(faked.events) if isinstance(each, StepStarted))
    reported = [event.text for event in faked.events[:first] if isinstance(event, Note)]
    assert any(text.startswith(SAID) for text in reported) is not durable
    if not durable:
        # As if a real server had told that these are in force, of which the fake knows nothing.
        found = read_run(faked.out).manifest
        assert found is not None
        database = found.database.model_copy(update={"effective_settings": OFF})
        write_json(
            faked.out / "manifest.json", found.model_copy(update={"given_database": database})
        )
    return str(faked.out)


def test_only_equal_studies_are_comparable(
    tmp_path: Path, plain: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of a run that is its own, such as times and places, stands in the way."""
    assert run(["compare", plain, _ran(tmp_path / "two")]) == 0
    shown = capsys.readouterr().out
    assert "differs" not in shown
    assert "1+1" in shown
    other = _ran(tmp_path / "other", ledger="true")
    assert run(["compare", plain, other]) == 2
    assert "ledger: no and yes" in capsys.readouterr().err
    assert run(["compare", plain, other, "--ignore", "ledger"]) == 0


def test_durability_given_up_is_always_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Plan, run and comparison say so, the first screen, and every name in a figure."""
    both = [_ran(tmp_path / name, durable=False) for name in ("before", "now")]
    study = str(tmp_path / "now/study.yaml")
    capsys.readouterr()
    run(["plan", study])  # which may find faults of this machine
    assert SAID in " ".join(capsys.readouterr().out.split())
    run(["plan", study, "--json"])
    planned = json.loads(capsys.readouterr().out)["durability_given_up"]
    assert [(each["setting"], each["value"]) for each in planned] == list(OFF.items())
    assert run(["compare", *both]) == 0
    assert capsys.readouterr().out.count(SAID) == 2
    assert run(["compare", *both, "--json"]) == 0
    [reported] = json.loads(capsys.readouterr().out)["comparisons"]
    assert reported["durability_given_up"] == {"base": planned, "other": planned}
    directory = build_run(tmp_path / "run", Shape(settings=OFF, duration_s=3, series=False))
    context = make_context(read_run(directory.root))
    page = Page(context)
    assert answer(context).flaws[0].startswith(SAID)
    assert context.label == LABEL
    [forest] = [figure for figure in page.figures if figure.name == "throughput-by-users"]
    assert LABEL in page.footer(forest)
    drawn = draw.draw_svg(forest.spec, forest.name)
    for name in context.evidence.candidates:
        assert f">{name} (fsync off, full_page_writes off)<" in drawn
        assert f">{name}<" not in drawn
    assert set(forest.table.frame["candidate"]) == {"disk", "memory"}
