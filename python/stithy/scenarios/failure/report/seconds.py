"""A window with each fault over time, thin behind it the window without; the fault shaded."""

from collections.abc import Iterator, Mapping

import polars as pl

from stithy.analysis.evidence import Window
from stithy.point import Point
from stithy.report.blocks import Absent, Drawn, Figure, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.annotations import draw_spans
from stithy.report.drawing.chart import NUMBERS, WIDTH, find_domain, make_strip_axis, make_y_axis
from stithy.report.drawing.compose import Drawing, merge_layers, place_in_grid
from stithy.report.metrics import read_tpm
from stithy.report.tables import PageTable, Show
from stithy.scenarios.failure.judge import Suffered, list_suffered
from stithy.scenarios.failure.keys import NAME
from stithy.units import format_list, format_measured_duration

KEY = "failure-seconds"
HEIGHT, COLUMNS_MOST, EXTENT = 110, 3, 40
LOOKS = {"fault": (palette.GRID[0], 0.9), "repair": (palette.AXIS[0], 0.6),
         "rebuild": (palette.AXIS[0], 0.3)}  # fmt: skip
TYPES = {"window": pl.String, "second": pl.Int64, "tpm": pl.Float64}


def _plot(context: Context) -> Iterator[Drawn]:
    suffered = list_suffered(context.evidence)
    for point in dict.fromkeys(each.point for each in suffered):
        stem = f"{KEY}-{point.slug}"
        windows = {each.candidate: pair for each in suffered if each.point == point
                   if (pair := _find_pair(each))}  # fmt: skip
        if windows:
            yield _draw_figure(context, stem, point, windows)
        else:
            yield Absent(stem, f"throughput over time with {point}", "no block has both windows")


def _find_pair(of: Suffered) -> tuple[Window, Window] | None:
    """The first block that has a window with the fault and one without, those that count first."""
    for choose in (of.evidence.valid_at, of.evidence.at):
        alone = {window.block: window for window in choose(of.candidate, of.alone)}
        for window in choose(of.candidate, of.point):
            if window.measured and window.block in alone:
                return window, alone[window.block]
    return None


def _draw_figure(
    context: Context, stem: str, point: Point, windows: Mapping[str, tuple[Window, Window]]
) -> Figure:
    drawing = Drawing()
    frames = {name: _read_pair(context, *pair) for name, pair in windows.items()}
    every = pl.concat(frames.values())
    title = _write_title(windows, point)
    domain = find_domain([{"value": float(value)} for value in every["tpm"]], log=False)
    columns = min(len(frames), COLUMNS_MOST)
    width, last = (WIDTH + 20) // columns - 60, max(every["second"].to_list(), default=0) + 1.0
    charts = []
    for index, (name, frame) in enumerate(frames.items()):
        y_title = "TPM" if index % columns == 0 else None
        y = make_y_axis("value", y_title, domain, format=NUMBERS, tickCount=4, minExtent=EXTENT)
        x = make_strip_axis(last, is_bottom=True)
        spans = list(_list_spans(windows[name][0]))
        layers = [*draw_spans(drawing, spans, x, LOOKS)]
        colour = context.styles[name].colour
        for kind, stroke, shown in (("none", 0.8, 0.5), ("fault", 1.6, 1.0)):
            mine = frame.filter(pl.col("window") == kind)
            rows = [{"second": second, "value": value}
                    for second, value in mine.select("second", "tpm").iter_rows()]  # fmt: skip
            mark = drawing.mark("line", rows, {"x": x, "y": y}, strokeWidth=stroke,
                                opacity=shown, color=colour)  # fmt: skip
            layers.append(mark)
        charts.append(merge_layers(layers, width=width, height=HEIGHT, title=name))
    table = PageTable(
        stem, title,
        (Show("candidate", "candidate"), Show("window", "window"),
         Show("second", "second", "count"), Show("tpm", "TPM", "count")),
        pl.concat([frame.select(pl.lit(name).alias("candidate"), "window", "second", "tpm")
                   for name, frame in frames.items()]),
    )  # fmt: skip
    return drawing.figure(
        context, stem, title, place_in_grid(charts, columns), table,
        caption=f"Transactions per minute of each second {point.at(context.level_unit)}, one "
        "chart per candidate. Thin: the window without the fault, of the same block. Shaded: the "
        "fault, darker its repair, and lighter the restoring of redundancy.",
        description="Line charts of throughput over the seconds of a window with a fault and of "
        "one without.",
    )  # fmt: skip


def _write_title(windows: Mapping[str, tuple[Window, Window]], point: Point) -> str:
    pauses = [
        f"{format_measured_duration(pause_s)} on {name}"
        for name, (window, _) in windows.items()
        if (pause_s := window.row.get("gap_s")) is not None
    ]
    fault = point.values["fault"]
    if not pauses:
        return f"Throughput over time with {fault}"
    return f"With {fault} users paused {format_list(pauses)}"


def _read_pair(context: Context, window: Window, alone: Window) -> pl.DataFrame:
    rows = [
        {"window": kind, "second": second, "tpm": tpm}
        for kind, one in (("none", alone), ("fault", window))
        for second, tpm in read_tpm(context, one).items()
    ]
    return pl.DataFrame(rows, schema=TYPES)


def _list_spans(window: Window) -> Iterator[dict[str, float | str]]:
    begun_s = window.row["started_at_s"]
    for span in window.spans:
        if begun_s is not None and span["to_s"] is not None and span["name"] in LOOKS:
            yield {"kind": span["name"], "name": span["name"], "second": span["from_s"] - begun_s,
                   "until": span["to_s"] - begun_s}  # fmt: skip


PLUGINS = (FigureKind(KEY, 17, NAME, _plot, ("values",)),)
