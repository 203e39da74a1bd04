"""When the neighbour worked: as bars in figures over time, and the seconds that titles count."""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.analysis.values.series import HALF_SAMPLE_S
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.drawing.chart import line_channels, picked
from stithy.report.drawing.compose import Drawing, Rows, Spec, layer
from stithy.report.parts.neighbour import first_pair
from stithy.scenarios.noisy_neighbour.spans import at_work, cycles

Marks = Sequence[dict[str, object]]

WORDS = {"alone": "alone", "with": "with the neighbour"}
"""The windows of a pair in their order: as a column `neighbour` has them, and in words."""

MEDIANS = (
    "The title has medians over the seconds of the measurement, with the neighbour over those in "
    "which it worked."
)
"""What a caption says of `counted`."""

WIDTH = 320
BAR, GAP = 5, 2
"""Height of a bar and the room between two, pixels."""


def marks(context: Context, point: Point) -> Marks:
    """Its cycles, or its work between rests, in seconds of the windows that are drawn.

    None of a neighbour that worked from the first second to the last: there is nothing to mark.
    """
    found: list[dict[str, object]] = []
    for name in context.evidence.candidates:
        for window in first_pair(context, name, point)[1:]:
            start_s = window.row["started_at_s"] or 0.0
            if not _throughout(window):
                found += [
                    {"candidate": name, "from": from_s - start_s, "to": to_s - start_s}
                    for from_s, to_s in at_work(window.spans)
                ]
    return found


def marked(context: Context, point: Point, found: Marks) -> str:
    """What a caption says of it, after `with the neighbour`."""
    if found:
        return "; bars at the bottom show when it worked, a row for each candidate"
    drawn = [first_pair(context, name, point)[1:] for name in context.evidence.candidates]
    always = [_throughout(window) for pair in drawn for window in pair]
    return " at work from the first second to the last" if always and all(always) else ""


def _throughout(window: Window) -> bool:
    """Whether it had neither cycles nor rests in the measurement."""
    begin, end = window.row["measure_from_s"], window.row["measure_to_s"]
    if begin is None or end is None or cycles(window.spans):
        return False
    return any(from_s <= begin and end <= to_s for from_s, to_s in at_work(window.spans))


def counted(context: Context, point: Point, frame: pl.DataFrame) -> pl.DataFrame:
    """The seconds that a title counts: those measured, with the neighbour those of its work.

    Shapes: `candidate`, `neighbour` and `second` are among the columns of the frame.
    """
    keys = {"candidate": pl.String, "neighbour": pl.String, "second": pl.Int64}
    wanted = [
        (name, word, second)
        for name in context.evidence.candidates
        for word, window in zip(WORDS, first_pair(context, name, point), strict=False)
        for second in _counted(window)
    ]
    return frame.join(pl.DataFrame(wanted, schema=keys, orient="row"), on=[*keys], how="semi")


def _counted(window: Window) -> Iterator[int]:
    """From the users' start; of a neighbour whose work nobody noted all that were measured."""
    begin, end = window.row["measure_from_s"], window.row["measure_to_s"]
    if begin is None or end is None:
        return
    start_s, work = begin - window.measure_after_s, at_work(window.spans)
    for second in range(int(end - start_s) + 1):
        at = start_s + second
        worked = not work or any(from_s < at + 1 and at < to_s for from_s, to_s in work)
        if worked and begin <= at + HALF_SAMPLE_S < end:
            yield second


def panel(
    context: Context, drawing: Drawing, rows: Rows, y: alt.Y, heading: str | None, found: Marks,
    *, height: int, **look: Any,
) -> Spec:  # fmt: skip
    """A line over the seconds for each candidate, with the bars of these marks below them."""
    x = alt.X("second:Q", title=heading, axis=alt.Axis(format="d", tickCount=6))
    channels = {"x": x, "y": y, "opacity": picked(), **line_channels(context)}
    lines = drawing.followed(drawing.mark("line", rows, channels, **look))
    worked = _bars(context, drawing, found, heading, height)
    return layer([lines, *worked], width=WIDTH, height=height)


def _bars(
    context: Context, drawing: Drawing, found: Marks, heading: str | None, height: int
) -> list[Spec]:
    """A row of bars for each candidate that has marks, above the axis."""
    names = [each for each in context.evidence.candidates
             if any(mark["candidate"] == each for mark in found)]  # fmt: skip
    colour, rows = line_channels(context)["color"], []
    for number, name in enumerate(names):
        mine = [mark for mark in found if mark["candidate"] == name]
        y = alt.value(height - GAP - (BAR + GAP) * number)
        # Layers share their axis, whose heading would else name both.
        x = alt.X("from:Q", title=heading)
        ends = {"x": x, "x2": alt.X2("to:Q"), "y": y, "color": colour}
        rows.append(drawing.mark("rule", mine, ends, strokeWidth=BAR, opacity=0.6))
    return rows
