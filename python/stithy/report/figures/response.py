"""Response time against users: median, 95th and 99th percentile, over all and by transaction."""

from collections.abc import Iterator

from stithy.metrics import ALL, P95
from stithy.report.context import Context
from stithy.report.drawing.annotations import MS_PER_S, limit_ms, response_limit_said
from stithy.report.drawing.chart import Axis
from stithy.report.drawing.plots import ByLevel, Series
from stithy.report.drawing.points import window_rows
from stithy.report.drawing.titles import compare_title, named_by
from stithy.report.figure import Absent, FigureKind
from stithy.report.tables import Show
from stithy.report.words.wording import capital, took

PERCENTILES = {"p50": "median", "p95": "95th percentile", "p99": "99th percentile"}
AXIS = Axis("Response time (ms)", log=True)
VALUE = Show("value", "response time", "duration")


def _read_series(context: Context, kind: str = "") -> list[Series]:
    """Read a chart for each percentile of a type, all transactions by default."""
    return [
        Series(
            *window_rows(context, f"response_{key}_s", kind or ALL),
            f"{kind}, {words}" if kind else words, (kind, key) if kind else (key,),
            limit_ms(context, kind or ALL, key),
        )
        for key, words in PERCENTILES.items()
    ]  # fmt: skip


def _plot_together(context: Context) -> Iterator[ByLevel | Absent]:
    name, series = "response-by-users", _read_series(context)
    pooled = any(chart.pooled for chart in series)
    if not pooled and not any(chart.points for chart in series):
        yield Absent(name, "response times", "no window has enough transactions")
        return
    p95 = series[1]
    noun = "95th percentile of response time"
    alone = " A mark without windows is of all of them together: each alone has too few values."
    yield ByLevel(
        name=name,
        title=compare_title(context, p95.lines, p95.points, noun, shown=took, metric=P95),
        caption="Response time of all transactions, from the intended start to the answer, with "
        "retries and waits, on a logarithmic axis. A percentile is drawn only if enough values lie "
        f"beyond it.{alone if pooled else ''}"
        f"{response_limit_said(context, (ALL,), tuple(PERCENTILES))}",
        noun="response time",
        data="Response time by percentile",
        axis=AXIS,
        rows=[series],
        value=VALUE,
        groups=("percentile",),
        scale=MS_PER_S,
        height=270,
    )


def _plot_by_transaction(context: Context) -> Iterator[ByLevel | Absent]:
    name = "response-by-transaction"
    kinds = list(dict.fromkeys(kind for window in context.drawn for kind in window.transactions))
    kinds = [kind for kind in kinds if kind != ALL]
    rows = [_read_series(context, kind) for kind in kinds]
    drawn = [row for row in rows if any(series.points for series in row)]
    if not drawn:
        because = "no window has enough transactions of a type"
        yield Absent(name, "response times of each type", because)
        return
    yield ByLevel(
        name=name,
        title=_name_slowest(context, kinds),
        caption="Median, 95th and 99th percentile of the response time of each transaction type. "
        "A percentile is drawn only if enough values lie beyond it. The charts of a row share a "
        "logarithmic axis."
        f"{response_limit_said(context, tuple(kinds), tuple(PERCENTILES))}",
        noun="response time",
        data="Response time by transaction type",
        axis=AXIS,
        rows=drawn,
        value=VALUE,
        groups=("transaction", "percentile"),
        scale=MS_PER_S,
        height=130,
    )


def _name_slowest(context: Context, kinds: list[str]) -> str:
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


PLUGINS = (
    FigureKind("response-by-users", 20, "response", _plot_together, ("load",)),
    FigureKind("response-by-transaction", 21, "response", _plot_by_transaction, ("load",)),
)
