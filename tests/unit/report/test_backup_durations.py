"""How long backup and restore took, drawn from the spans of windows; those that failed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stithy.analysis.evidence import Window
from stithy.point import ON, Point
from stithy.registry import plugins
from stithy.report.blocks import Absent, SectionKind
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.sections.compared import make_compared_table
from support.drawn import at_point, context_built, draw_all, draw_one, rows_in
from support.sample_run import Shape

POINT = Point.of(users=4, backup=ON)
NAMES = ("disk", "memory")


def _with_backups(context: Context, spans: Mapping[str, list[dict[str, Any]]]) -> Context:
    """The run as if its windows had had these spans, by candidate."""
    return at_point(context, POINT, lambda window: {"spans": tuple(spans[window.candidate])})


def _span(
    name: str, duration_s: float, because: str | None = None, from_s: float = 100.0
) -> dict[str, Any]:
    return {
        "name": name, "from_s": from_s, "to_s": from_s + duration_s, "invalid_because": because
    }  # fmt: skip


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A run of two candidates at one level."""
    return context_built(tmp_path_factory.mktemp("run"), Shape(users=(4,), repeat=2, series=False))


def test_each_cycle_is_a_mark_and_a_candidate_is_named_with_its_means(context: Context) -> None:
    """What failed, and what is no backup, is left out; a restore may have a number or none."""
    spans = {
        "disk": [_span("backup 1", 20.0), _span("backup 2", 40.0), _span("restore", 10.0)],
        "memory": [
            _span("backup 1", 5.0), _span("backup 2", 1.0, "signal 9"), _span("restore 1", 2.5),
            _span("tenant-1", 99.0),
        ],
    }  # fmt: skip
    figure = draw_one("backup-durations", _with_backups(context, spans))
    assert figure.title == (
        "A backup takes 30.0 s on disk and 5.00 s on memory; a restore takes 10.0 s on disk and "
        "2.50 s on memory"
    )
    rows = figure.table.frame.group_by("operation", "candidate").agg("duration_s").rows()
    found = {(operation, name): sorted(of) for operation, name, of in rows}
    assert found == {
        ("backup", "disk"): [20.0, 20.0, 40.0, 40.0], ("restore", "disk"): [10.0, 10.0],
        ("backup", "memory"): [5.0, 5.0], ("restore", "memory"): [2.5, 2.5],
    }  # fmt: skip


def test_the_mean_is_that_of_the_windows_means_as_tables_and_verdicts_have_it(
    context: Context,
) -> None:
    """A window with many backups weighs no more than one with few."""
    spans = {name: [_span("backup 1", 20.0), _span("backup 2", 40.0)] for name in NAMES}
    backed_up = _with_backups(context, spans)
    windows = tuple(
        replace(window, spans=(_span("backup 1", 10.0),)) if window.block else window
        for window in backed_up.evidence.windows
    )
    evidence = replace(backed_up.evidence, windows=windows)
    figure = draw_one("backup-durations", replace(backed_up, evidence=evidence))
    assert figure.title == "A backup takes 20.0 s on disk and 20.0 s on memory"
    assert {row["value"] for row in rows_in(figure) if "cycle" not in row} == {20.0}


def test_the_table_has_the_size_and_the_ratio_of_each_backup(context: Context) -> None:
    """As they were measured of its span; a restore has none."""
    spans = {name: [_span("backup 1", 5.0), _span("backup 2", 5.0), _span("restore", 2.5)]
             for name in ("disk", "memory")}  # fmt: skip
    values = {
        (metric, f"backup {number}"): {"value": value * number}
        for number in (1, 2)
        for metric, value in (("backup.cycle_bytes", 2.0**20), ("backup.cycle_ratio", 1.5))
    }
    backed_up = _with_backups(context, spans)
    windows = tuple(replace(window, values=values) for window in backed_up.evidence.windows)
    evidence = replace(backed_up.evidence, windows=windows)
    figure = draw_one("backup-durations", replace(backed_up, evidence=evidence))
    rows = figure.table.frame.filter(candidate="disk", block=0)
    assert rows.select("operation", "cycle", "size_bytes", "ratio").rows() == [
        ("backup", "1", 2.0**20, 1.5), ("backup", "2", 2.0**21, 3.0), ("restore", "", None, None),
    ]  # fmt: skip
    assert [column.heading for column in figure.table.columns][-2:] == ["size", "ratio"]


def test_without_a_backup_that_succeeded_the_reason_is_there(context: Context) -> None:
    """And nothing at all where a study has no backups."""
    failed = [_span("backup 1", 20.0, "signal 9")]
    [absent] = draw_all(
        "backup-durations", _with_backups(context, {"disk": failed, "memory": failed})
    )
    assert isinstance(absent, Absent)
    assert draw_all("backup-durations", context) == []


def test_an_idle_database_has_no_ramp_no_checkpoint_and_no_word_on_a_limit_that_was_not_recorded(
    context: Context,
) -> None:
    """The hammer makes checkpoints and records whether a limit held, and nobody hammered."""
    assert context.manifest is not None
    load = context.manifest.load.model_copy(update={"users": (0,)})
    manifest = context.manifest.model_copy(update={"given_load": load})
    limits = ("memory_limit_enforced", "memory_limit_bytes", "memory_limit_note")
    windows = tuple(
        replace(window, row={**window.row, **dict.fromkeys(limits)})
        for window in context.evidence.windows
    )
    run = replace(context.run, manifest=manifest)
    idle = replace(context, run=run, evidence=replace(context.evidence, windows=windows))
    facts = dict(make_compared_table(idle).frame.iter_rows())
    assert facts["windows"].endswith("each lasts as long as its work")
    assert "recorded only while users work" in facts["database memory"]
    assert "not enforced" not in facts["database memory"]
    said = [
        str([*plugins(SectionKind)["method"].make_sections(Page(each))]) for each in (context, idle)
    ]
    assert ["checkpoint was forced" in each for each in said] == [True, False]


def test_failed_backups_are_counted_apart(tmp_path: Path) -> None:
    """They are shaded, for they were at work; how long they took is not how long one takes."""
    failed = {"disk": (False, True), "memory": (True, True)}

    def list_spans(window: Window) -> Mapping[str, Any]:
        begun_s = window.row["started_at_s"]
        outcomes = enumerate(failed[window.candidate], 1)
        return {"spans": tuple(
            _span(f"backup {number}", 2.0, "signal 9" if is_failed else None, begun_s + number)
            for number, is_failed in outcomes
        )}  # fmt: skip

    context = context_built(tmp_path, Shape(users=(4,), duration_s=5))
    figure = draw_one("backup-seconds", at_point(context, POINT, list_spans))
    assert figure.title == (
        "1 backup on disk, 2.00 s, 1 failed; no backup succeeded on memory, 2 failed"
    )
    names = {row["name"] for row in rows_in(figure) if "name" in row}
    assert names == {"backup 1", "backup 2, failed", "backup 1, failed"}
