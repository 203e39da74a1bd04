"""What users lose to backups, neighbours and whatever breaks follows from the rawest files.

A wrong number is found. The second ways are `tests/recompute/lost.py` and `broken.py`; runs that
vary users alone are in `test_recomputed`.
"""

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from recompute import broken, lost
from recompute.files import Files, Row
from recompute.walk import Outcome, Table, of_json, of_markdown, of_tables
from stithy.point import Point
from stithy.results import tables
from stithy.results.files import write_json, write_table
from stithy.results.layout import RunDirectory
from support.lost_runs import with_backups, with_neighbour
from support.reported import write_undrawn_report
from support.sample_run import Shape, build_run, rewrite, window_id

Values = Mapping[tuple[str, str], float | str]
"""By metric and of what, a number or why there is none."""

Spans = Mapping[str, tuple[float, float]]
"""By name, from when to when since the begin of the measurement."""

Happened = Callable[[Row, str], tuple[Values, Spans, Row]]
"""Of a window's row and its level: what activities wrote, and what else is so of its load."""


def with_faults(root: Path) -> RunDirectory:
    """A loss that nobody promised to prevent, a check that failed, and a ledger not compared."""
    lost = {window_id("disk", 1, 1): 3}
    levels = {9: "none", 1: "drive-gone", 4: "server-killed"}

    def happen(row: Row, level: str) -> tuple[Values, Spans, Row]:
        if level == "none":
            return {}, {}, {}
        block, is_disk = row["block"], row["candidate"] == "disk"
        damaged = "no answer" if block == 2 and not is_disk else 0.0
        values: dict[tuple[str, str], float | str] = {
            ("fault.promised", "all"): float(not is_disk), ("fault.damaged", "all"): damaged,
            ("fault.phase_s", "degraded"): 9.0 + block,
        }  # fmt: skip
        spans = {"fault": (6.3, 18.3), "repair": (18.3, 19.4 + block), "rebuild": (25.0, 26.5)}
        unverified = "no space" if (level, block) == ("server-killed", 3) else None
        return values, spans, {"gap_from_s": 7.4 + block, "gap_s": 1.5 + 0.3 * block,
                               "ledger_unverified_because": unverified}  # fmt: skip

    return _build(root, "fault", levels, happen, lost)


def with_cuts(root: Path) -> RunDirectory:
    """One candidate loses something; of the other a cut was not looked at to its end."""

    def happen(row: Row, level: str) -> tuple[Values, Spans, Row]:
        if row["candidate"] == "memory" and row["block"] == 3:
            return {}, {}, {}
        is_lost = level != "off" or (row["candidate"] == "disk" and row["block"] == 2)
        named = {"promised": level == "off", "lost": is_lost, "transactions_lost": 7 * is_lost,
                 "acknowledged": 400, "recovery_s": 1.5 + row["block"]}  # fmt: skip
        return {(f"cut.{name}", "all"): float(value) for name, value in named.items()}, {}, {}

    return _build(root, "control", {9: "off", 1: "given-up", 4: "flush-lies"}, happen)


def with_moves(root: Path) -> RunDirectory:
    """One way loses orders, by the other a database cannot be read and a ledger is not compared."""
    lost = {window_id("disk", 1, 1): 2}

    def happen(row: Row, level: str) -> tuple[Values, Spans, Row]:
        block = row["block"]
        if level == "none":
            return {("migration.duration_s", "all"): "nothing is moved in the window"}, {}, {}
        is_gone = (row["candidate"], level, block) == ("memory", "copy", 2)
        of_load = {"gap_s": 0.4 + 0.2 * block}
        if is_gone:
            of_load |= {"ledger_unverified_because": "no start", "proof_after": None}
        elif (level, block) == ("base-backup", 1):
            of_load |= {"ledger_unverified_because": "no space"}
        names = ("compared", "differing")
        tables: Values = {(f"migration.tables_{name}", "all"): "no answer" for name in names}
        if (level, block) != ("base-backup", 2) and not is_gone:
            differing = (row["candidate"], level, block) == ("disk", "base-backup", 3)
            wrong = 5 if differing else None
            sums = {f"t{n}": {"source": "7 rows, 1", "target": f"7 rows, {1 + (n == wrong)}"}
                    for n in range(11)}  # fmt: skip
            write_json(root / "windows" / row["window_id"] / "moved-tables.json", {"tables": sums})
            counts = zip(names, (11.0, float(differing)), strict=True)
            tables = {(f"migration.tables_{name}", "all"): count for name, count in counts}
        return {("migration.duration_s", "all"): 5.0 + block, **tables}, {}, of_load

    return _build(root, "way", {9: "none", 1: "copy", 4: "base-backup"}, happen, lost)


