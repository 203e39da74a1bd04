"""Virtual users at work on several instances that share a candidate: of all together, and of each.

What is beside them says here what was asked of it and what it achieved, whatever kind it is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stithy.activities.hammer import declared
from stithy.activity import DeclaredActivity
from stithy.metrics import Better, Metric, Unit, make_paired_metrics
from stithy.results.tables import Table, integer, real, text

TENANTS = "tenants"

TENANT_SECONDS = Table(
    "tenant_seconds",
    "One row per second and tenant, from its own hammer. Only of windows with several tenants.",
    (
        text("window_id", "id of the window"),
        text("tenant", "the tenant, such as `tenant-1`"),
        integer("second", "s", "seconds since the users started, from 0"),
        real("at_s", "s", "Unix time at which the second began"),
        text("phase", "`ramp-up`, `measure` or `drain`"),
        integer("completed", "", "transactions committed, or rolled back as specified"),
    ),
)  # fmt: skip


def _list_metrics() -> Iterator[Metric]:
    noun = "transactions per minute of a tenant"
    yield _make_detail("tenant.tpm", "1/min", noun, of_instance=True)
    for percent in (95, 99):
        noun = f"{percent}th percentile of response time of a tenant"
        yield _make_detail(f"tenant.p{percent}_s", "s", noun, of_instance=True)
    yield _make_detail("neighbour.asked_per_s", "1/s", "requests or cycles asked of the neighbour")
    yield _make_detail(
        "neighbour.offered_per_s", "1/s", "requests or cycles that its limit lets through"
    )
    yield _make_detail("neighbour.achieved_per_s", "1/s", "requests or cycles of the neighbour")
    yield _make_detail("neighbour.mean_s", "s", "mean time of a request or cycle of the neighbour")
    yield _make_detail(
        "neighbour.bytes_per_s", "B/s", "bytes of databases that the neighbour works on"
    )
    yield _make_detail("neighbour.cycle_bytes", "B", "bytes of databases that a cycle works on")
    yield _make_detail("neighbour.limit_bytes_per_s", "B/s", "bytes that its limit lets through")
    yield from make_paired_metrics("neighbour", "with the neighbour")
    noun = "share of seconds in which tenants get nine tenths of what they have alone"
    yield _make_share("isolation", "higher", noun, "Isolation")
    yield _make_share(
        "isolation_lost", "lower", "isolation lost to the neighbour", "Isolation lost"
    )


ISOLATION_NEGLIGIBLE = 0.05
"""Own: of seconds; a second of twenty is below the bound by chance alone."""


def _make_share(name: str, better: Better, noun: str, label: str) -> Metric:
    return Metric(
        name, "share", better, "values", "", noun, label, combined="paired",
        negligible=ISOLATION_NEGLIGIBLE,
    )  # fmt: skip


def _make_detail(name: str, unit: Unit, noun: str, *, of_instance: bool = False) -> Metric:
    label = noun[0].upper() + noun[1:]
    return Metric(
        name, unit, None, "values", "", noun, label, compared=False, of_instance=of_instance
    )


AGGRESSORS = ("analytic-scan", "backup", "block-io", "bulk-load")

PLUGINS = (
    DeclaredActivity(
        TENANTS, tuple(_list_metrics()), (*declared.TABLES, "tenant_seconds"), (TENANT_SECONDS,)
    ),
    # What a neighbour does is among the metrics of the tenants.
    *(DeclaredActivity(f"neighbour-{name}") for name in AGGRESSORS),
)

WHOLE = "neighbour"
_CYCLE = re.compile(rf"{WHOLE} (?P<number>\d+)(?:: (?P<part>.+))?")

Row = Mapping[str, Any]


def name_cycle(number: int, part: str | None = None) -> str:
    """A cycle, counted from 1; or a part of it, such as its backup."""
    return f"{WHOLE} {number}" if part is None else f"{WHOLE} {number}: {part}"


def find_part(name: str) -> str | None:
    """The part of a cycle that a span is; None where it is none."""
    found = _CYCLE.fullmatch(name)
    return found["part"] if found else None


def list_cycles(spans: Iterable[Row]) -> list[Row]:
    """The cycles among the spans of a window, in their order."""
    found = [(match, span) for span in spans if (match := _CYCLE.fullmatch(span["name"]))]
    return [each for match, each in found if match["part"] is None]


def list_parts(spans: Iterable[Row]) -> list[Row]:
    """The parts of cycles among them."""
    return [span for span in spans if find_part(span["name"]) is not None]


def list_work_times(spans: Iterable[Row]) -> list[tuple[float, float]]:
    """When the neighbour worked, Unix time: in its cycles; without any, from begin to end.

    Of one that works at once all the time only cycles that failed may be spans.
    """
    every = list(spans)
    found = list_cycles(every)
    is_all = any(each["outcome"] != "failed" for each in found)
    whole = [each for each in every if each["name"] == WHOLE]
    chosen = found if is_all or not whole else whole
    return [(each["from_s"], each["to_s"]) for each in chosen if each["to_s"] is not None]
