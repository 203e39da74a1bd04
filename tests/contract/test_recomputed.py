"""Every number of a report follows from the run's rawest files, and a wrong one is found.

The second way is `tests/recompute/`, which knows nothing of the product's code; the run is made up,
a real one is asked by `benches/recomputed.py`.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recompute.figures import words_pool
from recompute.files import Files, Row
from recompute.levels import in_report
from recompute.markdown import pieces
from recompute.printed import is_shown_as, shown
from recompute.tables import TABLES
from recompute.walk import (
    Outcome,
    Table,
    find_unprinted,
    of_comparison,
    of_json,
    of_markdown,
    of_tables,
)
from stithy.activities.hammer.declared import LOAD
from stithy.cli.app import run
from stithy.point import Point
from stithy.registry import plugins
from stithy.report.findings import FindingKind
from stithy.report.page import Page
from stithy.results import tables
from stithy.results.files import read_run, write_json, write_table
from stithy.results.layout import RunDirectory
from stithy.results.manifest import LimitFacts, QuestionFacts, SearchFacts
from stithy.study.thresholds import Names, parse_threshold
from support.drawn import context_built
from support.hosts import with_hosts
from support.points import at
from support.priced import PRICING
from support.reported import write_undrawn_report
from support.sample_run import TRANSACTIONS, Shape, build_run, window_id

STATES = {"user": 0.4, "system": 0.15, "irq": 0.05, "nice": 0.0, "idle": 0.3, "steal": 0.1}
"""Shares of the server's CPU: six tenths are work."""


def with_server_work(root: Path) -> None:
    """Samples of the server's CPU and of buffer hits beside those that the run has."""
    for path in sorted(root.glob("windows/*/series.parquet")):
        known = pl.read_parquet(path)
        reads = known.filter(metric="blocks_read_per_s")
        hits = reads.with_columns(pl.lit("blocks_hit_per_s").alias("metric"), pl.col("value") * 19)
        shares = [
            reads.with_columns(
                pl.lit("cpu").alias("collector"), pl.lit("server").alias("subject"),
                pl.lit(f"{name}_share").alias("metric"), pl.lit("").alias("unit"),
                pl.lit(share).alias("value"),
            )
            for name, share in STATES.items()
        ]  # fmt: skip
        write_table(path, tables.SERIES, pl.concat([known, hits, *shares]).to_dicts())
    for path in sorted(root.glob("windows/*/load.parquet")):
        bound = pl.read_parquet(path).with_columns(server_cpus=pl.lit(1))
        write_table(path, LOAD, bound.to_dicts())
    run = RunDirectory(root)
    manifest = read_run(root).manifest
    assert manifest is not None
    database = manifest.database.model_copy(update={"cpus": (0,)})
    write_json(run.manifest, manifest.model_copy(update={"given_database": database}))


