"""How long backup and restore take, by candidate: every cycle, and the mean."""

from collections.abc import Iterator

from stithy.analysis.evidence import Window
from stithy.report.context import Context
from stithy.report.figure import Absent, Drawn
from stithy.report.parts.backups import drawn_point
from stithy.report.parts.durations import Duration, figure, of_windows

NAME = "backup_durations"
ORDER = 15
SECTION = "backup"
KEY = "backup-durations"
OPERATIONS = ("backup", "restore")
OF_CYCLES = ("backup.cycle_bytes", "backup.cycle_ratio")
"""What is measured of each backup, by the name of its span."""


def draw(context: Context) -> list[Drawn]:
    """Bars for each candidate, a chart for backups and one for restores."""
    point = drawn_point(context)
    if point is None:
        return []
    cycles = of_windows(context, point, _of_window)
    if not cycles:
        because = "no valid window has a backup that succeeded"
        return [Absent(KEY, "duration of backup and restore", because)]
    return [
        figure(
            context, KEY, cycles, OPERATIONS,
            caption="Duration of each backup and of each restore that succeeded (marks), and the "
            f"mean of the windows' means (bars), of all valid windows "
            f"{point.at(context.level_unit)}. A restore ends when a second server answers.",
            description="Bar charts of the duration of backups and of restores, with a "
            "bar for each candidate and a mark for each cycle.",
        )
    ]  # fmt: skip


def _of_window(window: Window) -> Iterator[Duration]:
    for span in window.spans:
        operation, _, number = str(span["name"]).partition(" ")
        succeeded = span["to_s"] is not None and span["invalid_because"] is None
        if operation in OPERATIONS and succeeded:
            duration_s = span["to_s"] - span["from_s"]
            values = (window.values.get((metric, span["name"])) for metric in OF_CYCLES)
            yield Duration(
                operation, window.candidate, window.block, number, duration_s,
                *(each["value"] if each else None for each in values),
            )  # fmt: skip
