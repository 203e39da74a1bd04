"""The interface of an export: the results of a run in a format that other programs read.

What supports no claim is left out of formats that cannot say so, and marked in
those that can. What must stand beside every number of a run stands beside it there, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from stithy.errors import InvalidMeasurement
from stithy.metrics import ERROR_SHARE, P95, P99, TPM, Metric, Quantity, count_needed_by
from stithy.registry import Family, Plugin
from stithy.report.context import Context
from stithy.workloads.words import EMULATED


@dataclass(frozen=True)
class Export:
    """The text, in pieces of one document; how many invalid windows it leaves out, or marks."""

    pieces: Iterable[str]
    left_out: int = 0
    marked: int = 0


class ExportFormat(Plugin):
    """A format; `name` as `stithy export --to` has it."""

    family = Family(package="report.exports")

    def export(self, context: Context) -> Export:
        """Write a run. Raises InvalidMeasurement where the format cannot mark invalid windows."""
        raise NotImplementedError


def count_invalid_windows(context: Context) -> int:
    """How many windows support no claim."""
    return sum(not window.valid for window in context.evidence.windows)


def list_lost_spans(context: Context) -> pl.DataFrame:
    """By window and of what: why values of a span do not count, whatever is true of the window."""
    lost = context.run.spans.filter(pl.col("invalid_because").is_not_null())
    return lost.select("window_id", of="name", lost_because="invalid_because").unique(
        ("window_id", "of"), keep="first"
    )


def require_valid(context: Context) -> int:
    """How many windows must be left out where only valid ones can be reported.

    Raises InvalidMeasurement where that leaves none: an empty document would look like an answer.
    """
    invalid = count_invalid_windows(context)
    if invalid < len(context.evidence.windows):
        return invalid
    raise InvalidMeasurement(
        "no window is valid, and this format cannot mark those that are not",
        where=str(context.run.directory.root),
        remedy="export openmetrics or csv, which mark them, or read in the report why they are not",
    )


def name_workload(context: Context) -> str:
    """What was done, for formats that want a name: the workload, or else the scenario."""
    if context.manifest is None:
        return "workload"
    known = context.manifest.given_workload
    return known.name if known else context.manifest.scenario.partition(" ")[0]


def list_reported(context: Context) -> tuple[Metric, ...]:
    """What other programs are told of users: what was done, three percentiles, what failed."""
    told = (*list_rates(context), Quantity("p50"), P95, P99, Quantity(ERROR_SHARE))
    return tuple(each.known for each in told)


def list_rates(context: Context) -> tuple[Quantity, ...]:
    """By what the users' work is counted: the workload's own metric, and all transactions."""
    return tuple(dict.fromkeys((context.evidence.throughput, TPM)))


def note_of(context: Context, candidate: str) -> str:
    """What must stand beside every number of a candidate; empty where nothing must."""
    facts = context.find_facts(candidate)
    parts = (context.label, EMULATED if facts and facts.drives else None)
    return "; ".join(part for part in parts if part)


def hide_rare_percentiles(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows by transaction type without percentiles that too few of their transactions bear."""
    there = pl.col("committed") + pl.col("rolled_back")
    needed = {name: count_needed_by(name) for name in frame.columns}
    return frame.with_columns(
        pl.when(there >= least).then(name).alias(name) for name, least in needed.items() if least
    )
