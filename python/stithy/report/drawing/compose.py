"""Layers, stacks and grids of charts, which windows are drawn of many, and bars of intervals."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from stithy.analysis.statistics import estimate_factor_interval, estimate_mean_interval
from stithy.report.blocks import Figure, Title
from stithy.report.context import Context
from stithy.report.tables import PageTable
from stithy.report.words.escape import change_texts, escape_unseen

Spec = dict[str, Any]
Rows = list[dict[str, Any]]

PICK = "picked"
"""The selection by a click on the legend; without a click everything is selected."""


class Drawing:
    """The data of one figure by name, and the charts that follow its legend."""

    def __init__(self) -> None:
        """Without data."""
        self.rows: dict[str, Rows] = {}
        self.views: list[str] = []
        self.thinned = False

    def add(self, rows: Iterable[dict[str, Any]]) -> alt.NamedData:
        """A name for these rows, six digits of each number: more than a drawing can show."""
        short = [{key: _round_value(value) for key, value in row.items()} for row in rows]
        for name, known in self.rows.items():
            if known == short:
                return alt.NamedData(name=name)
        name = f"data-{len(self.rows)}"
        self.rows[name] = short
        return alt.NamedData(name=name)

    def mark(
        self, kind: str, rows: Iterable[dict[str, Any]], channels: Mapping[str, Any], **look: Any
    ) -> Spec:
        """A chart of these rows by one kind of mark, such as `point`, that looks so."""
        mark = getattr(alt.Chart(self.add(rows)), f"mark_{kind}")
        return make_unit(mark(**look).encode(**channels))

    def follow(self, unit: Spec) -> Spec:
        """The chart, entered as one whose legend picks candidates."""
        name = f"view-{len(self.views)}"
        self.views.append(name)
        return {**unit, "name": name}

    def spec(self, chart: Spec) -> Spec:
        """The whole figure as Vega-Lite; the theme is added when it is drawn."""
        # Names in scales and titles stand as in the data: XML cannot hold some unseen letters.
        document = {"$schema": _SCHEMA, **change_texts(chart, escape_unseen), "datasets": self.rows}
        if self.thinned:
            document["usermeta"] = MARK
        if self.views:
            select = {"type": "point", "fields": ["candidate"]}
            pick = {"name": PICK, "select": select, "bind": "legend", "views": self.views}
            document["params"] = [pick]
        return document

    def figure(
        self, context: Context, name: str, title: str | Title, chart: Spec, table: PageTable,
        *, caption: str, description: str,
    ) -> Figure:  # fmt: skip
        """The figure of this drawing; its description begins with the title, which is a finding."""
        known = Title(title) if isinstance(title, str) else title
        return Figure(
            name, known.text, caption, f"{known.text}. {description}", context.footer,
            self.spec(chart), table, known.ratio,
        )  # fmt: skip


_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def _round_value(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return escape_unseen(value) if isinstance(value, str) else value


def make_unit(chart: alt.Chart) -> Spec:
    """A single chart as Vega-Lite, without Altair's own theme.

    Its channels are Altair's classes (`alt.Y2("high:Q")`): a plain text is looked up among all of
    them, by the JSON of each, which takes milliseconds a time.
    """
    with alt.theme.enable("none"):
        document: Spec = chart.to_dict(validate=False)
    return {key: value for key, value in document.items() if key not in ("$schema", "config")}


def place_x(pixels: float) -> alt.XValue:
    """A horizontal place in the chart, not of a value."""
    return alt.XValue(pixels)  # type: ignore[no-untyped-call] # Altair leaves its type out


def place_y(pixels: float) -> alt.YValue:
    """A vertical place in the chart, not of a value."""
    return alt.YValue(pixels)  # type: ignore[no-untyped-call] # as above


def merge_layers(units: Sequence[Spec], *, width: int, height: int, title: str = "") -> Spec:
    """Charts on top of each other, the first at the bottom."""
    document: Spec = {"layer": list(units), "width": width, "height": height}
    return {**document, "title": title} if title else document


def place_beside(charts: Sequence[Spec]) -> Spec:
    """Charts from left to right."""
    return charts[0] if len(charts) == 1 else {"hconcat": list(charts)}


def place_above(charts: Sequence[Spec]) -> Spec:
    """Charts from top to bottom."""
    return charts[0] if len(charts) == 1 else {"vconcat": list(charts)}


def place_stacked(charts: Sequence[Spec], *, spacing: int) -> Spec:
    """Charts from top to bottom at fixed steps, so that neighbouring stacks stay level."""
    return {"vconcat": list(charts), "bounds": "flush", "spacing": spacing}


def place_in_grid(charts: Sequence[Spec], columns: int) -> Spec:
    """Charts in rows of `columns`."""
    return place_above(
        [place_beside(charts[i : i + columns]) for i in range(0, len(charts), columns)]
    )


Row = Mapping[str, Any]

POINTS_MOST = 240
"""Own: a chart with more shows the ends alone. 2 candidates × 6 levels × 20 blocks are 240."""

MARK = {"stithy": {"thinned": True}}
"""How a specification says that not every window was drawn."""

CAPTION = (
    "There are too many windows to draw all. Per candidate and level the figure shows the lowest "
    "and the highest of the valid windows, and of the invalid ones. All windows are in "
    "report/figures/{name}.csv."
)


def find_extremes(points: Sequence[Row]) -> list[Row]:
    """Of each candidate and level the lowest point and the highest."""
    cells: dict[tuple[str, float], list[Row]] = {}
    for row in points:
        cells.setdefault((row["candidate"], row["level"]), []).append(row)
    found: list[Row] = []
    for rows in cells.values():
        low, high = (pick(rows, key=lambda row: row["value"]) for pick in (min, max))
        found += [low] if low is high else [low, high]
    return found


SPAN_BLOCKS_LEAST = 3
"""Own: the interval of two windows is nine times their deviation wide, and tells nothing."""

BARS = " Bars are plain 95 % t intervals."
"""Of what, and what they are not, is said once on the page."""


def explain_bars(points: Rows) -> str:
    """What bars mean, where there are any."""
    return BARS if estimate_spans(points, log=False) else ""


def find_busiest(points: Iterable[Row]) -> dict[tuple[float, str], dict[Any, float]]:
    """By level and candidate the value of each valid block, of several devices the busiest's."""
    blocks: dict[tuple[float, str], dict[Any, float]] = {}
    for point in points:
        if point["valid"]:
            known = blocks.setdefault((point["level"], point["candidate"]), {})
            known[point["block"]] = max(known.get(point["block"], 0.0), point["value"])
    return blocks


def estimate_spans(points: Rows, log: bool) -> Rows:
    """The interval over the valid blocks of each candidate and level that has three or more.

    On a logarithmic axis it is that of the geometric mean.
    """
    rows = []
    for (level, candidate), found in find_busiest(points).items():
        values = list(found.values())
        if len(values) >= SPAN_BLOCKS_LEAST and (not log or min(values) > 0):
            low, high = estimate_factor_interval(values) if log else estimate_mean_interval(values)
            rows.append({"level": level, "candidate": candidate, "low": low, "high": high})
    return rows


def add_spans(points: Rows, log: bool) -> Rows:
    """The points, and the ends of their intervals as values, for a domain that holds all."""
    ends = [{"value": row[end]} for row in estimate_spans(points, log) for end in ("low", "high")]
    return [*points, *ends]
