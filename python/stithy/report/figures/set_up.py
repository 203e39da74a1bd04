"""A drawing of the set-up: the hammer, a server for each candidate, volumes, what is under them."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import altair as alt
import polars as pl

from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import own_channels
from stithy.report.drawing.compose import Drawing, Rows, Spec, layer
from stithy.report.figure import Absent, Drawn, FigureKind
from stithy.report.tables import PageTable, Show
from stithy.report.words import loads
from stithy.report.words.escape import seen, shortened
from stithy.report.words.set_up import Box, Lane, Part, SetUp, set_up
from stithy.report.words.wording import listing, plural

NAME = "set-up"

SHOWS = "the machine, the hammer, the servers, their volumes and drives"

HAMMER, SERVER, VOLUME, STORAGE, END = 14, 184, 354, 542, 776
"""Left ends of the columns, and the right end of the last one; pixels."""

GAP, PADDING, TOP, ROW, BETWEEN, LANES = 26, 8, 34, 66, 6, 10
"""Between columns, in a box, above the first lane, of a box, between boxes, and lanes; pixels."""

HEADING, LINE, LETTER = 12, 11, 5.9
"""Sizes of letters, and how wide one of a line is on average; pixels."""

LEADING = 15


def _plot(context: Context) -> list[Drawn]:
    """One drawing where the manifest tells what was set up."""
    if context.manifest is None:
        return [Absent(NAME, SHOWS, "the manifest could not be read")]
    if not context.evidence.windows:
        return [Absent(NAME, SHOWS, "the run has no window yet")]
    if loads.are_by_url(context.manifest):
        return [Absent(NAME, SHOWS, "the servers were there, and what is under them was not seen")]
    whole = set_up(context.manifest)
    drawing = Drawing()
    return [
        drawing.figure(
            context, NAME, _write_title(whole), _draw_chart(context, drawing, whole),
            _make_table(whole),
            caption="From left to right: the load driver, the database server of each candidate, "
            "its volumes with the parts of the database on them, and the storage below. Servers "
            "run one at a time, each only during the windows of its candidate. Long names are "
            "shortened here, but not in the data.",
            description=_describe_set_up(whole),
        )
    ]  # fmt: skip


def _write_title(whole: SetUp) -> str:
    names = [lane.candidate for lane in whole.lanes]
    if len(names) == 1:
        return f"One server on this machine, on the storage of {names[0]}"
    if len(names) > 4:
        return f"{plural(len(names), 'server')}, one at a time, each on its candidate's storage"
    return f"One server at a time on this machine, on the storage of {listing(names)}"


def _describe_set_up(whole: SetUp) -> str:
    """The drawing for those who cannot see it."""
    hammer = ", ".join(whole.hammer.lines)
    lanes = "; ".join(
        f"{lane.candidate}: {', '.join(lane.server.lines)}, with "
        + listing([f"{part.volume.heading} on {part.storage.heading}" for part in lane.parts])
        for lane in whole.lanes
    )
    return f"{whole.machine}. The hammer ({hammer}) drives {lanes}."


class _Canvas:
    """Boxes, lines and texts by their places in pixels; the top is 0."""

    def __init__(self) -> None:
        self.boxes: Rows = []
        self.marks: Rows = []
        self.lines: Rows = []
        self.headings: Rows = []
        self.texts: Rows = []

    def box(self, left: float, right: float, top: float, box: Box, height: float = ROW) -> None:
        """A box with its texts, as many of them as it holds, each shortened to its width."""
        self.boxes.append({"x": left, "x2": right, "y": top, "y2": top + height})
        room = right - left - 2 * PADDING
        lines = _fit_lines(box.lines, _count_letters(room), round(height / LEADING) - 1)
        first = top + (height - LEADING * len(lines)) / 2
        self.headings.append(
            {
                "x": left + PADDING,
                "y": first,
                "text": shortened(box.heading, _count_letters(room, 1.05)),
            }
        )
        for number, line in enumerate(lines, start=1):
            place = {"x": left + PADDING, "y": first + LEADING * number}
            self.texts.append({**place, "text": line})

    def line(self, left: float, right: float, top: float, bottom: float) -> None:
        """A straight line."""
        self.lines.append({"x": left, "x2": right, "y": top, "y2": bottom})

    def mark(self, left: float, top: float, bottom: float, candidate: str) -> None:
        """The colour of a candidate beside its box."""
        self.marks.append(
            {"x": left, "x2": left + 4, "y": top, "y2": bottom, "candidate": candidate}
        )


def _fit_lines(lines: Sequence[str], letters: int, most: int) -> list[str]:
    """The lines, a long one in two where there is room, else shortened."""
    fitted: list[str] = []
    for number, line in enumerate(lines, start=1):
        parts = wrap(seen(line), letters, break_long_words=False, break_on_hyphens=False)
        spare = most - len(fitted) - (len(lines) - number)
        whole = len(parts) <= spare and all(len(part) <= letters for part in parts)
        fitted += parts if whole else [shortened(line, letters)]
    return fitted


def _count_letters(room: float, factor: float = 1.0) -> int:
    return int(room / (LETTER * factor))


def _draw_chart(context: Context, drawing: Drawing, whole: SetUp) -> Spec:
    canvas = _Canvas()
    top: float = TOP
    middles = []
    for lane in whole.lanes:
        middles.append(_draw_lane(canvas, lane, top))
        top += _measure_lane(lane) + LANES
    _draw_hammer(canvas, whole.hammer, middles)
    height = top + 4
    frame = [{"x": 1.0, "x2": END + 12.0, "y": 1.0, "y2": height - 1}]
    machine = [
        {"x": HAMMER, "y": TOP / 2, "text": shortened(whole.machine, _count_letters(END - HAMMER))}
    ]
    return layer(
        _draw_marks(context, drawing, canvas, frame, machine, height),
        width=END + 14,
        height=round(height),
    )


def _measure_lane(lane: Lane) -> float:
    return len(lane.parts) * (ROW + BETWEEN) - BETWEEN


def _draw_lane(canvas: _Canvas, lane: Lane, top: float) -> float:
    """One candidate from its server to its storage; returns the middle of its server."""
    height = _measure_lane(lane)
    at = top + (height - ROW) / 2
    middle = at + ROW / 2
    canvas.box(SERVER, VOLUME - GAP, at, lane.server)
    canvas.mark(SERVER, at, at + ROW, lane.candidate)
    trunk = VOLUME - GAP / 2
    canvas.line(VOLUME - GAP, trunk, middle, middle)
    centres = [
        _draw_part(canvas, part, top + i * (ROW + BETWEEN)) for i, part in enumerate(lane.parts)
    ]
    canvas.line(trunk, trunk, centres[0], centres[-1])
    return middle


def _draw_part(canvas: _Canvas, part: Part, top: float) -> float:
    """A volume and its storage; returns their middle."""
    middle = top + ROW / 2
    canvas.box(VOLUME, STORAGE - GAP, top, part.volume)
    canvas.box(STORAGE, END, top, part.storage)
    canvas.line(VOLUME - GAP / 2, VOLUME, middle, middle)
    canvas.line(STORAGE - GAP, STORAGE, middle, middle)
    return middle


def _draw_hammer(canvas: _Canvas, hammer: Box, middles: list[float]) -> None:
    """The hammer beside the middle of all servers, with a line to each."""
    height = LEADING * len(hammer.lines) + ROW / 2
    centre = (middles[0] + middles[-1]) / 2
    canvas.box(HAMMER, SERVER - GAP, centre - height / 2, hammer, height)
    trunk = SERVER - GAP / 2
    canvas.line(SERVER - GAP, trunk, centre, centre)
    canvas.line(trunk, trunk, min(middles[0], centre), max(middles[-1], centre))
    for middle in middles:
        canvas.line(trunk, SERVER, middle, middle)


def _draw_marks(
    context: Context, drawing: Drawing, canvas: _Canvas, frame: Rows, machine: Rows, height: float
) -> list[Spec]:
    """All marks, from the ground up."""
    places = _make_scales(height)

    def texts(rows: Rows, **look: Any) -> Spec:
        at = {"x": places["x"], "y": places["y"], "text": alt.Text("text:N")}
        return drawing.mark("text", rows, at, align="left", baseline="middle", **look)

    edge = {"stroke": palette.AXIS[0], "cornerRadius": 3, "fill": palette.PAPER[0]}
    colour = own_channels(context)["color"]
    lines = drawing.mark("rule", canvas.lines, places, color=palette.AXIS[0], strokeWidth=1.2)
    return [
        drawing.mark("rect", frame, places, strokeWidth=1, **edge),
        lines,
        drawing.mark("rect", canvas.boxes, places, strokeWidth=1.2, **edge),
        drawing.mark("rect", canvas.marks, {**places, "color": colour}, strokeWidth=0),
        texts(machine, fontSize=HEADING, color=palette.INK[0]),
        texts(canvas.headings, fontSize=HEADING, fontWeight=600, color=palette.INK[0]),
        texts(canvas.texts, fontSize=LINE, color=palette.MUTED[0]),
    ]


def _make_scales(height: float) -> dict[str, Any]:
    """Pixels as they are: scales that change nothing."""
    across = alt.Scale(domain=[0, END + 14], nice=False, zero=False)
    down = alt.Scale(domain=[height, 0], nice=False, zero=False)
    return {
        "x": alt.X("x:Q", axis=None, scale=across), "x2": alt.X2("x2:Q"),
        "y": alt.Y("y:Q", axis=None, scale=down), "y2": alt.Y2("y2:Q"),
    }  # fmt: skip


def _make_table(whole: SetUp) -> PageTable:
    rows = [
        {
            "candidate": lane.candidate, "server": "; ".join(lane.server.lines),
            "roles": part.volume.heading, "filesystem": "; ".join(part.volume.lines),
            "storage": part.storage.heading, "details": "; ".join(part.storage.lines),
            "emulated": part.emulated,
        }
        for lane in whole.lanes
        for part in lane.parts
    ]  # fmt: skip
    shows = [
        Show("candidate", "candidate"), Show("server", "server"), Show("roles", "on the volume"),
        Show("filesystem", "file system"), Show("storage", "storage"),
        Show("details", "storage details"),
    ]  # fmt: skip
    if any(row["emulated"] for row in rows):
        shows.append(Show("emulated", "emulated", "truth"))
    return PageTable(NAME, "The set-up", tuple(shows), pl.DataFrame(rows))


PLUGINS = (FigureKind(NAME, 3, "set-up", _plot, ("load",)),)
