"""Second by second: throughput, response time and device rate of every window of a level."""

from dataclasses import dataclass

import altair as alt
import polars as pl

from stithy.report import metrics, palette
from stithy.report.chart import NUMBERS, WIDTH, Domain, domain_of
from stithy.report.compose import Drawing, Rows, Spec, grid, layer, stacked, unit
from stithy.report.context import Context
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show
from stithy.report.wording import count, listing

NAME = "seconds"
ORDER = 60
SECTION = "seconds"

CHECKPOINT, CHANGE = "a checkpoint began", "the level of throughput changed"
"""What vertical lines mark."""

_MARKS = {
    "window_id": pl.String, "candidate": pl.String, "users": pl.Int64, "second": pl.Float64,
    "what": pl.String,
}  # fmt: skip

QUANTITIES = {"tpm": "TPM", "p95": "p95 (ms)", "waiting": "Waiting", "device": "Device ops/s"}
SECONDS_PER_MINUTE = 60
MS_PER_S = 1000.0


def draw(context: Context) -> list[Drawn]:
    """One figure a level, or why there is none."""
    seconds = _seconds(context)
    if seconds.is_empty():
        return [Absent("seconds", "one-second strips", "no window has one-second rows")]
    marks = pl.concat([_checkpoints(context), _changes(context)])
    figures = []
    for users in context.evidence.levels:
        here = seconds.filter(pl.col("users") == users)
        if not here.is_empty():
            figures.append(_level(context, users, here, marks))
    return list(figures)


def _seconds(context: Context) -> pl.DataFrame:
    """Throughput, p95, who waits and device rate by window and second, long form."""
    # In the drain no user starts anything: its last, partial second would look like a stall.
    all_types = context.run.seconds.filter(
        (pl.col("transaction") == "all") & (pl.col("phase") != "drain")
    )
    keys = ["window_id", "second"]
    done = (pl.col("committed") + pl.col("rolled_back")) * SECONDS_PER_MINUTE
    tpm = all_types.select(
        *keys, pl.lit("tpm").alias("quantity"), done.cast(pl.Float64).alias("value")
    )
    p95 = all_types.filter(pl.col("response_p95_s").is_not_null()).select(
        *keys, pl.lit("p95").alias("quantity"), pl.col("response_p95_s").alias("value")
    )
    waiting = all_types.filter(pl.col("waiting").is_not_null()).select(
        *keys,
        pl.lit("waiting").alias("quantity"),
        pl.col("waiting").cast(pl.Float64).alias("value"),
    )
    if not (waiting["value"] > 0).any():
        waiting = waiting.clear()  # nobody ever waited, and a strip of zeros tells nothing
    bounds = context.run.window.select("window_id", "candidate", "users", "block")
    frame = pl.concat([tpm, p95, waiting, _device(context)]).join(
        bounds, on="window_id", how="inner"
    )
    return frame.sort("users", "candidate", "block", "quantity", "second")


def _device(context: Context) -> pl.DataFrame:
    """Reads and writes a second of the busiest device; stacked devices see the same operations."""
    rates = [metrics.OPERATIONS["read"][0], metrics.OPERATIONS["write"][0]]
    begun = (pl.col("second").round() - 1).cast(pl.Int64).alias("second")
    samples = context.run.samples.of(metrics.BLOCK, rates).filter(pl.col("second") >= 0.5)
    devices = samples.group_by("window_id", "subject", begun).agg(pl.col("value").sum())
    busiest = devices.group_by("window_id", "second").agg(pl.col("value").max())
    return busiest.select("window_id", "second", pl.lit("device").alias("quantity"), "value")


def _checkpoints(context: Context) -> pl.DataFrame:
    """When checkpoints began that ended while the window was watched: window and second."""
    samples = context.run.samples.of(metrics.DATABASE, [metrics.LAST_CHECKPOINT])
    begun = samples.select("window_id", pl.col("value").alias("began_at_s")).unique()
    starts = context.run.window.select("window_id", "candidate", "users", "started_at_s")
    return (
        begun.join(starts, on="window_id", how="inner")
        .with_columns((pl.col("began_at_s") - pl.col("started_at_s")).alias("second"))
        .filter(pl.col("second") >= 0)
        .select("window_id", "candidate", "users", "second", pl.lit(CHECKPOINT).alias("what"))
        .sort("window_id", "second")
    )


def _changes(context: Context) -> pl.DataFrame:
    """When the level of a window's throughput changed: window and second."""
    rows = [
        {
            "window_id": window.id, "candidate": window.candidate, "users": window.users,
            "second": float(each.index + window.measure_after_s), "what": CHANGE,
        }
        for window in context.evidence.windows
        if window.steady is not None
        for each in window.steady.changes
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=_MARKS)