FLAWED = Shape(
    users=(1, 2, 4), planned=(1, 2, 4), duration_s=5, repeat=4, logs=True, ledger=True,
    drives={"disk": 0.02},
    limit=LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1),
    pricing=PRICING,
    changes={
        window_id("memory", 4, 1): {"errors": 1, "error_text": "deadlock detected"},
        window_id("disk", 2, 0): {"headline_acknowledged": 31, "server_commits": 77},
        window_id("memory", 2, 0): {"ledger_problem": "no room after 12 entries"},
        window_id("memory", 2, 1): {"ledger_unverified_because": "server 15 is gone"},
        window_id("disk", 2, 2): {"rate_per_s": 100.0, "backlog": 417},
        window_id("memory", 2, 2): {"pace": "think", "think_mean_s": 9.0},
        window_id("memory", 2, 3): {"lateness_mean_s": 0.5, "maintenance_runs": 3},
    },
    lost={window_id("disk", 2, 1): 1},
    own={"memory": {"memory_limit_bytes": 3 * 2**30, "settings": {"shared_buffers": "768MB"}}},
    surroundings={window_id("disk", 2, 3): {
        "log_files_made": 7, "others_cpu_s": 3.3, "others_here_bytes": 2**29,
        "memory_limit_lost": "2 processes moved", "idle_bytes": 2**22,
    }},
    baselines=dict.fromkeys(
        (window_id(name, 2, 3) for name in ("disk", "memory")),
        {"one_rounds_per_s": 90_000.0, "read_p50_s": 0.0003},
    ),
)  # fmt: skip
NAMES = Names(("gp3", "io2"), (at(1000), at(1500)), tuple(TRANSACTIONS))
THRESHOLDS = (
    "gp3.nopm_at_1500 >= 5000", "io2.new-order.p95_at_1000 <= 1.5 s",
    "1.2 * gp3.tpm_at_1000 <= io2.tpm_at_1500", "gp3.block.flush_latency_s_at_1500 < 5 ms",
    "io2.database.waiting_sessions_at_1000 >= 3",
)  # fmt: skip
POOLED = Shape(
    candidates=("gp3", "io2"), users=(1000, 1500), planned=(1000, 1500), duration_s=15, repeat=4,
    logs=True, drives={"gp3": 0.0, "io2": 0.0}, think_s=1.5, pool=24,
    changes={window_id("io2", 1500, 1): {"lateness_mean_s": 0.05, "lateness_p99_s": 0.2}},
    primary=QuestionFacts(point=Point.of(users=1500), metric="p95", margin_share=0.1,
                          candidates=("gp3", "io2"), blocks_least=4, blocks_most=6),
    search=SearchFacts(percentile="p95", transaction="all", limit_s=1.0, users_least=1000,
                       users_most=1500, listed=(1000, 1500)),
    thresholds=tuple(parse_threshold(each, NAMES) for each in THRESHOLDS),
)  # fmt: skip
"""Users who think and share connections, a search, thresholds, and an earlier run beside it."""

SLOW = {
    window_id("gp3", 1500, block): {
        "headline_committed": 750 + 3 * block, "headline_per_min": 3000.0 + 12 * block,
    }
    for block in range(4)
}  # fmt: skip

Key = str | int


