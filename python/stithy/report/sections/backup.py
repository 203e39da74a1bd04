"""Backup: what users lost while it ran, by candidate, and how long backup and restore took."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from stithy.analysis.evidence import Evidence
from stithy.analysis.verdict.effect import Effect
from stithy.metrics import ALL, P95, Quantity
from stithy.plan.scenarios.backup import BACKUP, OFF, ON
from stithy.point import USERS, Point
from stithy.report.blocks import Block, Section, bullets, grid, paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import listing, percent, plural, signed_percent, took

NAME = "backup"
TITLE = "Backup and restore"
LIMIT_SHARE = 0.2
"""A backup that costs more of the 99th percentile is not called harmless. Source: CockroachDB's
goal for backups, p99 + 20 % at 80 % load."""

THROUGHPUT, P99 = Quantity("tpm"), Quantity("p99")
OF_BACKUPS = ("duration_s", "bytes_per_s", "size_bytes", "compression", "covered_share",
              "restore_s", "restore_bytes_per_s")  # fmt: skip
NOTE = (
    "Impact: the window with backups against that without, of the same block, users and data; the "
    "interval holds 95 % and is conservative from four blocks on. Under backup: the share of the "
    "measurement during which a backup ran; outside of it users lose nothing. Backup and restore "
    "are means of those that succeeded. A restore ends when a second server answers; users have "
    "ended by then. Rates and the ratio count the database without its log, and all of it also "
    "where a backup holds only what changed. A backup that holds more, such as a log, has a ratio "
    "below 1."
)


def tables(page: Page) -> Iterator[PageTable]:
    """A row for each candidate at each point with backups."""
    context = page.context
    rows = [row for point in _points(context.evidence) for row in _rows(context, point)]
    shows = (
        *(each for each in context.factor_shows if each.column != BACKUP),
        Show("candidate", "Candidate"), Show("blocks", "Blocks", "count"),
        *_impact("throughput", "Throughput"), *_impact("tail", _tail(context.evidence).label),
        Show("covered_share", "Under backup", "share"),
        Show("duration_s", "Backup", "duration"), Show("bytes_per_s", "Backup rate", "bandwidth"),
        Show("size_bytes", "Backup size", "size"), Show("compression", "Ratio", "ratio"),
        Show("restore_s", "Restore", "duration"),
        Show("restore_bytes_per_s", "Restore rate", "bandwidth"),
    )  # fmt: skip
    types: dict[str, Any] = {name: kind for name, kind in context.factor_types.items()
                             if name != BACKUP}  # fmt: skip
    types |= {"candidate": pl.String, "blocks": pl.Int64}
    types |= dict.fromkeys((each.column for each in shows if each.column not in types), pl.Float64)
    yield PageTable(NAME, TITLE, shows, pl.DataFrame(rows, schema=types))


def _impact(name: str, label: str) -> tuple[Show, ...]:
    return (
        Show(f"{name}_change", f"{label} with backups", "signed share"),
        Show(f"{name}_low", "from", "signed share"), Show(f"{name}_high", "to", "signed share"),
    )  # fmt: skip


def _points(evidence: Evidence) -> list[Point]:
    return [each for each in evidence.points if each.values.get(BACKUP) == ON]


def _tail(evidence: Evidence) -> Quantity:
    """The 99th percentile; the 95th where no window has values enough for it."""
    for point in _points(evidence):
        for name in evidence.candidates:
            if _effect(evidence, name, point, P99).value is not None:
                return P99
    return P95


def _effect(evidence: Evidence, candidate: str, point: Point, quantity: Quantity) -> Effect:
    """What backups change of a candidate, over blocks in which both windows are valid."""
    off = point.replaced(BACKUP, OFF)
    return evidence.effect(candidate, candidate, point, quantity, against=off)


def _rows(context: Context, point: Point) -> Iterator[dict[str, Any]]:
    evidence = context.evidence
    factors = {name: value for name, value in context.factor_values(point).items()
               if name != BACKUP}  # fmt: skip
    for name in evidence.candidates:
        if not evidence.at(name, point):
            continue
        throughput = _effect(evidence, name, point, THROUGHPUT)
        tail = _effect(evidence, name, point, _tail(evidence))
        values = {each: evidence.level_of(name, point, Quantity(f"backup.{each}", ALL))
                  for each in OF_BACKUPS}  # fmt: skip
        changes = _changes("throughput", throughput) | _changes("tail", tail)
        own = {"candidate": name, "blocks": throughput.pairs}
        yield {**factors, **own, **changes, **values}


def _changes(name: str, effect: Effect) -> dict[str, float | None]:
    """As shares of what there is without backups."""
    numbers = {"change": effect.ratio, "low": effect.low, "high": effect.high}
    return {f"{name}_{key}": None if each is None else each - 1 for key, each in numbers.items()}


def sections(page: Page) -> Iterator[Section]:
    """Where a study has backups."""
    if not page.tables[NAME].frame.is_empty():
        yield Section(NAME, 23, TITLE, tuple(_blocks(page)))


def _blocks(page: Page) -> Iterator[Block]:
    context, frame = page.context, page.tables[NAME].frame
    rows = frame.to_dicts()
    yield from bullets((_said(context, row) for row in rows), "")
    yield from paragraph(_harmless(context, rows))
    yield from grid(page.tables[NAME])
    yield from paragraph(*_failures(context), style="warning")
    yield from paragraph(NOTE, *_settings(context), context.footer + ".", style="note")


def _settings(context: Context) -> Iterator[str]:
    """How backups were made, where no factor says it."""
    if context.manifest is not None:
        yield f"Settings: {context.manifest.scenario}."


def _said(context: Context, row: dict[str, Any]) -> str:
    """What a row means, as a sentence."""
    label = _tail(context.evidence).label
    parts = [_one("throughput", row, "throughput"), _one("tail", row, label)]
    said = f"{_where(context, row)}: with backups {' and '.join(filter(None, parts))}"
    if row["duration_s"] is not None:
        said += f"; a backup took {took(row['duration_s'])}"
    if row["restore_s"] is not None:
        said += f", its restore {took(row['restore_s'])}"
    return f"{said}."


def _where(context: Context, row: dict[str, Any]) -> str:
    others = [f"{name} {row[name]}" for name in context.factors if name not in (BACKUP, USERS)]
    return f"{row['candidate']} ({', '.join(others)})" if others else str(row["candidate"])


def _one(key: str, row: dict[str, Any], label: str) -> str:
    change, low, high = (row[f"{key}_{each}"] for each in ("change", "low", "high"))
    if change is None:
        return f"the change of {label} is not known"
    within = (
        "" if low is None else f" (95 % interval {signed_percent(low)} to {signed_percent(high)})"
    )
    return f"{label} changed by {signed_percent(change)}{within}"


def _harmless(context: Context, rows: list[dict[str, Any]]) -> str | None:
    """The fastest setting of each candidate whose cost stays within the limit."""
    label, limit = _tail(context.evidence).label, percent(LIMIT_SHARE)
    found = []
    for name in context.evidence.candidates:
        own = [row for row in rows if row["candidate"] == name and row["duration_s"] is not None]
        within = [row for row in own if row["tail_high"] is not None
                  and row["tail_high"] <= LIMIT_SHARE]  # fmt: skip
        if within:
            best = min(within, key=lambda row: float(row["duration_s"]))
            found.append(f"{_where(context, best)} in {took(best['duration_s'])}")
    if not found:
        return f"No setting was shown to keep {label} within +{limit} during backups."
    return f"Fastest backups that keep {label} within +{limit}, upper end of the interval: " \
           f"{listing(found)}."  # fmt: skip


def _failures(context: Context) -> Iterator[str]:
    bad = [
        f"{span['name']} of window {window.id}: {span['invalid_because']}"
        for window in context.evidence.windows
        for span in window.spans
        if span["name"].startswith(("backup ", "restore")) and span["invalid_because"]
    ]
    if bad:
        yield f"{plural(len(bad), 'backup or restore', 'backups or restores')} failed: {bad[0]}."
