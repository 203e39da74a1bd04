"""From readings to rows of the table `series`, joined with the hammer's seconds."""

from collections.abc import Iterable
from typing import Any

from stithy.collect.collector import Reading


def series_rows(
    window_id: str, readings: Iterable[Reading], started_at_s: float | None
) -> list[dict[str, Any]]:
    """Rows of SERIES; `second` counts from `started_at_s`, and is null where that is not known."""
    return [
        {
            "window_id": window_id,
            "at_s": each.at_s,
            "second": None if started_at_s is None else each.at_s - started_at_s,
            "collector": each.collector,
            "subject": each.sample.subject,
            "metric": each.sample.metric,
            "unit": each.unit,
            "value": each.sample.value,
            "missing_because": each.sample.missing_because,
        }
        for each in readings
    ]
