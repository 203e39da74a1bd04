"""Lines noted on a candidate's volume."""

from stithy.metrics import Metric

NAME = "note"
TABLES = ()
EXPECTS = ("lost",)
METRICS = (
    Metric("note.lines_per_s", "1/s", "higher", "values", "", "lines per second", "lines/s"),
    Metric("note.lost", "", "lower", "values", "", "lines lost", "lost", combined="sum",
           negligible=0.5),
)  # fmt: skip
