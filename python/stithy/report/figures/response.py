"""Response time against users: median, 95th and 99th percentile, over all and by transaction."""

from stithy.metrics import ALL, P95
from stithy.report.context import Context
from stithy.report.drawing.annotations import MS_PER_S, limit_ms, response_limit_said
from stithy.report.drawing.chart import WIDTH, Axis, side_by_side
from stithy.report.drawing.compose import Drawing, Rows, Spec, above, bars_told
from stithy.report.drawing.points import points_table, scaled, window_rows
from stithy.report.drawing.titles import compare_title, named_by
from stithy.report.figure import Absent, Drawn
from stithy.report.tables import Show
from stithy.report.words.wording import capital, took

NAME = "response"
ORDER = 20
SECTION = "response"
NEEDS = ("load",)

PERCENTILES = {"p50": "median", "p95": "95th percentile", "p99": "99th percentile"}
AXIS = Axis("Response time (ms)", log=True)
VALUE = Show("value", "response time", "duration")
PANEL_WIDTH = (WIDTH + 20) // 3 - 34


def draw(context: Context) -> list[Drawn]:
    """All transactions together, then each type."""
    return [_together(context), _by_transaction(context)]


def _together(context: Context) -> Drawn:
    series = {key: window_rows(context, f"response_{key}_s") for key in PERCENTILES}
    pooled = {key: _pooled(*both) for key, both in series.items()}
    rows = [
        {"percentile": key, **row}
        for key, (_, points) in series.items()
        for row in (*points, *pooled[key])
    ]
    if not rows:
        return Absent("response-by-users", "response times", "no window has enough transactions")
    noun = "95th percentile of response time"
    title = compare_title(context, *series["p95"], noun, shown=took, metric=P95)
    alone = " A mark without windows is of all of them together: each alone has too few values."
    drawing = Drawing()
    return drawing.figure(
        context, "response-by-users", title,
        _row(context, drawing, "", series, height=270, last=True),
        points_table(
            context, "response-by-users", "Response time by percentile", rows, VALUE, "percentile"
        ),
        caption="Response time of all transactions, from the intended start to the answer, with "
        "retries and waits, on a logarithmic axis. A percentile is drawn only if enough values lie "
        f"beyond it.{alone if any(pooled.values()) else ''}"
        f"{response_limit_said(context, (ALL,), tuple(PERCENTILES))}{bars_told(series['p95'][1])}",
        description="Three line charts of response time against "
        f"{context.axis.title.lower()}: median, 95th and 99th percentile, one line for "
        "each candidate.",
    )  # fmt: skip


def _pooled(lines: Rows, points: Rows) -> Rows:
    """What is known of all windows of a level together, and of none of them alone."""
    own = {(point["level"], point["candidate"]) for point in points}
    also = {"block": None, "valid": True, "note": "all windows together"}
    return [{**line, **also} for line in lines if (line["level"], line["candidate"]) not in own]


def _by_transaction(context: Context) -> Drawn:
    named = [kind for window in context.drawn for kind in window.transactions]
    kinds = [kind for kind in dict.fromkeys(named) if kind != "all"]
    rows: Rows = []
    charts, drawing = [], Drawing()
    for kind in kinds:
        series = {key: window_rows(context, f"response_{key}_s", kind) for key in PERCENTILES}
        found = [(key, point) for key, (_, points) in series.items() for point in points]
        if found:
            rows += [{"transaction": kind, "percentile": key, **point} for key, point in found]
            charts.append(_row(context, drawing, kind, series, height=130, last=kind == kinds[-1]))
    if not rows:
        because = "no window has enough transactions of a type"
        return Absent("response-by-transaction", "response times of each type", because)
    return drawing.figure(
        context, "response-by-transaction", _slowest(context, kinds), above(charts),
        points_table(
            context, "response-by-transaction", "Response time by transaction type", rows, VALUE,
            "transaction", "percentile",
        ),
        caption="Median, 95th and 99th percentile of the response time of each transaction type. "
        "A percentile is drawn only if enough values lie beyond it. The charts of a row share a "
        "logarithmic axis."
        f"{response_limit_said(context, tuple(kinds), tuple(PERCENTILES))}",
        description="Grid of line charts of response time against "
        f"{context.axis.title.lower()}: one row for each transaction type "
        f"({', '.join(kinds)}), one column for each percentile.",
    )  # fmt: skip


def _slowest(context: Context, kinds: list[str]) -> str:
    """Name the type that took longest at the highest level, by a percentile that all types have.

    Where it is not the slowest on every candidate, the title says on which one it was. Where types
    have too few values even for a median, it says that it compares the others.
    """
    evidence = context.evidence
    for point in reversed(evidence.levels):
        answered = [
            (kind, name)
            for kind in kinds
            for name in evidence.candidates
            if any(window.completed(kind) for window in evidence.valid_at(name, point))
        ]
        by_percentile = {
            key: {
                (kind, name): value
                for kind, name in answered
                if (value := evidence.printable_level(name, point, f"response_{key}_s", kind))
                is not None
            }
            for key in ("p95", "p50")
        }
        whole = (key for key, of in by_percentile.items() if len(of) == len(answered))
        key = next(whole, "p50")
        here = by_percentile[key]
        if not here:
            continue
        slowest, on = max(here, key=lambda of: here[of])
        of_it = {name: s for (kind, name), s in here.items() if kind == slowest}
        others = any(s > of_it.get(name, 0.0) for (_, name), s in here.items())
        who = f"{slowest} on {on}" if others else slowest
        few = "" if len(here) == len(answered) else " of the types with enough transactions"
        at, times = capital(context.at(point)), named_by(of_it, took)
        return f"{at}, {who} takes longest{few}: its {PERCENTILES[key]} is {times}"
    return f"Response times of the {len(kinds)} transaction types"


def _row(
    context: Context,
    drawing: Drawing,
    kind: str,
    series: dict[str, tuple[Rows, Rows]],
    *,
    height: int,
    last: bool,
) -> Spec:
    """Three charts side by side with one scale."""
    of = {key: f"{kind}, {words}" if kind else words for key, words in PERCENTILES.items()}
    return side_by_side(
        context, drawing, AXIS,
        {of[key]: (_ms(lines), _ms(points)) for key, (lines, points) in series.items()},
        {of[key]: limit_ms(context, kind or ALL, key) for key in series},
        width=PANEL_WIDTH, height=height, last=last,
    )  # fmt: skip


def _ms(rows: Rows) -> Rows:
    return scaled([row for row in rows if row["value"] > 0], MS_PER_S)
