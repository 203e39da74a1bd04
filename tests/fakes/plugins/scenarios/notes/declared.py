"""Lines noted on a candidate's volume."""

from stithy.activity import DeclaredActivity
from stithy.metrics import Metric
from stithy.results.tables import Table, integer, text

NOTE_LINES = Table("note_lines", "One row per line that was lost.", (
    text("window_id", "id of the window"),
    integer("line", "", "its number, from 0"),
))  # fmt: skip
METRICS = (
    Metric("note.lines_per_s", "1/s", "higher", "values", "", "lines per second", "lines/s"),
    Metric("note.lost", "", "lower", "values", "", "lines lost", "lost", combined="sum",
           negligible=0.5),
)  # fmt: skip

PLUGINS = (
    DeclaredActivity(
        "note", METRICS, tables=("note_lines",), details=(NOTE_LINES,), expects=frozenset({"lost"})
    ),
)
