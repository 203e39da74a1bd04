"""Lines and points of any quantity, in the unit of its axis, as a `Panel` wants them."""

from stithy.metrics import Quantity, Unit
from stithy.report.context import Context
from stithy.report.drawing.chart import NUMBERS, PERCENT, Axis
from stithy.report.drawing.compose import Rows
from stithy.report.drawing.points import rows_of

SCALES: dict[Unit, tuple[float, str]] = {
    "s": (1000.0, " (ms)"),
    "B": (2.0**-20, " (MiB)"),
    "B/s": (2.0**-20, " (MiB/s)"),
}
"""By the unit of a metric: what its values are multiplied by on an axis, and how that is named."""

SECONDS = (1.0, " (s)")


def scale_of(context: Context, quantity: Quantity) -> float:
    """By what its values are multiplied on an axis."""
    return _scale(context, quantity)[0]


def axis_of(context: Context, quantity: Quantity) -> Axis:
    """Its axis: what it is called, and the unit where that is not in the name."""
    noun, unit = quantity.noun, _scale(context, quantity)[1]
    title = f"{noun[0].upper()}{noun[1:]}{unit}"
    return Axis(title, format=PERCENT if quantity.known.unit == "share" else NUMBERS)


def _scale(context: Context, quantity: Quantity) -> tuple[float, str]:
    """Of times: milliseconds, and seconds where any of them is longer than one."""
    unit, evidence = quantity.known.unit, context.evidence
    if unit == "s" and any(
        (evidence.level_of(name, point, quantity) or 0) >= 1
        for point in evidence.points
        for name in evidence.candidates
    ):
        return SECONDS
    return SCALES.get(unit, (1.0, ""))


def quantity_rows(context: Context, quantity: Quantity) -> tuple[Rows, Rows]:
    """A line through what each candidate did at the levels, and its windows there."""
    evidence, scale = context.evidence, scale_of(context, quantity)
    lines, points = rows_of(
        context,
        lambda name, point: evidence.level_of(name, point, quantity),
        lambda window: evidence.value_of(window, quantity).number,
    )
    for row in (*lines, *points):
        row["value"] *= scale
    return lines, points
