"""What of a neighbour the section and the figure need: its words, its moments, its cycles."""

from collections.abc import Callable, Iterator, Mapping
from statistics import fmean
from typing import Any

import polars as pl

from stithy.activity import split_names
from stithy.analysis.comparisons import pair_windows
from stithy.analysis.evidence import Window
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.drawing.titles import name_each
from stithy.report.tables import PageTable, Show, make_table
from stithy.scenarios.noisy_neighbour.aggressor import list_aggressors
from stithy.scenarios.noisy_neighbour.declared import find_part, list_cycles, list_parts
from stithy.scenarios.noisy_neighbour.judge import ServerWork, read_tenant_servers
from stithy.scenarios.noisy_neighbour.plan import ALONE, NEIGHBOUR, OF_NEIGHBOURS

DURATIONS = "neighbour-cycles"


def choose_point(context: Context) -> Point | None:
    """Where figures show the neighbour; None where a study has none."""
    beside = [point for point in context.evidence.points if point.values.get(NEIGHBOUR, ALONE)]
    return context.evidence.choose_asked(beside)


def list_pairs(context: Context, candidate: str, point: Point) -> list[tuple[Window, Window]]:
    """The windows alone and with the neighbour of each block that has a valid one of both."""
    alone = point.replaced(NEIGHBOUR, ALONE)
    return list(pair_windows(context.evidence, candidate, point, alone))


def find_first_pair(context: Context, candidate: str, point: Point) -> tuple[Window, ...]:
    """Those of the first such block; none without any."""
    return next(iter(list_pairs(context, candidate, point)), ())


def describe_medians(
    context: Context, frame: pl.DataFrame, value: pl.Expr, by: Callable[[float, float], float],
    shown: Callable[[float, float], str],
) -> str:  # fmt: skip
    """The median of each candidate over the seconds of a frame, alone and with the neighbour."""
    medians = frame.group_by("candidate", "neighbour").agg(value.median().alias("median"))
    known = {(name, word): float(number) for name, word, number in medians.iter_rows()}
    both = {
        name: (known[name, "alone"], known[name, "with"])
        for name in context.evidence.candidates
        if {(name, "alone"), (name, "with")} <= known.keys()
    }
    return name_each(
        [*both], lambda name: by(*both[name]), lambda name: f"{shown(*both[name])} on {name}"
    )


def describe_neighbour(context: Context, point: Point) -> str:
    """What the neighbour at a point is: `700 requests per second`."""
    level = int(point.values.get(NEIGHBOUR, ALONE))
    for window in context.evidence.windows:
        for name in split_names(window.row["activity"]) if window.point == point else ():
            if name.startswith(OF_NEIGHBOURS):
                return list_aggressors()[name.removeprefix(OF_NEIGHBOURS)].describe(level)
    return str(level)


def make_durations_table(context: Context) -> PageTable:
    """How long the neighbour's cycles and their parts took, by candidate and point.

    As the figure of the same durations has them: of valid windows.
    """
    evidence = context.evidence
    rows = [
        row
        for point in evidence.points
        if point.values.get(NEIGHBOUR, ALONE) != ALONE
        for name in evidence.candidates
        for row in _list_rows(context, name, point)
    ]
    others = [factor for factor in context.factors if factor != NEIGHBOUR]
    shows = (
        *(Show(other, other) for other in others), Show("candidate", "Candidate"),
        Show("neighbour", "Neighbour"), Show("what", "What"), Show("done", "Done", "count"),
        Show("failed", "Failed", "count"), Show("cut", "Cut by the end", "count"),
        Show("mean_s", "Mean", "duration"), Show("least_s", "Shortest", "duration"),
        Show("most_s", "Longest", "duration"),
    )  # fmt: skip
    return make_table(DURATIONS, "Cycles of the neighbour", shows, rows)


