"""Lines noted on a candidate's volume."""

from stithy.metrics import Metric
from stithy.results.tables import Table, integer, text

NAME = "note"
TABLES = ("note_lines",)
NOTE_LINES = Table("note_lines", "One row per line that was lost.", (
    text("window_id", "id of the window"),
    integer("line", "", "its number, from 0"),
))  # fmt: skip
DETAILS = (NOTE_LINES,)
EXPECTS = ("lost",)
METRICS = (
    Metric("note.lines_per_s", "1/s", "higher", "values", "", "lines per second", "lines/s"),
    Metric("note.lost", "", "lower", "values", "", "lines lost", "lost", combined="sum",
           negligible=0.5),
)  # fmt: skip
