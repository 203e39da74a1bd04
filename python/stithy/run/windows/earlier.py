"""What an earlier window of the run has found, for those that follow from it.

It is read from the results, so a run that is resumed finds what it found before.
"""

from stithy.metrics import ALL
from stithy.plan.steps import window_id
from stithy.point import Point
from stithy.results.read import read_rows
from stithy.results.tables import VALUES, WINDOW
from stithy.run.context import Context


def value_of(context: Context, candidate: str, point: Point, metric: str) -> float | None:
    """A value of the candidate's first block at a point, of its second attempt where it has one."""
    for attempt in (1, 0):
        name = window_id(candidate, point, 0, attempt=attempt)
        directory = context.session.directory.window(name)
        complete = [row["complete"] for row in read_rows(directory.table("window"), WINDOW)]
        if complete != [True]:
            continue
        for row in read_rows(directory.table("values"), VALUES):
            if (row["metric"], row["of"]) == (metric, ALL):
                value: float | None = row["value"]
                return value
    return None
