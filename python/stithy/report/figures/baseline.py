"""The machine over the run, by its baseline checks: drawn where it did not stay what it was."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from stithy.analysis.surroundings import GAUGES, LEAST, Baseline, Gauge, Trend, trends, usual_of
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import SIGNED_PERCENT, WIDTH, labels, y_axis
from stithy.report.drawing.compose import Drawing, Rows, Spec, beside, layer
from stithy.report.figure import Absent, Drawn, FigureKind
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import capital, listing, percent, plural

LEAST_DRAWN_SHARE = 0.05
"""Own: a vertical axis shows no less than that around the median, so that noise looks like it."""


def _plot(context: Context) -> list[Drawn]:
    """One figure where baseline checks are off or drift; nothing where a sentence says it all."""
    baselines = context.evidence.baselines
    known = [baseline for baseline in baselines if baseline.shares]
    if len(known) < LEAST:
        there = f"{'is' if len(known) == 1 else 'are'} {plural(len(known), 'baseline check')}"
        because = f"there {there} with numbers, at least {LEAST} are needed"
        return [Absent("baselines", "whether the machine stayed the same", because)]
    clear = {trend.gauge.column for trend in _clear(baselines)}
    if not clear and not any(baseline.off for baseline in baselines):
        return []
    rows = _rows(baselines)
    drawing = Drawing()
    return [
        drawing.figure(
            context, "baselines", _title(baselines), _charts(drawing, baselines, rows),
            _table(rows),
            caption="Results of the baseline check before each block, as differences from the "
            "median of all checks. For one CPU and for all CPUs the result is the work per second: "
            "more is faster. For reads it is the median time: more is slower. Large marks lie "
            "outside the band. The band is three times the median deviation, within bounds: the "
            "smallest difference that counts, and half the work or twice the time.",
            description="Three charts against the time since the first baseline check, "
            "each with a mark for each block and a band for what is usual.",
        )
    ]  # fmt: skip


def _clear(baselines: Sequence[Baseline]) -> list[Trend]:
    return [trend for trend in trends([baseline.row for baseline in baselines]) if trend.clear]


def _title(baselines: Sequence[Baseline]) -> str:
    """How many blocks met another machine, and what drifted."""
    odd = sum(bool(baseline.off) for baseline in baselines)
    parts = []
    if odd:
        parts.append(
            f"{odd} of {plural(len(baselines), 'block')} ran on a machine that had changed"
        )
    if clear := _clear(baselines):
        shown = [f"{each.gauge.what} by {percent(abs(each.share))}" for each in clear]
        parts.append(f"over the run {listing(shown)} drifted")
    return capital("; ".join(parts))


def _rows(baselines: Sequence[Baseline]) -> Rows:
    """A row for each figure that is known of a baseline check, by time."""
    first_s = min(baseline.row["at_s"] for baseline in baselines)
    rows = []
    for baseline in baselines:
        off = {each.gauge.column for each in baseline.off}
        for gauge in GAUGES:
            if gauge.column in baseline.shares:
                rows.append({
                    "point": baseline.row["point"], "block": baseline.row["block"],
                    "minutes": (baseline.row["at_s"] - first_s) / 60, "gauge": gauge.what,
                    "value": baseline.shares[gauge.column], "measured": baseline.row[gauge.column],
                    "off": gauge.column in off,
                })  # fmt: skip
    return rows


def _charts(drawing: Drawing, baselines: Sequence[Baseline], rows: Rows) -> Spec:
    known = [gauge for gauge in GAUGES if any(row["gauge"] == gauge.what for row in rows)]
    width = (WIDTH + 20) // len(known) - 50
    return beside([_chart(drawing, baselines, rows, gauge, width) for gauge in known])


def _chart(
    drawing: Drawing, baselines: Sequence[Baseline], rows: Rows, gauge: Gauge, width: int
) -> Spec:
    mine = [row for row in rows if row["gauge"] == gauge.what]
    usual = usual_of([baseline.row for baseline in baselines], gauge)
    allowed = usual.allowed_share if usual else gauge.floor_share
    most = max(LEAST_DRAWN_SHARE, allowed, *(abs(row["value"]) for row in mine)) * 1.15
    last = max(row["minutes"] for row in mine) or 1.0
    x = alt.X(
        "minutes:Q", title="Minutes", scale=alt.Scale(domain=[0, last], nice=False, padding=6),
        axis=alt.Axis(grid=False, tickCount=5),
    )  # fmt: skip
    title = "From the median" if gauge is GAUGES[0] else None
    y = y_axis("value", title, (-most, most), **labels(SIGNED_PERCENT), tickCount=5)
    band, ends = [{"value": -allowed, "to": allowed}], {"y": y, "y2": alt.Y2("to:Q")}
    layers = [drawing.mark("rect", band, ends, color=palette.GRID[0])]
    tips = [
        alt.Tooltip("point:N"), alt.Tooltip("block:Q"),
        alt.Tooltip("value:Q", title="off", format="+.1%"),
        alt.Tooltip("measured:Q", title="measured", format=",.4~g"),
    ]  # fmt: skip
    for is_off, colour, size in ((False, palette.MUTED[0], 30), (True, palette.MARK[0], 110)):
        some = [row for row in mine if row["off"] is is_off]
        if some:
            look = {"filled": True, "size": size, "opacity": 1, "color": colour}
            at = {"x": x, "y": y, "tooltip": tips}
            layers.append(drawing.mark("point", some, at, **look))
    return layer(layers, width=width, height=150, title=capital(gauge.what))


def _table(rows: Rows) -> PageTable:
    shows = (
        Show("point", "point"), Show("block", "block", "count"),
        Show("minutes", "minutes", "rate"), Show("gauge", "part of the check"),
        Show("value", "from the median", "signed share"), Show("measured", "measured", "rate"),
        Show("off", "outside the band", "truth"),
    )  # fmt: skip
    return PageTable("baselines", "The machine before each block", shows, pl.DataFrame(rows))


PLUGINS = (FigureKind("baselines", 90, "validity", _plot),)