def _level(context: Context, users: int, here: pl.DataFrame, marks: pl.DataFrame) -> Figure:
    name = f"seconds-{users}-users"
    title = f"{context.level(users)}: {_swing(here, context)}"
    drawing = Drawing()
    mine = marks.filter(pl.col("users") == users)
    return Figure(
        name=name,
        title=title,
        caption="Every second of the windows, the ramp-up shaded. One column for each candidate, "
        f"one line for each block, dotted where the window is invalid. {_waiting_text(here)}"
        f"{_checkpoint_text(context, users, CHECKPOINT in mine['what'])}"
        f"{_change_text(mine)}",
        description=f"{title}. Line charts over the seconds of the windows: transactions per "
        "minute, 95th percentile of response time, operations of the busiest device.",
        footer=context.footer,
        spec=drawing.spec(
            _strips(context, drawing, here, mine)
        ),
        table=PageTable(
            name,
            f"One-second values at {context.level(users)}",
            (
                Show("candidate", "candidate"), Show("block", "block", "count"),
                Show("second", "second", "count"), Show("tpm", "TPM", "count"),
                Show("p95", "response p95", "duration"),
                *([Show("waiting", "waiting", "count")] if _waiting_text(here) else []),
                Show("device", "device operations per second", "rate"),
            ),
            _wide(here),
        ),
    )  # fmt: skip


def _waiting_text(here: pl.DataFrame) -> str:
    """What the strip of those who wait shows, where there is one."""
    if here.filter(pl.col("quantity") == "waiting").is_empty():
        return ""
    return "Waiting: transactions that were due and not begun when the second ended. "


def _wide(here: pl.DataFrame) -> pl.DataFrame:
    wide = here.pivot(
        on="quantity", on_columns=list(QUANTITIES),
        index=["window_id", "candidate", "block", "second"], values="value",
    )  # fmt: skip
    return wide.sort("candidate", "block", "second")


def _swing(here: pl.DataFrame, context: Context) -> str:
    """Between which values the throughput of the measured seconds swung, for each candidate."""
    measured = context.run.seconds.filter(
        (pl.col("transaction") == "all") & (pl.col("phase") == "measure")
    ).select("window_id", "second")
    valid = [window.id for window in context.evidence.windows if window.valid]
    chosen = here.filter((pl.col("quantity") == "tpm") & pl.col("window_id").is_in(valid))
    tpm = chosen.join(measured, on=["window_id", "second"])
    parts = []
    for name in context.evidence.candidates:
        mine = tpm.filter(pl.col("candidate") == name)["value"].to_list()
        if mine:
            parts.append(f"{name} between {count(min(mine))} and {count(max(mine))} TPM")
    if len(parts) > 3:
        return "throughput, response time and device rate by second"
    return "; ".join(parts) if parts else "no valid window"


def _checkpoint_text(context: Context, users: int, marked: bool) -> str:
    texts = []
    for name in context.evidence.candidates:
        rows = [window.row["checkpoints_inside"] for window in context.evidence.at(name, users)]
        counts = [each for each in rows if each is not None]
        if counts:
            texts.append(f"{sum(counts)} with {name}")
    if not texts:
        return "Whole checkpoints were not counted."
    counted = f"Whole checkpoints inside the measurements: {listing(texts)}."
    return f"{counted} Vertical lines mark where one began." if marked else counted


def _change_text(mine: pl.DataFrame) -> str:
    """What the dotted lines mark, where there are any."""
    if CHANGE not in mine["what"]:
        return ""
    return " Dotted vertical lines mark where the level of a window's throughput changed."


@dataclass(frozen=True)
class _Strip:
    """One chart: a candidate's quantity over the seconds, and where it stands in the grid."""

    candidate: str
    quantity: str
    rows: Rows
    marks: Rows
    domain: Domain
    last_second: int
    width: int
    left: bool
    top: bool
    bottom: bool


def _strips(context: Context, drawing: Drawing, here: pl.DataFrame, marks: pl.DataFrame) -> Spec:
    names = [name for name in context.evidence.candidates if name in set(here["candidate"])]
    present = [quantity for quantity in QUANTITIES if quantity in set(here["quantity"])]
    columns = min(len(names), 3)
    last_second = max(here["second"].to_list())
    stacks = []
    for index, name in enumerate(names):
        strips = []
        for quantity in present:
            part = _scaled(quantity, here.filter(pl.col("quantity") == quantity))
            strips.append(
                _Strip(
                    name, quantity, _lean(context, part, name),
                    _marked(marks, name, quantity),
                    domain_of(part, log=False), last_second,
                    (WIDTH + 20) // columns - 45, index % columns == 0,
                    quantity == present[0], quantity == present[-1],
                )
            )  # fmt: skip
        charts = [_strip(context, drawing, strip) for strip in strips]
        stacks.append(stacked(charts, spacing=18))
    return grid(stacks, columns)


