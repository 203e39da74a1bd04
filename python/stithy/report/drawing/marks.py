"""What happened at an instant of a window: the vertical lines in every figure over time.

Each kind is one entry of `KINDS`: how it is told, how it is dashed, and where it is found. What
scenarios do on purpose (a backup, a fault) becomes an entry of its own and is drawn everywhere.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import altair as alt
import polars as pl

from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.compose import Drawing, Rows, Spec, unit

SCHEMA = {
    "window_id": pl.String, "candidate": pl.String, "users": pl.Int64, "second": pl.Float64,
    "what": pl.String,
}  # fmt: skip
"""Of a frame of marks; `second` counts from the moment at which the window's users began."""


def _checkpoints(context: Context, windows: Collection[str]) -> pl.DataFrame:
    """When checkpoints began that ended while the window was watched."""
    samples = context.run.samples.of(metrics.DATABASE, [metrics.LAST_CHECKPOINT], windows)
    begun = samples.select("window_id", pl.col("value").alias("began_at_s")).unique()
    starts = context.run.window.select("window_id", "candidate", "users", "started_at_s")
    second = pl.col("began_at_s") - pl.col("started_at_s")
    return (
        begun.join(starts, on="window_id", how="inner")
        .with_columns(second.alias("second"), pl.lit(CHECKPOINT).alias("what"))
        .filter(pl.col("second") >= 0)
        .select(list(SCHEMA))
    )


def _changes(context: Context, windows: Collection[str]) -> pl.DataFrame:
    """When the level of a window's throughput changed."""
    rows = [
        {
            "window_id": window.id, "candidate": window.candidate, "users": window.users,
            "second": float(each.index + window.measure_after_s), "what": CHANGE,
        }
        for window in context.evidence.windows
        if window.id in windows and window.steady is not None
        for each in window.steady.changes
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA)


@dataclass(frozen=True)
class Kind:
    """One kind of mark; `line` is what its lines are called, `told` the end of their sentence.

    `of`: the quantity it is about, in whose strip alone it stands; None: in all.
    """

    line: str
    told: str
    dash: tuple[int, int]
    find: Callable[[Context, Collection[str]], pl.DataFrame]
    of: str | None = None


CHECKPOINT, CHANGE = "a checkpoint began", "the level of throughput changed"

KINDS: Mapping[str, Kind] = {
    CHECKPOINT: Kind("Broken vertical lines", "where a checkpoint began", (4, 3), _checkpoints),
    CHANGE: Kind(
        "Dotted vertical lines", "where the level of a window's throughput changed", (1, 3),
        _changes, of="tpm",
    ),
}  # fmt: skip


def marks(context: Context, windows: Collection[str]) -> pl.DataFrame:
    """All marks of windows by their ids, in the order of windows and seconds."""
    found = [kind.find(context, windows) for kind in KINDS.values()]
    return pl.concat(found).sort("window_id", "second", "what")


def of_windows(frame: pl.DataFrame, windows: Iterable[str], quantity: str | None = None) -> Rows:
    """The marks of these windows that stand in the strip of a quantity; None: those of all."""
    names = [name for name, kind in KINDS.items() if kind.of in (None, quantity)]
    mine = frame.filter(pl.col("window_id").is_in(list(windows)) & pl.col("what").is_in(names))
    return mine.select("second", "what").unique(maintain_order=True).to_dicts()


def explained(rows: Rows) -> str:
    """What the lines of these marks mean, a sentence a kind; empty where there are none."""
    there = {row["what"] for row in rows}
    told = (f"{each.line} mark {each.told}." for name, each in KINDS.items() if name in there)
    return " ".join(told)


def lines(drawing: Drawing, rows: Rows, x: alt.X) -> list[Spec]:
    """The vertical lines as a layer; none where there is nothing to mark."""
    tips = [alt.Tooltip("what:N", title="what"), alt.Tooltip("second:Q", title="at second")]
    layers = []
    for name, kind in KINDS.items():
        mine = [row for row in rows if row["what"] == name]
        if mine:
            # Not by a scale: layers share theirs, and that of a strip's lines is another.
            rule = alt.Chart(drawing.add(mine))
            rule = rule.mark_rule(color=palette.MARK[0], strokeDash=list(kind.dash))
            layers.append(unit(rule.encode(x=x, tooltip=tips)))
    return layers
