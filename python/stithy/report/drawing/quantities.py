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


def scale_of(quantity: Quantity) -> float:
    """By what its values are multiplied on an axis."""
    return SCALES.get(quantity.known.unit, (1.0, ""))[0]


def axis_of(quantity: Quantity) -> Axis:
    """Its axis: what it is called, and the unit where that is not in the name."""
    noun, unit = quantity.noun, SCALES.get(quantity.known.unit, (1.0, ""))[1]
    title = f"{noun[0].upper()}{noun[1:]}{unit}"
    return Axis(title, format=PERCENT if quantity.known.unit == "share" else NUMBERS)


def quantity_rows(context: Context, quantity: Quantity) -> tuple[Rows, Rows]:
    """A line through what each candidate did at the levels, and its windows there."""
    evidence, scale = context.evidence, scale_of(quantity)
    lines, points = rows_of(
        context,
        lambda name, point: evidence.level_of(name, point, quantity),
        lambda window: evidence.value_of(window, quantity).number,
    )
    for row in (*lines, *points):
        row["value"] *= scale
    return lines, points