def _marked(marks: pl.DataFrame, name: str, quantity: str) -> Rows:
    """The marks of a candidate's strip; changes of throughput stand in its own strip alone."""
    mine = marks.filter(pl.col("candidate") == name)
    if quantity != "tpm":
        mine = mine.filter(pl.col("what") == CHECKPOINT)
    return mine.select("second", "what").to_dicts()


def _lean(context: Context, part: Rows, name: str) -> Rows:
    """The rows of a candidate with what is drawn of them and no more: there are many."""
    invalid = {window.id for window in context.evidence.windows if not window.valid}
    again = {window.id for window in context.evidence.windows if window.attempt}
    return [
        {key: row[key] for key in ("block", "second", "value")}
        | ({"invalid": True} if row["window_id"] in invalid else {})
        | ({"again": True} if row["window_id"] in again else {})
        for row in part
        if row["candidate"] == name
    ]


def _scaled(quantity: str, part: pl.DataFrame) -> Rows:
    factor = MS_PER_S if quantity == "p95" else 1.0
    value = (pl.col("value") * factor).round_sig_figs(4)
    return part.select("candidate", "block", "second", "window_id", value).to_dicts()


def _strip(context: Context, drawing: Drawing, strip: _Strip) -> Spec:
    x = alt.X(
        "second:Q", title="Second" if strip.bottom else None,
        scale=alt.Scale(domain=[0, strip.last_second + 1], nice=False),
        axis=alt.Axis(grid=False, tickCount=6, format="d", labels=strip.bottom),
    )  # fmt: skip
    y = alt.Y(
        "value:Q", title=QUANTITIES[strip.quantity] if strip.left else None,
        scale=alt.Scale(domain=list(strip.domain), nice=False),
        axis=alt.Axis(format=NUMBERS, tickCount=3),
    )  # fmt: skip
    line = _line(context, drawing, strip, x, y)
    layers = [_ramp_up(context, drawing, x), *_marks(drawing, strip, x), line]
    title = strip.candidate if strip.top else ""
    return layer(layers, width=strip.width, height=84, title=title)


def _ramp_up(context: Context, drawing: Drawing, x: alt.X) -> Spec:
    until = context.load.ramp_up_s if context.load else 0.0
    shade = alt.Chart(drawing.add([{"second": 0.0, "until": until}]))
    rect = shade.mark_rect(color=palette.GRID[0], opacity=0.6)
    return unit(rect.encode(x=x, x2=alt.X2("until:Q")))


def _marks(drawing: Drawing, strip: _Strip, x: alt.X) -> list[Spec]:
    if not strip.marks or not strip.rows:
        return []
    rule = alt.Chart(drawing.add(strip.marks)).mark_rule(color=palette.MARK[0])
    dash = alt.StrokeDash("what:N", scale=_DASHES, legend=None)
    tips = [alt.Tooltip("what:N", title="what"), alt.Tooltip("second:Q", title="at second")]
    return [unit(rule.encode(x=x, strokeDash=dash, tooltip=tips))]


_DASHES = alt.Scale(domain=[CHECKPOINT, CHANGE], range=[[4, 3], [1, 3]])


def _line(context: Context, drawing: Drawing, strip: _Strip, x: alt.X, y: alt.Y) -> Spec:
    if not strip.rows:
        words = alt.Chart(drawing.add([{"text": "not sampled: no block device under this volume"}]))
        middle = words.mark_text(align="center")
        where = {"x": alt.value(strip.width * 0.6), "y": alt.value(42)}
        return unit(middle.encode(**where, text="text:N"))
    colour = context.styles[strip.candidate].colour
    line = alt.Chart(drawing.add(strip.rows)).mark_line(strokeWidth=1.5, color=colour, clip=True)
    tips = [
        alt.Tooltip("second:Q"), alt.Tooltip("block:Q"),
        alt.Tooltip("value:Q", title=QUANTITIES[strip.quantity], format=",.4~g"),
    ]  # fmt: skip
    dash = alt.StrokeDash("invalid:N", scale=_DOTTED, legend=None)
    return unit(line.encode(x=x, y=y, detail=["block:N", "again:N"], strokeDash=dash, tooltip=tips))


_DOTTED = alt.Scale(domain=[False, True], range=[[1, 0], [1, 3]])
