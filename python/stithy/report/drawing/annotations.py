"""Lines and marks in figures: moments of a window, limits of a device, the response-time target."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from stithy.analysis.bottlenecks.observe import read_ability
from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import LimitLine
from stithy.report.drawing.compose import Drawing, Rows, Spec
from stithy.report.words.loads import list_emulated, name_drive
from stithy.report.words.wording import format_count
from stithy.units import format_duration

SCHEMA = {
    "window_id": pl.String, "candidate": pl.String, "point": pl.String, "second": pl.Float64,
    "what": pl.String,
}  # fmt: skip
"""Of a frame of marks; `second` counts from the moment at which the window's users began."""


def _find_checkpoints(context: Context, windows: Collection[str]) -> pl.DataFrame:
    """When checkpoints began that ended while the window was watched."""
    samples = context.run.samples.of(metrics.DATABASE, [metrics.LAST_CHECKPOINT], windows)
    begun = samples.select("window_id", pl.col("value").alias("began_at_s")).unique()
    starts = context.run.window.select("window_id", "candidate", "point", "started_at_s")
    second = pl.col("began_at_s") - pl.col("started_at_s")
    return (
        begun.join(starts, on="window_id", how="inner")
        .with_columns(second.alias("second"), pl.lit(CHECKPOINT).alias("what"))
        .filter(pl.col("second") >= 0)
        .select(list(SCHEMA))
    )


def _find_changes(context: Context, windows: Collection[str]) -> pl.DataFrame:
    rows = [
        {
            "window_id": window.id, "candidate": window.candidate, "point": str(window.point),
            "second": float(change.index + window.measure_after_s), "what": CHANGE,
        }
        for window in context.evidence.windows
        if window.id in windows and window.steady is not None
        for change in window.steady.changes
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA)


@dataclass(frozen=True)
class MarkKind:
    """One kind of mark; `line` is what its lines are called, `told` the end of their sentence.

    `of`: the quantity it is about, in whose strip alone it stands; None: in all.
    """

    line: str
    shown: str
    dash: tuple[int, int]
    find: Callable[[Context, Collection[str]], pl.DataFrame]
    of: str | None = None


CHECKPOINT, CHANGE = "a checkpoint began", "the level of throughput changed"

KINDS: Mapping[str, MarkKind] = {
    CHECKPOINT: MarkKind(
        "Broken vertical lines", "the start of a checkpoint", (4, 3), _find_checkpoints
    ),
    CHANGE: MarkKind(
        "Dotted vertical lines", "changes in the level of a window's throughput", (1, 3),
        _find_changes, of="done",
    ),
}  # fmt: skip


def find_marks(context: Context, windows: Collection[str]) -> pl.DataFrame:
    """All marks of windows by their ids, in the order of windows and seconds."""
    found = [kind.find(context, windows) for kind in KINDS.values()]
    return pl.concat(found).sort("window_id", "second", "what")


def select_marks(frame: pl.DataFrame, windows: Iterable[str], quantity: str | None = None) -> Rows:
    """The marks of these windows that stand in the strip of a quantity; None: those of all."""
    names = [name for name, kind in KINDS.items() if kind.of in (None, quantity)]
    mine = frame.filter(pl.col("window_id").is_in(list(windows)) & pl.col("what").is_in(names))
    return mine.select("second", "what").unique(maintain_order=True).to_dicts()


def explain_marks(rows: Rows) -> str:
    """What the lines of these marks mean, a sentence a kind; empty where there are none."""
    there = {row["what"] for row in rows}
    shown = (f"{each.line} mark {each.shown}." for name, each in KINDS.items() if name in there)
    return " ".join(shown)


def draw_marks(drawing: Drawing, rows: Rows, x: alt.X) -> list[Spec]:
    """The vertical lines as a layer; none where there is nothing to mark."""
    tips = [alt.Tooltip("what:N", title="what"), alt.Tooltip("second:Q", title="at second")]
    layers = []
    for name, kind in KINDS.items():
        mine = [row for row in rows if row["what"] == name]
        if mine:
            # Not by a scale: layers share theirs, and that of a strip's lines is another.
            look = {"color": palette.MARK[0], "strokeDash": list(kind.dash)}
            layers.append(drawing.mark("rule", mine, {"x": x, "tooltip": tips}, **look))
    return layers


