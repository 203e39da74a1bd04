"""Thresholds as people read them: on the page, and at the end of a run."""

from collections.abc import Sequence

import polars as pl

from stithy.analysis.answers.thresholds import Judgement, Outcome, judge_thresholds
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show
from stithy.report.words.apart import told_apart
from stithy.report.words.wording import DASH, duration, measured
from stithy.thresholds import Constant, Side

MARKS = {Outcome.MET: "✓", Outcome.NOT_MET: "✗", Outcome.NOT_JUDGED: "?"}


def judged(context: Context) -> tuple[Judgement, ...]:
    """The thresholds of a run, judged by its valid windows; none where the study has none."""
    manifest = context.manifest
    if manifest is None or not manifest.thresholds:
        return ()
    return judge_thresholds(manifest.thresholds, context.evidence)


def lines(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """What a terminal shows: how many were met, then each with both values; nothing of none."""
    if not judgements:
        return ()
    met = sum(each.outcome is Outcome.MET for each in judgements)
    told = (
        f"  {MARKS[each.outcome]} {each.threshold}: {each.outcome.value}: {said(each)}"
        for each in judgements
    )
    return (f"Thresholds: {met} of {len(judgements)} met", *told)


def said(judgement: Judgement) -> str:
    """Both values, or why there are none: `7.20 ms and 5 ms`."""
    if judgement.because is not None:
        return judgement.because
    return " and ".join(shown(judgement))


def shown(judgement: Judgement) -> tuple[str, str]:
    """Both values in their unit, with as many digits as tell them apart."""
    left, right, threshold = judgement.left, judgement.right, judgement.threshold
    if left is not None and right is not None and left != right:
        unit = threshold.unit
        if measured(left, unit) == measured(right, unit):
            return told_apart(left, right, unit)
    return _shown(left, threshold.left), _shown(right, threshold.right)


def _shown(value: float | None, side: Side) -> str:
    if value is None:
        return DASH
    if isinstance(side, Constant) and side.unit == "s":
        return duration(value)
    return measured(value, side.unit)


def table(judgements: Sequence[Judgement]) -> PageTable:
    """All thresholds with the values of both sides; the files have all digits."""
    rows = [
        {
            "threshold": str(each.threshold), "outcome": each.outcome.value,
            "outcome_shown": f"{MARKS[each.outcome]} {each.outcome.value}",
            "left_shown": shown(each)[0], "right_shown": shown(each)[1],
            "left": each.left, "right": each.right, "unit": each.threshold.unit,
            "because": each.because,
        }
        for each in judgements
    ]  # fmt: skip
    schema = {
        "threshold": pl.String, "outcome": pl.String, "outcome_shown": pl.String,
        "left_shown": pl.String, "right_shown": pl.String, "left": pl.Float64,
        "right": pl.Float64, "unit": pl.String, "because": pl.String,
    }  # fmt: skip
    columns = [
        Show("outcome_shown", "Outcome"), Show("threshold", "Threshold"),
        Show("left_shown", "Left side"), Show("right_shown", "Right side"),
    ]  # fmt: skip
    if any(each.because for each in judgements):
        columns.append(Show("because", "Because"))
    return PageTable(
        "thresholds",
        "Thresholds of the study, and what was measured",
        tuple(columns),
        pl.DataFrame(rows, schema=schema),
    )