def _build(
    root: Path, factor: str, levels: Mapping[int, str], happen: Happened,
    lost: Mapping[str, int] | None = None,
) -> RunDirectory:  # fmt: skip
    shape = Shape(users=tuple(levels), repeat=4, duration_s=30, logs=True, series=False,
                  ledger=True, lost=lost or {})  # fmt: skip
    run = build_run(root, shape)
    kinds = {"fault": "hammer, fault-{}", "control": "cut", "way": "hammer, migration-{}"}
    for folder in sorted((root / "windows").iterdir()):
        [row] = pl.read_parquet(folder / "window.parquet").to_dicts()
        load = pl.read_parquet(folder / "load.parquet")
        level = levels[load["users"][0]]
        values, spans, of_load = happen(row, level)
        row |= {"point": str(Point.of(users=8, **{factor: level})),
                "activity": kinds[factor].format(level)}  # fmt: skip
        write_table(folder / "window.parquet", tables.WINDOW, [row])
        begin_s = row["measure_from_s"]
        if "gap_from_s" in of_load:
            of_load["gap_from_s"] += begin_s
        rewrite(folder / "load.parquet", load.with_columns(
            **{name: pl.lit(value, load.schema[name]) for name, value in of_load.items()}
        ))  # fmt: skip
        if of_load.get("ledger_unverified_because"):
            path = folder / "ledger.parquet"
            rewrite(path, pl.read_parquet(path).clear())
        head = {"window_id": row["window_id"], "activity": row["activity"].split(", ")[-1]}
        write_table(folder / "values.parquet", tables.VALUES, [
            {**head, "metric": metric, "of": of, "count": 1,
             "value": None if isinstance(value, str) else value,
             "missing_because": value if isinstance(value, str) else None}
            for (metric, of), value in values.items()
        ])  # fmt: skip
        write_table(folder / "spans.parquet", tables.SPANS, [
            {**head, "name": name, "from_s": begin_s + from_s, "to_s": begin_s + to_s,
             "outcome": "done", "invalid_because": None}
            for name, (from_s, to_s) in spans.items()
        ])  # fmt: skip
    baseline = run.table("baseline")  # made at the points that windows had
    rewrite(baseline, pl.read_parquet(baseline).clear())
    return run


@pytest.fixture(
    scope="module", params=[with_backups, with_neighbour], ids=lambda made: made.__name__
)
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A run of each scenario, and its report."""
    folder = tmp_path_factory.mktemp("lost")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STITHY_STATE", str(folder / "state"))
        root = request.param(folder / "run").root
    write_undrawn_report(root, ("md", "json"))
    return Files(root)


def _rows(files: Files, name: str) -> list[Row]:
    path = files.root / f"report/tables/{name}.parquet"
    return pl.read_parquet(path).to_dicts() if path.exists() else []


def test_sections_of_losses_follow(files: Files) -> None:
    """And each of a window's; what varies beside users leaves the rest out, and says so."""
    report = json.loads((files.root / "report.json").read_text())
    outcome = of_tables(files) + of_json(files, report)
    outcome += of_markdown(files, (files.root / "report.md").read_text())
    assert outcome.disagreements == []
    assert outcome.unexplained == []
    assert {lost.BEYOND_USERS} <= {*outcome.excused.values()}
    names = {place.removeprefix("tables/").removesuffix(".parquet") for place in outcome.checked}
    assert {"windows", "measured"} < names
    assert names & {"backup", "neighbours"}


def test_findings_of_losses_follow(files: Files) -> None:
    """Of each candidate the value and its interval; the point is a key."""
    rows = [row for row in _rows(files, "findings")
            if row["kind"] == "impact" and row["number"].startswith("of.")]  # fmt: skip
    assert len(rows) >= 12
    outcome, wrong = Outcome(), Outcome()
    Table(files, "findings", lost.finding).check(outcome, "findings", rows)
    assert outcome.disagreements == []
    changed = [{**row, "value": row["value"] * 1.001 + 1e-6} for row in rows]
    Table(files, "findings", lost.finding).check(wrong, "findings", changed)
    assert len(wrong.disagreements) == len(rows)


def test_a_wrong_number_of_such_a_section_is_found(files: Files) -> None:
    """One at a time, in the first row of each table."""
    tried = 0
    for name in {"backup", "neighbours", "measured"}:
        for key, value in next(iter(_rows(files, name)), {}).items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            outcome = Outcome()
            wrong = {**_rows(files, name)[0], key: value * 1.001 + 1e-6}
            Table(files, name, lost.TABLES[name]).check(outcome, name, [wrong])
            assert outcome.disagreements, (name, key)
            tried += 1
    assert tried > 12


BROKEN: Mapping[Callable[[Path], RunDirectory], set[str]] = {
    with_faults: {"windows", "compared", "lost", "count", "value", "low", "high", "lasted"},
    with_cuts: {"lost", "cuts", "unknown", "bound", "gone"},
    with_moves: {
        "destroyed",
        "others",
        "lasted",
        "pause",
        "usual",
        "tables",
        "uncompared",
        "unproven",
    },
}
"""By what makes a run: the values that its sentences have."""


@pytest.mark.parametrize("make", BROKEN, ids=lambda made: made.__name__)
def test_sentences_of_what_broke_follow(
    make: Callable[[Path], RunDirectory], tmp_path: Path
) -> None:
    """And each of their values, altered alone, is found."""
    root = make(tmp_path / "run").root
    write_undrawn_report(root, ("md", "json"))
    files, report = Files(root), json.loads((root / "report.json").read_text())
    outcome = of_json(files, report)
    assert outcome.disagreements == []
    assert outcome.unexplained == []
    every = [said for section in report["sections"].values() for said in section["statements"]
             if broken.is_of(said)]  # fmt: skip
    altered = [(said, at, name) for said in every for at, values in enumerate(said["values"])
               for name, value in values.items()
               if isinstance(value, int | float) and not isinstance(value, bool)]  # fmt: skip
    assert {name for _, _, name in altered} == BROKEN[make]
    for said, at, name in altered:
        wrong = copy.deepcopy(said)
        wrong["values"][at][name] = wrong["values"][at][name] * 1.001 + 1e-6
        found = of_json(files, {"sections": {"answer": {"statements": [wrong]}}})
        assert found.disagreements, (said["text"], name)