@pytest.fixture(scope="module", params=["flawed", "pooled"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A run with a limit, costs, ledgers, an emulated drive and an invalid window; another one."""
    folder = tmp_path_factory.mktemp("recomputed")
    if request.param == "pooled":
        build_run(folder / "before", replace(POOLED, seed=2, logs=False, changes=SLOW))
        root = build_run(folder / "after", POOLED).root
        for place, share in ((("gp3", 1500, 2), 1.04), (("io2", 1500, 3), 1.03)):
            _delayed(RunDirectory(root).window(window_id(*place)).table("drives"), share)
        with_hosts(root)
        write_undrawn_report(folder / "before", ("json",))
        write_undrawn_report(folder / "after", ("md", "json"), [folder / "before"])
        return Files(folder / "after", [folder / "before"])
    root = build_run(folder / "run", FLAWED).root
    _without_waits(RunDirectory(root).window(window_id("disk", 4, 0)).table("series"))
    _with_a_stall(RunDirectory(root).window(window_id("disk", 4, 2)).table("seconds"))
    with_server_work(root)
    write_undrawn_report(root, ("md", "json"))
    return Files(root)


def _without_waits(path: Path) -> None:
    """In one of a level's windows nobody waits for a lock: the mean of all counts it as 0."""
    calm = (pl.col("metric") == "waiting_sessions") & (pl.col("subject") == "LWLock")
    value = pl.when(calm).then(0.0).otherwise(pl.col("value"))
    write_table(path, tables.SERIES, pl.read_parquet(path).with_columns(value=value).to_dicts())


def _delayed(path: Path, factor: float) -> None:
    """In one of the windows requests took longer, and a flush should have taken no time."""
    rows = pl.read_parquet(path).to_dicts()
    for row in rows[:3]:
        due_s = 0.0 if row["operation"] == "flush" else row["device_mean_s"] - row["added_mean_s"]
        row["device_mean_s"] *= factor
        row["added_mean_s"] = row["device_mean_s"] - due_s
    write_table(path, tables.DRIVES, rows)


def _with_a_stall(path: Path) -> None:
    """In one second of the measurement hardly anything was done."""
    frame = pl.read_parquet(path)
    stalled = pl.col("second") == frame.filter(phase="measure")["second"][1]
    done = [
        pl.when(stalled).then(pl.lit(1)).otherwise(pl.col(name)).cast(pl.Int64).alias(name)
        for name in ("committed", "rolled_back")
    ]
    write_table(path, tables.SECONDS, frame.with_columns(done).to_dicts())


@pytest.fixture(scope="module")
def report(files: Files) -> Row:
    """Its answer as JSON."""
    loaded: Row = json.loads((files.root / "report.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def parts(files: Files) -> list[str]:
    """The paragraphs, tables and figures of its report in Markdown."""
    return pieces((files.root / "report.md").read_text())


def _assert_true(outcome: Outcome, least: int) -> None:
    assert outcome.disagreements == []
    assert outcome.unexplained == []
    assert outcome.checked.total() > least


def test_tables_follow_from_files(files: Files) -> None:
    """Of the report and behind its figures, as Parquet and as CSV."""
    _assert_true(of_tables(files), 10_000)


def test_json_and_markdown_follow_from_files(files: Files, report: Row) -> None:
    """Those of sentences, too; in the order of lines and cells."""
    _assert_true(of_json(files, report), 500)
    _assert_true(of_markdown(files, (files.root / "report.md").read_text()), 150)


def test_a_comparison_follows_from_files(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    """Of `stithy compare`, with the earlier run as its base, as JSON and in lines."""
    for other in files.others:
        words = ["compare", str(other.root), str(files.root)]
        run(words)
        text = capsys.readouterr().out
        run([*words, "--json"])
        document = json.loads(capsys.readouterr().out)
        _assert_true(of_comparison(files, document, text), 100)
        assert sum(row["distinguishable"] for row in document["comparisons"][0]["rows"]) == 1


def test_the_page_follows_from_files(files: Files) -> None:
    """Of captions and footers; cells show their numbers rounded, on the page as in print."""
    page = Page(context_built(files.root))
    outcome = Outcome()
    for figure in page.figures:
        pool = words_pool(files, {"figure": figure.name, "title": figure.title})
        outcome.say(files, figure.name, figure.caption, {}, pool)
        outcome.say(files, figure.name, figure.footer, {})
        assert figure.description.startswith(figure.title)
    _assert_true(outcome, 80)
    cells = [cell for table in page.tables.values() for row in table.cells() for cell in row]
    numbers = [cell for cell in cells if cell.value is not None]
    assert len(numbers) > 500
    assert [each for each in numbers if not is_shown_as(each.text, each.value or 0.0)] == []


def test_wrong_numbers_in_json_are_found(files: Files, report: Row) -> None:
    """One at a time, a value of each column or sentence by a per mille; levels are keys."""
    keys = {"figures", "facts-drives", "users", "level", "finding", "row"}
    places = [each for each in _list_places(report, ()) if keys.isdisjoint(each)]
    found = [_is_true(of_json(files, _change(_only(report, way), _place_alone(way))))
             for way in places]  # fmt: skip
    assert len(places) > 200
    assert [place for place, is_true in zip(places, found, strict=True) if is_true] == []


def test_wrong_numbers_in_markdown_are_found(files: Files, parts: list[str]) -> None:
    """One at a time, in the last digit of one cell of each column, and of each sentence."""
    tables = [part for part in parts if part.startswith("|")]
    wrong = [_other_digit(part, end) for part in tables for end in _ends(part)]
    assert len(wrong) > 100
    assert [each for each in wrong if _is_true(of_markdown(files, each))] == []
    text = (files.root / "report.md").read_text()
    assert find_unprinted(files, text) == set()
    said = next(each for each, row in files.statements.items() if each in text and not row)
    assert find_unprinted(files, text.replace(said, _other_digit(said, [*shown(said)][0].end)))


ASKED = QuestionFacts(
    point=Point.of(users=4), metric="nopm", margin_share=0.3, candidates=("disk", "other"),
    blocks_least=4, blocks_most=4,
)  # fmt: skip
ALIKE = Shape(
    candidates=("disk", "memory", "other"), users=(4,), duration_s=3, repeat=4, series=False,
    primary=ASKED,
)  # fmt: skip
UNSURE = replace(ALIKE, primary=ASKED.model_copy(update={"margin_share": 0.001}))
FEW = Shape(users=(1, 4), duration_s=3, repeat=2, series=False)
ALONE = Shape(candidates=("disk",), users=(4,), duration_s=3)
NOTHING = replace(ALONE, changes={window_id("disk", 4, 0): {"errors": 1}})

KINDS = (
    ("comparison", ALIKE, "disk and other are equivalent"),
    ("comparison", UNSURE, "undecided"),
    ("comparison", FEW, "needs at least 4 blocks"),
    ("growth", FEW, " times"),
    ("alone", ALONE, "in one window"),
    ("nothing", NOTHING, "no answer"),
)
"""Runs whose findings have a sentence of a kind, with words that only it has."""


@pytest.mark.parametrize(("kind", "shape", "words"), KINDS, ids=[words for _, _, words in KINDS])
def test_every_kind_of_sentence_follows(
    kind: str, shape: Shape, words: str, tmp_path: Path
) -> None:
    """As it is, and with any of the answer's numbers altered."""
    root = build_run(tmp_path / "run", shape).root
    write_undrawn_report(root, ("md", "json"))
    files, report = Files(root), json.loads((root / "report.json").read_text())
    text = (root / "report.md").read_text()
    assert kind in {"nothing", *(each["kind"] for each in in_report(files, "findings"))}
    assert words in text
    found = of_tables(files) + of_json(files, report) + of_markdown(files, text)
    _assert_true(found, 80)
    answer = {"sections": {"answer": {"statements": report["sections"]["answer"]["statements"]}}}
    places = [way for way in _list_places(answer, ()) if "row" not in way and way[-1] != "users"]
    wrong = [_change(_only(answer, way), _place_alone(way)) for way in places]
    assert [each for each in wrong if _is_true(of_json(files, each))] == []


def test_every_kind_of_sentence_is_among_them() -> None:
    """Whoever adds one, adds a run that has it; searches and limits stand in the runs above, what
    is lost in those of `test_recomputed_lost`, also to faults, power cuts and migrations.
    """
    elsewhere = {"served", "limits", "impact", "survival", "power-cuts", "migration"}
    assert {kind for kind, _, _ in KINDS} | elsewhere == {*plugins(FindingKind)}


def test_a_row_that_is_missing_is_found(files: Files) -> None:
    """A table with too few rows has no wrong number."""
    outcome = Outcome()
    rows = files.rows(f"SELECT * FROM '{files.root}/report/tables/windows.parquet'")
    Table(files, "windows", TABLES["windows"]).walk(outcome, "windows", rows[1:])
    assert len(outcome.disagreements) == 1


def _is_true(outcome: Outcome) -> bool:
    return not outcome.disagreements and not outcome.unexplained


def _list_places(value: Any, path: tuple[Key, ...]) -> Iterator[tuple[Key, ...]]:
    """The way to each number, of rows those of the first."""
    if isinstance(value, list) and "tables" in path:
        yield from _list_places(dict(enumerate(value[:1])), path)
    elif isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _list_places(each, (*path, key))
    elif isinstance(value, int | float) and not isinstance(value, bool) and path != ("version",):
        yield path


def _only(report: Row, way: Sequence[Key]) -> Row:
    """What a number stands in: a table of a section, or a key of the report."""
    made: Any = report
    for key in way[: 4 if way[0] == "sections" else 1]:
        made = made[key]
    for key in reversed(way[: 4 if way[0] == "sections" else 1]):
        made = [made] if isinstance(key, int) else {key: made}
    return dict(made)


def _place_alone(way: tuple[Key, ...]) -> tuple[Key, ...]:
    """The way to it there: of a list of sentences it is the only one."""
    return (*way[:3], 0, *way[4:]) if way[2:3] == ("statements",) else way


def _ends(part: str) -> list[int]:
    """Where the numbers of the last row of a table end."""
    return [one.end for one in shown(part) if one.end > part.rindex("\n", 0, -1)]


def _change(report: Row, way: tuple[Key, ...]) -> Row:
    """The report with another number there."""
    made = copy.deepcopy(report)
    inner: Any = made
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = inner[way[-1]] * 1.001 + 1e-6
    return made


def _other_digit(text: str, end: int) -> str:
    """The text with another last digit in the number that ends there."""
    at = max(index for index in range(end) if text[index].isdigit())
    return f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"
