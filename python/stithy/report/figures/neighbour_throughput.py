"""How fast a neighbour's cycles went through their databases, over the seconds of a window."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import altair as alt

from stithy.analysis.evidence import Window
from stithy.metrics import Quantity
from stithy.report.context import Context
from stithy.report.drawing.annotations import BYTES_PER_MB
from stithy.report.drawing.chart import Axis, domain_of, line_channels, picked, value_axis
from stithy.report.drawing.compose import Drawing, Spec, layer
from stithy.report.drawing.titles import named_by
from stithy.report.figure import Drawn
from stithy.report.parts.neighbour import drawn_point, first_pair
from stithy.report.tables import Show, table_of
from stithy.report.words.wording import value
from stithy.scenarios.noisy_neighbour.spans import cycles, part_of, parts

NAME = "neighbour_throughput"
ORDER = 18
SECTION = "neighbours"
NEEDS = ("tenant_seconds",)
KEY = "neighbour-throughput"
SIZE, RATE = "neighbour.cycle_bytes", Quantity("neighbour.bytes_per_s")
WIDTH, HEIGHT = 660, 180


@dataclass(frozen=True)
class _Stretch:
    """A part of a cycle that succeeded; seconds of its window, bytes per second."""

    candidate: str
    part: str
    from_s: float
    to_s: float
    rate: float


def draw(context: Context) -> list[Drawn]:
    """A line that is 0 while no cycle runs, for each candidate, in the window that is drawn."""
    point, names = drawn_point(context), context.evidence.candidates
    if point is None:
        return []
    drawn = [window for name in names for window in first_pair(context, name, point)[1:]]
    found = [each for window in drawn for each in _of_window(window)]
    if not found:
        return []
    title, drawing = _finding(context, found), Drawing()
    shows = (
        Show("candidate", "candidate"), Show("part", "part"), Show("from_s", "from", "duration"),
        Show("to_s", "to", "duration"), Show("rate", "bytes of databases", "bandwidth"),
    )  # fmt: skip
    return [
        drawing.figure(
            context, KEY, title, _chart(context, drawing, found),
            table_of(KEY, title, shows, map(vars, found)),
            caption="Each part of a cycle has the bytes of its database divided by its time; "
            "cycles that run at once are added. The line is 0 while no cycle runs. The window with "
            "the neighbour is the one drawn above. Only cycles that succeeded are drawn: the bytes "
            "of one that the end of the window cut are not known.",
            description="Line chart of throughput against time, with a line for each candidate.",
        )
    ]  # fmt: skip


def _of_window(window: Window) -> Iterator[_Stretch]:
    """The parts of each cycle whose bytes are known; a cycle without parts is one."""
    start_s = window.row["started_at_s"] or 0.0
    for cycle in cycles(window.spans):
        measured = window.values.get((SIZE, cycle["name"])) or {}
        own = [each for each in parts(window.spans)
               if each["name"].startswith(f"{cycle['name']}:")] or [cycle]  # fmt: skip
        for each in own if measured.get("value") else ():
            took_s = each["to_s"] - each["from_s"]
            if took_s > 0:
                yield _Stretch(
                    window.candidate, part_of(each["name"]) or "cycle", each["from_s"] - start_s,
                    each["to_s"] - start_s, measured["value"] / took_s,
                )  # fmt: skip


def _finding(context: Context, found: list[_Stretch]) -> str:
    """The mean of each candidate while any cycle ran, weighted by time."""
    means = {}
    for name in context.evidence.candidates:
        rates = _rates([each for each in found if each.candidate == name])
        at_work = [(to_s - from_s, rate) for from_s, to_s, rate in rates if rate]
        if at_work:
            means[name] = sum(s * rate for s, rate in at_work) / sum(s for s, _ in at_work)
    said = named_by(means, lambda rate: value(RATE, rate))
    return f"While it works, the neighbour goes through its databases at {said}"


def _chart(context: Context, drawing: Drawing, found: list[_Stretch]) -> Spec:
    rows = [
        {"candidate": name, "second": at_s, "value": rate / BYTES_PER_MB}
        for name in context.evidence.candidates
        for at_s, rate in _steps([each for each in found if each.candidate == name])
    ]
    y = value_axis(Axis("Bytes of databases (MB/s)"), domain_of(rows, log=False))
    x = alt.X("second:Q", title="Seconds, with the neighbour", axis=alt.Axis(format="d"))
    channels = {"x": x, "y": y, "opacity": picked(), **line_channels(context)}
    line = drawing.mark("line", rows, channels, strokeWidth=1.5, interpolate="step-after")
    return layer([drawing.followed(line)], width=WIDTH, height=HEIGHT)


def _rates(found: list[_Stretch]) -> list[tuple[float, float, float]]:
    """Of a candidate, from each begin or end of a part to the next: both, and the rate of all."""
    moments = sorted({moment for each in found for moment in (each.from_s, each.to_s)})
    return [
        (begin, end, sum(each.rate for each in found if each.from_s <= begin and end <= each.to_s))
        for begin, end in pairwise(moments)
    ]


def _steps(found: list[_Stretch]) -> list[tuple[float, float]]:
    """Where the line of a candidate steps to which rate: at 0 s, and with each begin and end."""
    rates = _rates(found)
    first = [(0.0, 0.0)] if rates and rates[0][0] > 0 else []
    last = [(rates[-1][1], 0.0)] if rates else []
    return [*first, *((from_s, rate) for from_s, _, rate in rates), *last]
