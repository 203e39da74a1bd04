"""The text format of Go's benchmarks, one line a valid window, which `benchstat` compares.

`benchstat -col /candidate FILE` holds candidates side by side. Every fact above the lines would
split its tables, so there are only those without which two runs may not be compared at all, and
what must stand beside every number. A percentile of too few values is left out of its line.
Source of the format: https://go.dev/design/14313-benchmark-format.
"""

import re
from collections.abc import Iterator
from urllib.parse import quote

from stithy.analysis.evidence import Window
from stithy.metrics import Metric
from stithy.point import write_value
from stithy.report.context import Context
from stithy.report.exports import Export, ExportFormat, list_reported, name_workload, require_valid
from stithy.report.words import loads


class GoBenchExport(ExportFormat):
    """Lines for Go's benchstat."""

    name = "go-bench"

    def export(self, context: Context) -> Export:
        """Facts, units, and a line for each valid window in the order of levels and blocks."""
        left_out = require_valid(context)
        units = {_name_unit(metric): metric.better for metric in list_reported(context)}
        units |= {escape_word(str(each)): each.known.better for each in context.declared}
        head = [f"Unit {name} better={better}" for name, better in units.items() if better]
        lines = [*_write_facts(context), *head, "", *_write_windows(context)]
        return Export([f"{line}\n" for line in lines], left_out)


def _write_facts(context: Context) -> Iterator[str]:
    manifest = context.manifest
    if manifest is None:
        return
    if workload := manifest.given_workload:
        yield f"workload: {_join_lines(workload.name)}"
        yield from (
            f"{key}: {value}" for key, value in workload.size.items() if key not in workload.varied
        )
    else:
        yield f"scenario: {_join_lines(manifest.scenario)}"
    if engines := [*manifest.by_engine]:
        yield f"engine: {_join_lines(', '.join(engines))}"
        if known := loads.list_versions(manifest):
            yield f"server-version: {_join_lines(known)}"
    if notes := [each for each in (context.label, loads.write_footer(manifest)) if each]:
        yield f"note: {_join_lines('; '.join(notes))}"


def _name_unit(metric: Metric) -> str:
    return f"{metric.name}-sec/op" if metric.unit == "s" else metric.name


def _write_windows(context: Context) -> Iterator[str]:
    name = "".join(part.capitalize() for part in name_workload(context).split("-"))
    for window in (window for window in context.evidence.windows if window.valid):
        factors = {factor: write_value(value) for factor, value in window.point.factors}
        keys = {"candidate": window.candidate, **factors}
        parts = (f"/{key}={escape_word(text)}" for key, text in keys.items())
        head = f"Benchmark{escape_word(name)}" + re.sub(r"-(?=\d+$)", "%2D", "".join(parts))
        iterations = max(1, int(window.value("transactions") or 0))
        yield f"{head} {iterations} {_format_values(context, window)}"


def _format_values(context: Context, window: Window) -> str:
    known = [(window.printable(each.column), _name_unit(each)) for each in list_reported(context)]
    known += [
        (context.evidence.value_of(window, each).number, escape_word(str(each)))
        for each in context.declared
        if each.known.compared
    ]
    return " ".join(f"{value!r} {unit}" for value, unit in known if value is not None)


def escape_word(text: str) -> str:
    """A text as one part of a name: what would end it is written as in an address (`%20`)."""
    return re.sub(r"[\s/%=\x00-\x1f\x7f]", lambda found: quote(found[0], safe=""), text)


def _join_lines(text: str) -> str:
    return " ".join(text.split())


PLUGINS = (GoBenchExport(),)
