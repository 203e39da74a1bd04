"""What the report says of backups: how long they took, their settings, and a single one."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stithy.analysis.evidence import Evidence, Window
from stithy.point import OFF, ON, Point
from stithy.registry import plugins
from stithy.report.blocks import Absent, SectionKind
from stithy.report.context import Context
from stithy.report.drawing.draw import draw_svg
from stithy.report.page import Page
from stithy.report.sections.compared import make_compared_table
from stithy.scenarios.backup.judge import list_settings
from stithy.scenarios.backup.keys import NAME
from stithy.validity import Reason
from support import flags
from support.drawn import at_point, at_points, context_built, draw_all, draw_one, rows_in
from support.sample_run import Shape

ALONE = {4: Point.of(users=8, backup=ON)}
KEY = f"scenario.{NAME}.compression"
POINTS = {
    users: Point((("users", 8), ("backup", backup), (KEY, compression)))
    for users, backup, compression in (
        (8, OFF, "none"), (9, ON, "none"), (10, OFF, "zstd"), (14, ON, "zstd"),
    )
}  # fmt: skip
DURATION_S = {9: 2.0, 14: 6.0}


def _values(row: dict[str, Any], covered: float = 1.0) -> dict[str, float]:
    took_s = DURATION_S.get(row["users"])
    known = {} if took_s is None else {"backup.duration_s": took_s}
    return {**known, "backup.covered_share": covered}


def _said(context: Context) -> str:
    """All of the section."""
    [section] = [each for each in Page(context).sections if each.key == "backup"]
    return str(section)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """Four blocks without and with backups of two settings."""
    shape = Shape(users=tuple(POINTS), repeat=4, duration_s=30, series=False)
    return context_built(tmp_path_factory.mktemp("run"), shape)


def test_the_fastest_setting_within_the_limit_is_named_and_what_is_not_drawn(
    built: Context,
) -> None:
    """More users stand for the work of backups; those of one setting failed on one candidate."""

    def values(row: dict[str, Any]) -> Mapping[str, float]:
        failed = row["users"] == 14 and row["candidate"] == "disk"
        return {} if failed else _values(row)

    context = at_points(built, POINTS, values)
    figure = draw_one("backup-frontier", context)
    assert figure.title == (
        "Fastest backup shown to keep p95 within +20 %: 2.00 s on disk (compression none), "
        "2.00 s on memory (compression none)"
    )
    every = figure.table.frame.to_dicts()
    rows = {row["setting"]: row for row in every if row["candidate"] == "memory"}
    assert {name: row["duration_s"] for name, row in rows.items()} == {
        "compression none": 2.0, "compression zstd": 6.0,
    }  # fmt: skip
    assert rows["compression none"]["high"] < 0.2 < rows["compression zstd"]["low"]
    assert figure.caption.endswith("Not drawn, as a value is missing: disk (compression zstd).")


def test_what_was_measured_at_a_single_point_is_in_the_section_of_backups_alone(
    tmp_path: Path,
) -> None:
    """At several points “What was measured” draws it along their axis."""
    several = Shape(users=(9, 14), candidates=("disk",), repeat=2, duration_s=3, series=False)
    one = Shape(users=(4,), candidates=("disk",), repeat=2, duration_s=3, series=False)
    there = []
    for shape, points in ((one, ALONE), (several, POINTS)):
        built = context_built(tmp_path / str(len(points)), shape)
        page = Page(at_points(built, points, lambda row: {"backup.duration_s": row["users"]}))
        assert not page.tables["measured"].frame.is_empty()
        keys = [section.key for section in page.sections]
        assert "backup" in keys
        there.append("measured" in keys)
    assert there == [False, True]


def test_a_setting_whose_backups_left_most_of_the_measurement_alone_is_not_named(
    built: Context,
) -> None:
    """Its percentile is of users without a backup, so that the fastest would seem harmless."""
    context = at_points(built, POINTS, lambda row: _values(row, 0.3))
    figure = draw_one("backup-frontier", context)
    assert figure.title == "No setting was shown to keep p95 within +20 %"
    assert "needs backups during 90 % of the measurement" in _said(context)
    full = _said(at_points(built, POINTS, _values))
    assert "memory (compression none) in 2.00 s. A backup ran during 100 % of" in full


def test_settings_of_a_single_block_are_drawn_without_an_interval(tmp_path: Path) -> None:
    """Hollow marks alone; the legend picks them as others."""
    shape = Shape(users=tuple(POINTS), repeat=1, duration_s=30, series=False)
    context = at_points(context_built(tmp_path / "run", shape), POINTS, _values)
    figure = draw_one("backup-frontier", context)
    assert all(row["low"] is None for row in figure.table.frame.to_dicts())
    assert "<svg" in draw_svg(figure.spec, "x")


def test_an_interval_of_fewer_than_four_blocks_names_no_setting(tmp_path: Path) -> None:
    """A plain one may take a claim away, and gives none."""
    shape = Shape(users=tuple(POINTS), repeat=3, duration_s=30, series=False)
    context = at_points(context_built(tmp_path / "run", shape), POINTS, _values)
    assert all(setting.tail.high is not None for setting in list_settings(context))
    assert not any(each.within(100.0) for each in list_settings(context))
    assert "That needs at least 4 blocks." in _said(context)


def test_a_window_in_which_no_backup_succeeded_tells_nothing_of_their_impact(
    built: Context,
) -> None:
    """It is valid, and its users had no backup to bear; of the others the impact is known."""

    def failed(row: dict[str, Any]) -> Mapping[str, float]:
        every = row["users"] == 14 or row["block"] == 0
        return {} if every else _values(row)

    context = at_points(built, POINTS, failed)
    by_name = {(setting.candidate, setting.text): setting for setting in list_settings(context)}
    of, none = by_name["memory", "compression none"], by_name["memory", "compression zstd"]
    assert (of.throughput.pairs, of.without_backup) == (3, 1)
    assert (none.throughput.value, none.without_backup) == (None, 4)
    said = _said(context)
    assert "a backup took 2.00 s; no backup succeeded in 1 window more." in said
    assert "memory (compression zstd): no backup succeeded." in said


def test_a_percentile_is_compared_only_if_no_setting_at_the_load_has_too_few_values_for_it(
    built: Context,
) -> None:
    """Else a row of those that have p95 alone would say nothing."""
    context = at_points(built, POINTS, _values)
    assert {setting.tail_of.label for setting in list_settings(context)} == {"p95"}, (
        "few are of disk"
    )
    enough = replace(context.evidence, candidates=("memory",))
    alone = list_settings(replace(context, evidence=enough))
    assert {each.tail_of.label for each in alone} == {"p99"}
    assert {each.tail.pairs for each in alone} == {4}


def test_settings_share_the_windows_without_backups_if_they_have_none_of_their_own(
    tmp_path: Path,
) -> None:
    """Where a method asks nothing of the server, no setting makes a difference without backups."""
    points = {users: point for users, point in POINTS.items() if users != 10}
    shape = Shape(users=tuple(points), repeat=4, duration_s=30, series=False)
    context = at_points(context_built(tmp_path / "run", shape), points, _values)
    settings = list_settings(context)
    assert {setting.text for setting in settings} == {"compression none", "compression zstd"}
    assert [each.throughput.pairs for each in settings] == [4] * 4
    assert "memory (compression zstd): with backups throughput changed by +" in _said(context)


def test_a_maximum_from_a_window_that_is_not_valid_is_said_to_be_one(built: Context) -> None:
    """The rates are shares of it all the same."""
    points = {users: Point((*point.factors, ("rate", "max" if users == 8 else "50%")))
              for users, point in POINTS.items()}  # fmt: skip
    context = at_points(built, points, _values)
    doubt = "The window of the maximum of memory is not valid"
    assert doubt not in _said(context)
    assert "Measured maximum, without backups" in _said(context)
    assert doubt in _said(replace(context, evidence=_invalid(context.evidence, "memory")))


def _invalid(evidence: Evidence, name: str) -> Evidence:
    """As if nothing of a candidate were valid."""
    late = (Reason(flags.ERRORS, {"errors": 9, "text": "gone"}),)
    windows = (replace(window, reasons=late) if window.candidate == name else window
               for window in evidence.windows)  # fmt: skip
    return replace(evidence, windows=tuple(windows))


def test_the_rate_that_was_asked_is_known_though_a_window_never_began(built: Context) -> None:
    """The row of such a window has none."""
    context = at_points(built, POINTS, _values)
    first, *others = context.evidence.windows
    begun = [replace(other, row={**other.row, "rate_per_s": 50.0}) for other in others]
    late = (Reason(flags.ERRORS, {"errors": 9, "text": "gone"}),)
    never = replace(begun[-1], row={**begun[-1].row, "rate_per_s": None}, reasons=late)
    evidence = replace(context.evidence, windows=(first, *begun[:-1], never))
    found = list_settings(replace(context, evidence=evidence))
    assert {each.asked_per_s for each in found} == {50.0}


MEMORY = "database.memory"


def test_maxima_and_backups_at_several_levels_and_settings_say_which_they_are_of(
    built: Context,
) -> None:
    """Else two sentences begin alike, and nobody can tell them apart."""
    points = {
        users: Point((("users", level), ("backup", backup), ("rate", rate), (MEMORY, memory)))
        for users, level, backup, rate, memory in (
            (8, 4, OFF, "max", "1 GiB"), (9, 4, ON, "50%", "1 GiB"),
            (10, 4, OFF, "max", "2 GiB"), (14, 13, ON, "50%", "2 GiB"),
        )
    }  # fmt: skip
    said = _said(at_points(built, points, _values))
    for size in ("1 GiB", "2 GiB"):
        assert f"Measured maximum at 4 users with {MEMORY} {size}, without backups" in said
    assert f"memory (4 users, rate 50%, {MEMORY} 1 GiB): " in said
    assert f"memory (13 users, rate 50%, {MEMORY} 2 GiB): " in said


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
