"""A window with backups over time: users, devices of data and backup, CPU and log, spans shaded."""

from collections.abc import Iterator, Mapping

import polars as pl

from stithy.analysis.evidence import Window
from stithy.analysis.gathering import find_median_block
from stithy.point import Point
from stithy.report import metrics
from stithy.report.blocks import Absent, Drawn, Figure, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.annotations import BYTES_PER_MB, MS_PER_S, draw_spans
from stithy.report.drawing.chart import NUMBERS, WIDTH, find_domain, make_strip_axis, make_y_axis
from stithy.report.drawing.compose import (
    Drawing,
    Rows,
    Spec,
    merge_layers,
    place_in_grid,
    place_stacked,
)
from stithy.report.metrics import (
    MOVED,
    Strip,
    find_busiest_device,
    list_devices_by_role,
    list_strip_shows,
    read_tpm,
)
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import begin_sentence, format_plural
from stithy.scenarios.backup.report.figures import choose_point
from stithy.units import format_list, format_measured_duration

KEY = "backup-seconds"
COLUMNS_MOST, HEIGHT = 3, 70
LOOKS = {"backup": (palette.GRID[0], 0.9), "restore": (palette.AXIS[0], 0.6)}
EXTENT = 40
"""Pixels kept for the labels of the vertical axes, so that strips below each other align."""

BACKLOG = " “To archive” counts the finished files of the log that wait for their archive."
READ_S, WRITE_S = (metrics.OPERATIONS[each][1] for each in ("read", "write"))

STRIPS: Mapping[str, Strip] = {
    "tpm": Strip("TPM", "count"),
    "read_s": Strip("Reads (ms)", "duration", MS_PER_S),
    "write_s": Strip("Writes (ms)", "duration", MS_PER_S),
    "data_bytes": Strip("Data (MB/s)", "bandwidth", 1 / BYTES_PER_MB),
    "backup_s": Strip("To (ms)", "duration", MS_PER_S),
    "backup_bytes": Strip("To (MB/s)", "bandwidth", 1 / BYTES_PER_MB),
    "cpu": Strip("CPU (%)", "share", 100.0),
    "log_bytes": Strip("Log (MB/s)", "bandwidth", 1 / BYTES_PER_MB),
    "log_files": Strip("To archive (files)", "count"),
}  # fmt: skip


def _plot(context: Context) -> list[Drawn]:
    point = choose_point(context)
    if point is None:
        return []
    block = find_median_block(context.evidence, point)
    windows = dict(block.windows) if block else {}
    rows = [row for name, window in windows.items() for row in _read_window(context, name, window)]
    types = {"candidate": pl.String, "second": pl.Int64, **dict.fromkeys(STRIPS, pl.Float64)}
    frame = pl.DataFrame(rows, schema=types)
    if frame.is_empty():
        return [Absent(KEY, "windows with backups over time", "no window has samples")]
    return [_draw_figure(context, point, windows, frame)]


def _draw_figure(
    context: Context, point: Point, windows: Mapping[str, Window], frame: pl.DataFrame
) -> Figure:
    spans = {name: list(_list_spans(window)) for name, window in windows.items()}
    title, drawing = _write_title(spans), Drawing()
    present = [each for each in STRIPS if frame[each].count()]
    shown = format_list([STRIPS[each].name.lower() for each in present])
    return drawing.figure(
        context, KEY, title, _draw_charts(drawing, context, present, spans, frame),
        PageTable(
            KEY, title,
            (Show("candidate", "candidate"), Show("second", "second", "count"),
             *list_strip_shows(STRIPS, present)),
            frame.select("candidate", "second", *present),
        ),
        caption=f"Every second of a window {point.at(context.level_unit)}, "
        "one column per candidate. Shaded: backups, also those that failed; shaded darker: "
        "restores. Reads, writes and data are of the device of the data, “to” is that of the "
        "backups where it is another; latencies are means of the requests that the device "
        "completed in the second; of stacked devices the busiest is shown. CPU is the share of all "
        f"CPUs of this machine in use, by all programs.{BACKLOG if 'log_files' in present else ''}",
        description=f"Line charts over the seconds of a window: {shown}.",
    )  # fmt: skip


def _list_spans(window: Window) -> Iterator[dict[str, float | str]]:
    begun_s = window.row["started_at_s"]
    for span in window.spans:
        kind = str(span["name"]).partition(" ")[0]
        if begun_s is not None and span["to_s"] is not None and kind in ("backup", "restore"):
            failed = span["invalid_because"] is not None
            yield {
                "kind": kind, "name": f"{span['name']}{', failed' if failed else ''}",
                "second": span["from_s"] - begun_s, "until": span["to_s"] - begun_s,
                "failed": failed,
            }  # fmt: skip


