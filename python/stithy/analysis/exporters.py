"""In which windows exporters of other hosts were read often enough for a mean."""

from collections.abc import Iterable, Mapping

import polars as pl

from stithy.analysis.evidence import Window
from stithy.exporters.metrics import EXPORTERS, OFFSET, TOOK
from stithy.results.manifest import ExporterFacts

SAMPLED_LEAST = 0.9
"""Own: of fewer readings no mean is taken; what is missing may be the peak."""


def find_well_read(
    means: pl.DataFrame, windows: Iterable[Window], exporters: Mapping[str, ExporterFacts]
) -> frozenset[tuple[str, str]]:
    """Find the windows, with exporters' names, that have nine tenths of the readings due.

    `means`: as `Sampled` has them.
    Readings are those of CPUs, if it tells of any; a page that was not made anew is none.
    """
    told = means.filter(pl.col("collector") == EXPORTERS, ~pl.col("metric").is_in((OFFSET, TOOK)))
    host = pl.col("subject").str.split(":").list.first().alias("host")
    of_cpus = pl.col("samples").filter(pl.col("metric") == "idle_share").max()
    counts = told.group_by("window_id", host).agg(pl.coalesce(of_cpus, pl.col("samples").max()))
    readings = {(window, name): count for window, name, count in counts.iter_rows()}
    return frozenset(
        (window.id, name)
        for window in windows
        for name, facts in exporters.items()
        if facts.applies_to(window.candidate)
        and readings.get((window.id, name), 0)
        >= SAMPLED_LEAST * max(1, int((window.measured_s or 0.0) / facts.every_s))
    )