DRAWN_WITHIN = 3.0
"""Own: a limit further above what was reached would press all points to the axis."""

BYTES_PER_MB = 1e6

WORDS = {
    "read_iops": "reads", "write_iops": "writes", "total_iops": "of both together",
    "read_bytes_per_s": "MB read", "write_bytes_per_s": "MB written",
    "total_bytes_per_s": "MB of both together",
}  # fmt: skip
"""What so many of are allowed in a second, by the profile's key."""


def make_cap_lines(context: Context, key: str | None, reached: float) -> tuple[LimitLine, ...]:
    """The limits by `key` that are near to the largest value drawn, of each candidate with one."""
    return tuple(
        LimitLine(value, f"cap of {name}", context.styles[name].colour)
        for name, value in (_list_caps(context, key).items() if key else ())
        if 0 < value <= DRAWN_WITHIN * reached
    )


def explain_caps(context: Context, keys: Sequence[str]) -> str:
    """What the profiles allow, each profile once; empty where none says anything."""
    each = list(dict.fromkeys(_list_profiles(context, keys)))
    if not each:
        return ""
    return (
        f" The drive profiles allow at most, per second: {'; '.join(each)}. Caps far above the "
        "measured values are not drawn."
    )


def _list_caps(context: Context, key: str) -> Mapping[str, float]:
    """By candidate; one whose drives differ in it has no single limit."""
    found = {}
    for candidate in list_emulated(context.manifest):
        caps = {
            able.caps.get(key)
            for drive in candidate.drives
            if (able := read_ability(drive.profile, drive.scale)) is not None
        }
        if len(caps) == 1 and not candidate.arrays and (cap := caps.pop()) is not None:
            found[candidate.name] = cap
    return found


def _list_profiles(context: Context, keys: Sequence[str]) -> Iterator[str]:
    """`generic-sata 93,000 reads, 43,000 writes`."""
    for candidate in list_emulated(context.manifest):
        for drive in {each.profile: each for each in candidate.drives}.values():
            able = read_ability(drive.profile, drive.scale)
            caps = able.caps if able is not None else {}
            units = {key: BYTES_PER_MB if key.endswith("_bytes_per_s") else 1 for key in keys}
            parts = [
                f"{format_count(caps[key] / units[key])} {WORDS[key]}"
                for key in keys
                if key in caps
            ]
            if parts:
                yield f"{name_drive(drive)} {', '.join(parts)}"


MS_PER_S = 1000.0


def make_target_line(
    context: Context, kind: str, percentile: str | None = None
) -> tuple[LimitLine, ...]:
    """The line, milliseconds, where the limit is of this transaction type and percentile.

    `percentile` None: the chart shows all of them, and the line says of which it is.
    """
    limit = context.limit
    if limit is None or limit.transaction != kind or percentile not in (None, limit.percentile):
        return ()
    of = f" of {limit.percentile}" if percentile is None else ""
    return (LimitLine(limit.limit_s * MS_PER_S, f"target{of} {format_duration(limit.limit_s)}"),)


def explain_target(context: Context, kinds: tuple[str, ...], percentiles: tuple[str, ...]) -> str:
    """A sentence on the line, where one of these types and percentiles has it; else empty."""
    limit = context.limit
    if limit is None or limit.transaction not in kinds or limit.percentile not in percentiles:
        return ""
    return f" The broken line is the response-time target for {limit.name}."


def draw_spans(
    drawing: Drawing, spans: Rows, x: alt.X, looks: Mapping[str, tuple[str, float]]
) -> Iterator[Spec]:
    """Shade spans of a window behind its seconds, each kind in its colour and opacity.

    A row has `kind`, `name`, and from `second` to `until`, from the users' start.
    """
    tips = [alt.Tooltip("name:N", title="span"), alt.Tooltip("second:Q", format=".1f"),
            alt.Tooltip("until:Q", format=".1f")]  # fmt: skip
    for kind, (colour, opacity) in looks.items():
        mine = [span for span in spans if span["kind"] == kind]
        if mine:
            ends = {"x": x, "x2": alt.X2("until:Q"), "tooltip": tips}
            yield drawing.mark("rect", mine, ends, color=colour, opacity=opacity)
