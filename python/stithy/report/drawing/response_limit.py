"""The study's limit of response time as a line, where a chart shows what it is of."""

from stithy.report.context import Context
from stithy.report.drawing.chart import Line
from stithy.report.words.wording import duration

MS_PER_S = 1000.0


def limit_ms(context: Context, kind: str, percentile: str | None = None) -> tuple[Line, ...]:
    """The line, milliseconds, where the limit is of this transaction type and percentile.

    `percentile` None: the chart shows all of them, and the line says of which it is.
    """
    limit = context.limit
    if limit is None or limit.transaction != kind or percentile not in (None, limit.percentile):
        return ()
    of = f" of {limit.percentile}" if percentile is None else ""
    return (Line(limit.limit_s * MS_PER_S, f"limit{of} {duration(limit.limit_s)}"),)


def told(context: Context, kinds: tuple[str, ...], percentiles: tuple[str, ...]) -> str:
    """A sentence on the line, where one of these types and percentiles has it; else empty."""
    limit = context.limit
    if limit is None or limit.transaction not in kinds or limit.percentile not in percentiles:
        return ""
    return f" The broken line is the limit of the study for {limit.name}."
