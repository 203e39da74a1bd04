"""Second by second: throughput, response time and device rate of every window of a level."""

from typing import Any

import altair as alt
import polars as pl

from stithy.report import metrics, palette
from stithy.report.chart import Rows, spec_of, values
from stithy.report.context import Context
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show
from stithy.report.wording import count, plural

NAME = "seconds"
ORDER = 60
SECTION = "seconds"

ROWS = {
    "tpm": "TPM",
    "p95": "Response p95 (ms)",
    "device": "Device operations a second",
}
SECONDS_PER_MINUTE = 60
MS_PER_S = 1000.0


def draw(context: Context) -> list[Drawn]:
    """One figure a level, or why there is none."""
    seconds = _seconds(context)
    if seconds.is_empty():
        return [Absent("seconds", "one-second strips", "no window has one-second rows")]
    return [
        figure
        for users in context.evidence.levels
        if (figure := _level(context, users, seconds)) is not None
    ]


def _seconds(context: Context) -> pl.DataFrame:
    """Throughput, p95 and device rate by window and second, long form."""
    all_types = context.run.seconds.filter(pl.col("transaction") == "all")
    done = pl.col("committed") + pl.col("rolled_back")
    keys = ["window_id", "second"]
    tpm = all_types.select(
        *keys,
        pl.lit("tpm").alias("quantity"),
        (done * SECONDS_PER_MINUTE).cast(float).alias("value"),
    )
    p95 = all_types.filter(pl.col("response_p95_s").is_not_null()).select(
        *keys, pl.lit("p95").alias("quantity"), pl.col("response_p95_s").alias("value")
    )
    frame = pl.concat([tpm, p95, _device(context)])
    bounds = context.run.window.select("window_id", "candidate", "users", "block")
    return frame.join(bounds, on="window_id", how="inner").sort(
        "users", "candidate", "block", "quantity", "second"
    )


def _device(context: Context) -> pl.DataFrame:
    """Reads and writes a second of the busiest device; stacked devices see the same operations."""
    begun = (pl.col("second").round() - 1).cast(pl.Int64).alias("second")
    rates = [metrics.OPERATIONS["read"][0], metrics.OPERATIONS["write"][0]]
    return (
        context.run.series.filter(
            (pl.col("collector") == metrics.BLOCK)
            & pl.col("metric").is_in(rates)
            & pl.col("value").is_not_null()
            & (pl.col("second") >= 0.5)
        )
        .group_by("window_id", "subject", begun)
        .agg(pl.col("value").sum())
        .group_by("window_id", "second")
        .agg(pl.col("value").max())
        .select("window_id", "second", pl.lit("device").alias("quantity"), "value")
    )


def _level(context: Context, users: int, seconds: pl.DataFrame) -> Drawn | None:
    here = seconds.filter(pl.col("users") == users)
    if here.is_empty():
        return None
    name = f"seconds-{users}-users"
    title = f"{plural(users, 'user')}: {_steadiness(here, context)}"
    checkpoints = _checkpoints(context, users)
    return Figure(
        name=name,
        title=title,
        caption="Every second of the windows, the ramp-up shaded. One column a candidate, one line "
        f"a block. {checkpoints}",
        description=f"{title}. Line charts over the seconds of the windows: transactions per "
        "minute, 95th percentile of response time, operations of the busiest device.",
        footer=context.footer,
        spec=spec_of(_grid(context, users, here)),
        table=PageTable(
            name,
            f"One-second values at {plural(users, 'user')}",
            (
                Show("candidate", "candidate"), Show("block", "block", "count"),
                Show("second", "second", "count"), Show("tpm", "TPM", "count"),
                Show("p95", "response p95", "duration"),
                Show("device", "device operations a second", "rate"),
            ),
            _wide(here),
        ),
    )  # fmt: skip


def _wide(here: pl.DataFrame) -> pl.DataFrame:
    wide = here.pivot(
        on="quantity", on_columns=list(ROWS), index=["window_id", "candidate", "block", "second"],
        values="value",
    )  # fmt: skip
    return wide.sort("candidate", "block", "second")


def _steadiness(here: pl.DataFrame, context: Context) -> str:
    """How much the throughput of the measured seconds swung, for each candidate."""
    measured = context.run.seconds.filter(
        (pl.col("transaction") == "all") & (pl.col("phase") == "measure")
    ).select("window_id", "second")
    tpm = here.filter(pl.col("quantity") == "tpm").join(measured, on=["window_id", "second"])
    parts = []
    for name in context.evidence.candidates:
        mine = tpm.filter(pl.col("candidate") == name)["value"].to_list()
        if mine:
            parts.append(f"{name} between {count(min(mine))} and {count(max(mine))} TPM")
    return "; ".join(parts) if parts else "throughput by second"


def _checkpoints(context: Context, users: int) -> str:
    texts = []
    for name in context.evidence.candidates:
        counts = [
            window.row["checkpoints_inside"]
            for window in context.evidence.at(name, users)
            if window.row["checkpoints_inside"] is not None
        ]
        if counts:
            texts.append(f"{plural(sum(counts), 'whole checkpoint')} inside with {name}")
    return f"Checkpoints: {', '.join(texts)}." if texts else "Checkpoints were not counted."


def _grid(context: Context, users: int, here: pl.DataFrame) -> Any:
    ramp_up_s = context.load.ramp_up_s if context.load else 0.0
    names = [name for name in context.evidence.candidates if name in set(here["candidate"])]
    width = 640 // max(1, len(names)) - 50
    rows = []
    for quantity, title in ROWS.items():
        part = here.filter(pl.col("quantity") == quantity)
        if part.is_empty():
            continue
        top = _scaled(quantity, part)
        charts = [_strip(context, name, title, top, width, ramp_up_s) for name in names]
        rows.append(alt.hconcat(*charts).resolve_scale(y="shared"))
    return alt.vconcat(*rows)


def _scaled(quantity: str, part: pl.DataFrame) -> Rows:
    factor = MS_PER_S if quantity == "p95" else 1.0
    return part.select("candidate", "block", "second", pl.col("value") * factor).to_dicts()


def _strip(
    context: Context, name: str, title: str, rows: Rows, width: int, ramp_up_s: float
) -> Any:
    last = max(row["second"] for row in rows)
    x = alt.X(
        "second:Q", title="Second", scale=alt.Scale(domain=[0, last + 1], nice=False),
        axis=alt.Axis(grid=False, tickCount=6, format="d"),
    )  # fmt: skip
    mine = [row for row in rows if row["candidate"] == name]
    peak = max((row["value"] for row in rows), default=1.0) or 1.0
    y = alt.Y(
        "value:Q", title=title, scale=alt.Scale(domain=[0, peak * 1.05], nice=True),
        axis=alt.Axis(format="~s", tickCount=4),
    )  # fmt: skip
    shade = (
        alt.Chart(values([{"second": 0, "until": ramp_up_s}]))
        .mark_rect(color=palette.GRID[0], opacity=0.6)
        .encode(x=x, x2=alt.X2("until:Q"))
    )
    line = (
        alt.Chart(values(mine))
        .mark_line(strokeWidth=1.4, color=context.styles[name].colour)
        .encode(x=x, y=y, detail="block:N", tooltip=["second:Q", "block:N", "value:Q"])
    )
    return alt.layer(shade, line).properties(width=width, height=90, title=name)
