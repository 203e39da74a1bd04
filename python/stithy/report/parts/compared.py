"""What was compared, in a few lines: candidates, database, work, levels and windows."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from stithy.report.context import Context
from stithy.report.tables import PageTable, Show
from stithy.report.words import driving
from stithy.report.words.wording import duration, listing, plural
from stithy.results.manifest import Manifest

GLANCE = ("facts-candidates", "facts-drives", "facts-load", "facts-database")
"""The tables of facts on what was compared; the others are on where and when."""


def table(context: Context) -> PageTable:
    """One row a fact; empty without a manifest."""
    rows = list(_facts(context, context.manifest)) if context.manifest else []
    frame = pl.DataFrame(rows, schema={"fact": pl.String, "value": pl.String}, orient="row")
    shows = (Show("fact", "Fact"), Show("value", "Value"))
    return PageTable("compared", "What was compared, at a glance", shows, frame)


def _facts(context: Context, manifest: Manifest) -> Iterator[tuple[str, str]]:
    database, workload = manifest.database, manifest.workload
    yield "candidates", listing(context.evidence.candidates)
    yield "database", f"{database.engine} {database.server_version or '(version not known)'}"
    yield "its settings in the study", _settings(manifest)
    yield "its memory", context.memory_note
    yield "its CPUs", context.cpus_note or "any of the machine"
    size = plural(workload.warehouses, "warehouse")
    yield "workload", f"{workload.name}, {size}{_reach(manifest)}"
    yield "load", driving.said(manifest.load)
    yield "levels", _levels(context)
    yield "blocks", _blocks(context)
    yield "windows", _windows(context, manifest)
    if context.limit is not None:
        yield "limit of response time", context.limit.text


def _settings(manifest: Manifest) -> str:
    given = [f"{name} = {value}" for name, value in manifest.database.settings.items()]
    return ", ".join(given) or "none"


def _reach(manifest: Manifest) -> str:
    share = manifest.load.touch_percent
    return f", of which users reach {share} %" if share < 100 else ""


def _levels(context: Context) -> str:
    levels = context.evidence.levels
    if not levels:
        return "none"
    unit = context.level_unit if levels == (1,) else context.level_plural
    return f"{listing([f'{each:,}' for each in levels])} {unit}"


def _blocks(context: Context) -> str:
    """How often each level was measured: `4 at 4 and 13 users; 1 at 1 user`."""
    most: Counter[int] = Counter()
    for window in context.evidence.windows:
        most[window.users] = max(most[window.users], window.block + 1)
    levels: dict[int, list[str]] = {}
    many = context.level_plural
    for users in sorted(most):
        levels.setdefault(most[users], []).append(f"{users:,}")
    parts = [
        f"{blocks} at {listing(users)} {context.level_unit if users == ['1'] else many}"
        for blocks, users in sorted(levels.items(), reverse=True)
    ]
    return "; ".join(parts) or "none"


def _windows(context: Context, manifest: Manifest) -> str:
    windows = context.evidence.windows
    valid = sum(window.valid for window in windows)
    load = manifest.load
    return (
        f"{len(windows)}, of them {valid or 'none'} valid; each {duration(load.ramp_up_s)} of "
        f"ramp-up, then {duration(load.duration_s)} measured"
    )