def _write_title(spans: Mapping[str, list[dict[str, float | str]]]) -> str:
    said = []
    for name, each in spans.items():
        backups = [span for span in each if span["kind"] == "backup"]
        good = [float(s["until"]) - float(s["second"]) for s in backups if not s["failed"]]
        failed = f"{len(backups) - len(good)} failed" if len(good) < len(backups) else ""
        if good:
            longest = (
                f"the longest {format_measured_duration(max(good))}"
                if len(good) > 1
                else format_measured_duration(good[0])
            )
            parts = [f"{format_plural(len(good), 'backup')} on {name}", longest, failed]
            said.append(", ".join(part for part in parts if part))
        elif failed:
            said.append(f"no backup succeeded on {name}, {failed}")
    return begin_sentence("; ".join(said) or "no backup was made in these windows")


def _read_window(context: Context, name: str, window: Window) -> Rows:
    facts = context.find_facts(name)
    devices = list_devices_by_role(facts) if facts else {}
    keys = {"data", "backup"} & devices.keys()
    of = {
        role: find_busiest_device(context, window, (READ_S, WRITE_S), devices[role])
        for role in keys
    }
    found: dict[str, Mapping[int, float]] = {
        "tpm": read_tpm(context, window),
        "cpu": _read_cpu(context, window),
        "log_bytes": _read_samples(context, window, metrics.DATABASE, metrics.LOG_BYTES),
        "log_files": _read_samples(context, window, metrics.DATABASE, metrics.LOG_FILES),
    }
    if data := of.get("data"):
        found |= {"read_s": data[READ_S], "write_s": data[WRITE_S], "data_bytes": data[MOVED]}
    if backup := of.get("backup"):
        found |= {"backup_s": backup[WRITE_S], "backup_bytes": backup[MOVED]}
    seconds = sorted(set().union(*(each.keys() for each in found.values())))
    return [
        {"candidate": name, "second": second}
        | {strip: found.get(strip, {}).get(second) for strip in STRIPS}
        for second in seconds
    ]


def _read_samples(
    context: Context, window: Window, collector: str, metric: str
) -> dict[int, float]:
    samples = context.read_by_second(collector, [metric], {window.id})
    return {row["second"]: row["value"] for row in samples.iter_rows(named=True)}


def _read_cpu(context: Context, window: Window) -> dict[int, float]:
    idle = [each for name in ("idle", "iowait") for each in metrics.CPU_STATES[name]]
    samples = context.read_by_second(metrics.CPU, idle, {window.id})
    summed = samples.filter(subject="").group_by("second").agg(pl.col("value").sum())
    return {row["second"]: max(0.0, 1 - row["value"]) for row in summed.iter_rows(named=True)}


def _draw_charts(
    drawing: Drawing, context: Context, present: list[str],
    spans: Mapping[str, list[dict[str, float | str]]], frame: pl.DataFrame,
) -> Spec:  # fmt: skip
    columns = min(len(spans), COLUMNS_MOST)
    width = (WIDTH + 20) // columns - 60
    ends = [float(each["until"]) for every in spans.values() for each in every]
    last = max([*ends, *(float(each) + 1 for each in frame["second"].to_list())])
    stacks, domains = [], {}
    for strip in present:
        values = frame[strip].drop_nulls() * STRIPS[strip].scale
        domains[strip] = find_domain([{"value": value} for value in values], log=False)
    for index, (name, mine) in enumerate(spans.items()):
        own = frame.filter(pl.col("candidate") == name)
        charts = [
            _draw_chart(drawing, strip, mine, own, domains[strip], last, width,
                   context.styles[name].colour, title=name if strip == present[0] else "",
                   left=index % columns == 0, bottom=strip == present[-1])
            for strip in present
        ]  # fmt: skip
        stacks.append(place_stacked(charts, spacing=18))
    return place_in_grid(stacks, columns)


def _draw_chart(
    drawing: Drawing, strip: str, spans: list[dict[str, float | str]], frame: pl.DataFrame,
    domain: tuple[float, float], last: float, width: int, colour: str,
    *, title: str, left: bool, bottom: bool,
) -> Spec:  # fmt: skip
    shown = STRIPS[strip]
    x = make_strip_axis(last, is_bottom=bottom)
    title_y = shown.title if left else None
    y = make_y_axis("value", title_y, domain, format=NUMBERS, tickCount=3, minExtent=EXTENT)
    known = frame.drop_nulls(strip)
    rows = [{"second": second, "value": float(f"{value * shown.scale:.4g}")}
            for second, value in known.select("second", strip).iter_rows()]  # fmt: skip
    layers = [*draw_spans(drawing, spans, x, LOOKS)]
    if rows:
        layers.append(drawing.mark("line", rows, {"x": x, "y": y}, strokeWidth=1.3, color=colour))
    return merge_layers(layers, width=width, height=HEIGHT, title=title)


PLUGINS = (FigureKind(KEY, 17, "backup", _plot, ("values",)),)
