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


def checkpoints_inside(readings: Iterable[Reading], from_s: float, to_s: float) -> int | None:
    """How many checkpoints began and ended between two moments of Unix time.

    The server tells, in whole seconds, when the last complete checkpoint began; one that began in
    the first second of the span may be missed, none is counted that began before. None where the
    collector of the database gave no reading in the span.
    """
    seen = [
        each.sample.value
        for each in readings
        if each.collector == "database"
        and each.sample.metric == "last_checkpoint_at_s"
        and each.sample.value is not None
        and from_s <= each.at_s <= to_s
    ]
    return len({began_s for began_s in seen if began_s >= from_s}) if seen else None
