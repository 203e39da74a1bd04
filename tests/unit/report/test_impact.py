"""What users lose to backups is a metric as any other: of windows, points, thresholds and runs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.analysis.between_runs import compare_runs
from stithy.analysis.decision import Outcome, ThresholdJudgement, judge_thresholds
from stithy.analysis.verdict import PrimaryComparison
from stithy.metrics import Quantity
from stithy.point import OFF, ON, Point
from stithy.registry import plugins
from stithy.report.between import pair_runs
from stithy.report.context import Context
from stithy.report.drawing.titles import compare_title
from stithy.report.exports import ExportFormat
from stithy.report.findings import FindingKind
from stithy.report.page import Page
from stithy.scenarios.backup.judge import P99, list_settings
from stithy.thresholds import Constant, MeasuredSide, Relation, Threshold
from support.drawn import at_points, context_built
from support.sample_run import Shape

WITHOUT, WITH = Point.of(users=8, backup=OFF), Point.of(users=8, backup=ON)
RATIO, P95_RATIO = Quantity("backup.throughput_ratio"), Quantity("backup.p95_ratio")


def _built(folder: Path, repeat: int = 4, covered: float = 1.0, **shape: Any) -> Context:
    """More users stand for the work of backups."""
    usual: dict[str, Any] = {"users": (8, 9), "duration_s": 30, "series": False}
    context = context_built(folder, Shape(repeat=repeat, **usual | shape))

    def values(row: dict[str, Any]) -> Mapping[str, float]:
        with_backups = {"backup.duration_s": 2.0, "backup.covered_share": covered}
        return with_backups if row["users"] == 9 else {}

    return at_points(context, {8: WITHOUT, 9: WITH}, values)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """Four blocks without and with backups that fill the measurement."""
    return _built(tmp_path_factory.mktemp("run"))


def test_what_the_section_says_is_the_value_of_the_point_and_its_windows_have_theirs(
    built: Context,
) -> None:
    """Only those with backups."""
    [of] = [setting for setting in list_settings(built) if setting.candidate == "memory"]
    evidence = built.evidence
    assert evidence.level_of("memory", WITH, RATIO) == of.throughput.ratio is not None
    assert evidence.level_of("memory", WITHOUT, RATIO) is None
    found = [evidence.value_of(each, RATIO).number for each in evidence.at("memory", WITH)]
    assert len({*found} - {None}) == 4
    assert all(evidence.value_of(each, RATIO).number is None
               for each in evidence.at("memory", WITHOUT))  # fmt: skip


def test_every_export_has_it(built: Context) -> None:
    """As a column, as a value with its interval, as one of a line, and as a family."""
    paired = built.evidence.paired_of("memory", WITH, RATIO)
    assert paired is not None
    said = {name: "".join(plugins(ExportFormat)[name].export(built).pieces)
            for name in ("csv", "bencher", "go-bench", "openmetrics")}  # fmt: skip
    rows = pl.read_csv(said["csv"].encode(), infer_schema_length=None)
    assert rows[RATIO.metric].drop_nulls().len() == 8
    values = json.loads(said["bencher"]).items()
    [bounds] = [each["backup-throughput-ratio"] for name, each in values
                if "candidate=memory" in name and "backup=on" in name]  # fmt: skip
    assert bounds == {"value": paired.effect.ratio, "lower_value": paired.effect.low,
                      "upper_value": paired.effect.high}  # fmt: skip
    assert said["go-bench"].count(f" {RATIO.metric}") == 8 + 1, "with its unit"
    assert said["openmetrics"].count("\nstithy_backup_throughput_ratio{") == 8


def test_a_finding_tells_it_of_every_candidate(built: Context) -> None:
    """Where the question is asked, with intervals."""
    found = [finding for finding in built.findings if finding.kind == "impact"]
    said = [plugins(FindingKind)[finding.kind].describe(finding, "user") for finding in found]
    assert len(said) == 2, "throughput and the highest percentile that is known"
    assert "throughput with backups relative to that without was 1." in said[0]
    assert " on disk and 1." in said[0]
    assert [said for said in built.findings[:1] if said.kind == "impact"] == []


def test_titles_of_words_are_of_the_answer(built: Context) -> None:
    """Of ON and OFF none is the highest: the figure says what the first sentence is about."""
    values = {"disk": 1.0, "memory": 9.0}
    for point in (WITHOUT, WITH):
        primary = PrimaryComparison(point=point)
        evidence = replace(built.evidence, factor="backup", primary=primary)
        context = replace(built, evidence=evidence)
        lines = [{"candidate": name, "level": context.positions[at], "value": values[name]}
                 for at in (WITHOUT, WITH) for name in values]  # fmt: skip
        assert context.at(point) in compare_title(context, lines, [], "orders").text


def test_two_runs_are_compared_by_it(built: Context, tmp_path: Path) -> None:
    """Each block is a value of its own."""
    other = _built(tmp_path, seed=3)
    rows = [row for row in compare_runs(built.evidence, other.evidence, [RATIO])
            if row.value_base is not None]  # fmt: skip
    assert [(row.candidate, row.change.base, row.change.other) for row in rows] == [
        ("disk", 4, 4), ("memory", 4, 4),
    ]  # fmt: skip
    assert all(each.change.low is not None for each in rows)
    assert [each.point for each in rows] == [WITH, WITH]


def _judged(context: Context, relation: Relation, bound: float) -> ThresholdJudgement:
    left = MeasuredSide("memory", P95_RATIO.metric, WITH)
    [found] = judge_thresholds([Threshold(left, relation, Constant(bound, ""))], context.evidence)
    return found


def test_a_threshold_on_it_is_met_only_by_its_whole_interval(built: Context) -> None:
    """It is not met if no part of it is beyond; one that holds the bound decides nothing."""
    paired = built.evidence.paired_of("memory", WITH, P95_RATIO)
    assert paired is not None
    low, value, high = paired.effect.low, paired.effect.ratio, paired.effect.high
    assert low is not None
    assert value is not None
    assert high is not None
    assert _judged(built, "<=", high * 1.001).outcome is Outcome.MET
    assert _judged(built, "<=", low * 0.999).outcome is Outcome.NOT_MET
    assert _judged(built, ">", low * 0.999).outcome is Outcome.MET
    between = _judged(built, "<=", (value + high) / 2)
    assert (between.outcome, between.left) == (Outcome.NOT_JUDGED, value)
    assert between.because == "its 95 % interval holds both"


def test_few_blocks_and_backups_that_left_users_alone_meet_no_threshold(tmp_path: Path) -> None:
    """They may fail one."""
    few = _built(tmp_path / "few", repeat=2)
    assert _judged(few, "<=", 1000.0).because == "2 blocks of pairs, at least 4 are needed"
    assert _judged(few, "<=", 0.001).outcome is Outcome.NOT_MET
    short = _judged(_built(tmp_path / "short", covered=0.5), "<=", 1000.0)
    assert short.outcome is Outcome.NOT_JUDGED
    assert "backups ran during 50 % of the measurement" in str(short.because)
    alone = _judged(_built(tmp_path / "one", repeat=1), "<=", 1000.0)
    assert alone.because == "1 block of pairs, so there is no interval"


def test_a_percentile_that_no_window_bears_is_that_of_all_blocks_together(tmp_path: Path) -> None:
    """By their histograms; without these it stays unknown."""
    context = _built(tmp_path / "logged", logs=True, duration_s=60)
    [of] = [setting for setting in list_settings(context) if setting.candidate == "disk"]
    found = of.changes[P99]
    assert (found.pooled, found.effect.pairs, found.blocks) == (True, 4, (0, 1, 2, 3))
    assert {window.number for window in found.windows.values()} == {None}
    assert of.tail_of == P99
    [section] = [each for each in Page(context).sections if each.key == "backup"]
    assert "of all blocks together" in str(section)
    [of] = [each for each in list_settings(_built(tmp_path / "bare")) if each.candidate == "disk"]
    assert not of.changes[P99].pooled


def test_runs_under_faults_are_compared_by_what_has_a_direction(tmp_path: Path) -> None:
    """A pause and lost work, and no time at which something happened."""

    def build(name: str) -> Context:
        shape = Shape(repeat=2, users=(8, 9), duration_s=30, series=False, seed=len(name))
        points = {8: Point.of(users=8, fault="none"), 9: Point.of(users=8, fault="drive-slow")}
        context = context_built(tmp_path / name, shape)
        detected = {"fault.detect_s": 1.0}
        return at_points(context, points, lambda row: detected if row["users"] == 9 else {})

    [pair] = pair_runs(build("before"), [build("after")])
    metrics = {row.quantity.metric for row in pair.rows}
    assert metrics >= {"fault.lost_work", "fault.throughput_ratio"}
    assert "fault.detect_s" not in metrics
