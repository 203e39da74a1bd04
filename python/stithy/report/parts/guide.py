"""How the figures against users are read: said once, before the first of them."""

from stithy.report.context import Context
from stithy.report.drawing.chart import has_levels, window_rows
from stithy.report.drawing.spans import spans


def words(context: Context) -> str:
    """What their marks and bars are, as far as the run has them; empty without any window."""
    _, points = window_rows(context, "nopm")
    if not points:
        return ""
    parts = [
        f"In figures against {context.level_plural}, {_marks(has_levels(points))}",
        "Hollow windows are invalid and support no claim."
        if any(not point["valid"] for point in points)
        else "",
        "Bars are plain 95 % t intervals of the mean over the blocks, on a logarithmic axis of the "
        "geometric mean; each is of one candidate by itself and decides nothing."
        if spans(points, log=False)
        else "",
        "Candidates stand a little apart beside their level, so that all can be seen."
        if len(context.evidence.candidates) > 1
        else "",
    ]
    return " ".join(part for part in parts if part)


def _marks(is_of_several: bool) -> str:
    if not is_of_several:
        return "each mark is a window, and a line joins the levels of a candidate."
    return (
        "a large mark is a level of a candidate over all its valid windows, and a small one a "
        "window; a line joins the levels."
    )