def _list_rows(context: Context, name: str, point: Point) -> Iterator[dict[str, Any]]:
    windows = context.evidence.valid_at(name, point)
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for window in windows:
        kinds.setdefault("cycle", []).extend(list_cycles(window.spans))
        for part in list_parts(window.spans):
            kinds.setdefault(str(find_part(part["name"])), []).append(part)
    values = context.list_factor_values(point)
    factors = {key: str(value) for key, value in values.items() if key != NEIGHBOUR}
    for what, spans in kinds.items():
        if spans:
            own = {"candidate": name, "neighbour": describe_neighbour(context, point), "what": what}
            yield {**factors, **own, **_count_outcomes(spans)}


def _count_outcomes(spans: list[Mapping[str, Any]]) -> dict[str, Any]:
    outcomes = [span["outcome"] for span in spans]
    took = [each["to_s"] - each["from_s"] for each in spans if each["outcome"] == "done"]
    return {
        **{word: outcomes.count(word) for word in ("done", "failed", "cut")},
        "mean_s": fmean(took) if took else None,
        "least_s": min(took, default=None),
        "most_s": max(took, default=None),
    }


SERVERS = "tenant-servers"
TITLE = "What each tenant's server did, alone and with the neighbour"
NOTE = (
    "Each row is one tenant's own server: means over the blocks that have a valid window of both, "
    "sampled once per second. Waits for data files and for the write-ahead log are mean numbers of "
    "its active sessions. The buffer hit ratio is the share of blocks found in the server's own "
    "buffers. CPU time is that of all its processes, as a share of one CPU."
)
HELD_BACK = (
    "Held back is the share of the scheduler's periods in which the server had used up its "
    "`cpu_share`."
)

QUANTITIES = {
    "active": ("Active sessions", "rate"),
    "data": ("Wait for data files", "rate"),
    "log": ("Wait for the log", "rate"),
    "hit_share": ("Buffer hit ratio", "share"),
    "cpu_share": ("CPU time", "share"),
    "throttled_share": ("Held back", "share"),
}
"""What of a server is shown, by its name in `ServerWork`: its heading, and how it is written."""

ENDS = ("alone", "with")


def make_servers_table(context: Context) -> PageTable:
    """A row for each candidate and tenant, at the neighbour that the figures show."""
    shows = [
        Show("candidate", "Candidate"), Show("neighbour", "Neighbour"), Show("tenant", "Tenant")
    ]  # fmt: skip
    for key, (heading, kind) in QUANTITIES.items():
        shows += [
            Show(f"{key}_alone", f"{heading}, alone", kind),
            Show(f"{key}_with", "with", kind),
        ]
    return make_table(SERVERS, TITLE, shows, _make_server_rows(context), blocks=pl.Int64).told()


def note(servers: PageTable) -> str:
    """What the columns mean that the table has."""
    held_back = servers.frame["throttled_share_with"].count()
    return f"{NOTE} {HELD_BACK}" if held_back else NOTE


def _make_server_rows(context: Context) -> Iterator[dict[str, Any]]:
    point = choose_point(context)
    if point is None:
        return
    work = read_tenant_servers(context.sampled, context.engine, only="tenant-1")
    tenants = sorted({tenant for _, tenant in work}, key=lambda each: (len(each), each))
    for name in context.evidence.candidates:
        pairs = [(one.id, other.id) for one, other in list_pairs(context, name, point)]
        for tenant in tenants:
            both = [
                (work[one, tenant], work[other, tenant])
                for one, other in pairs
                if (one, tenant) in work and (other, tenant) in work
            ]
            if both:
                own = {"candidate": name, "neighbour": describe_neighbour(context, point)}
                yield {**own, "tenant": tenant, "blocks": len(both), **_average_blocks(both)}


def _average_blocks(both: list[tuple[ServerWork, ServerWork]]) -> Mapping[str, float | None]:
    found: dict[str, float | None] = {}
    for key in QUANTITIES:
        pairs = [(vars(one)[key], vars(other)[key]) for one, other in both]
        known = [pair for pair in pairs if None not in pair]
        for end, values in zip(ENDS, zip(*known, strict=True) if known else (None, None),
                               strict=True):  # fmt: skip
            found[f"{key}_{end}"] = fmean(values) if values else None
    return found
