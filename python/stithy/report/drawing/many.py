"""What is drawn of windows that are too many to be drawn one by one: each level's ends.

A page with thousands of points in each figure would be too large to be opened, and they would lie
on each other. The figure's caption says so, and every window is in the data beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

POINTS_MOST = 240
"""Own: a chart with more shows the ends alone. 2 candidates × 6 levels × 20 blocks are 240."""

MARK = {"stithy": {"thinned": True}}
"""How a specification says that not every window was drawn."""

CAPTION = (
    "There are too many windows to draw each: of a candidate at a level the lowest and the highest "
    "valid one are drawn, and of invalid ones too. All are in report/figures/{name}.csv."
)


def extremes(points: Sequence[Row]) -> list[Row]:
    """Of each candidate and level the lowest point and the highest."""
    cells: dict[tuple[str, int], list[Row]] = {}
    for row in points:
        cells.setdefault((row["candidate"], row["users"]), []).append(row)
    found: list[Row] = []
    for rows in cells.values():
        low, high = (pick(rows, key=lambda row: row["value"]) for pick in (min, max))
        found += [low] if low is high else [low, high]
    return found
