"""What limited each window, and the stalls within windows."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from stithy.analysis.bottlenecks.judge import Cause, Limited
from stithy.analysis.bottlenecks.observation import bound_share, format_sampled
from stithy.analysis.bottlenecks.observe import count_pool_users
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.bottlenecks.stalls import (
    CAUSES,
    SIGNS,
    ServerStall,
    explain_stalls,
    find_stalled_seconds,
)
from stithy.analysis.comparisons import find_causes
from stithy.point import Point
from stithy.report.blocks import APPENDIX, Block, Section, grid, opened, paragraph
from stithy.report.context import Context
from stithy.report.drawing.palette import bottleneck_styles
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words.wording import capital, listing, percent, plural

METHOD = (
    "A bound is the throughput that one resource allows if everything else takes no time. A window "
    "at 80 % of a bound could reach at most 1.25 times its throughput, even if all other resources "
    "took no time. A CPU or a device is a bottleneck from 80 % of its bound on. A share of the "
    "users' time is one from 50 % on. The tightest of these bounds is named. "
    '"Several" means that no single bound holds. "Not determined" means that none holds and one '
    'could not be judged. "Storage, at most" is the share of the users\' time in waits for data '
    "and for the log. It includes waits for a lock or a connection whose holder may have waited "
    "for storage. Sessions are sampled once per second. Waits for storage count at most as long "
    "as the devices under the volumes had a request in progress."
)


class BottlenecksSection(SectionKind):
    """What limited each window, and the stalls within windows."""

    name = "bottlenecks"
    needs_tables = ("load",)

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """Bounds by window and by level, and stalls by their cause."""
        yield bottleneck_windows(page.context)
        yield bottleneck_levels(page.context)
        yield stalls_table(page.context)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where a window has numbers to be judged."""
        if not page.tables["limited"].frame.is_empty():
            limited, stalls = page.tables["limited"], page.tables["stalls"]
            blocks: tuple[Block, ...] = (*paragraph(METHOD), *grid(limited), *opened(stalls))
            data = (page.tables["limited-levels"],)
            heading = "What limited each window"
            yield Section("bottlenecks", APPENDIX + 100, heading, blocks, data=data)


def bottleneck_windows(context: Context) -> PageTable:
    """What limited each window, what was seen, what else held, and what could not be reported."""
    shows: tuple[Show, ...] = (
        Show("window_id", "Window", "id"), Show("by", "Limited by"), Show("says", "Observation"),
        Show("also", "Other limits reached"), Show("storage_share", "Storage, at most", "share"),
        Show("storage_low", "from", "share"), Show("storage_high", "to (95 %)", "share"),
        Show("silent", "Not determined"),
    )  # fmt: skip
    caption, rows = "What limited each window", list(_rows(context))
    silent = {row["silent"] for row in rows}
    if len(silent) == 1 and (everywhere := silent.pop()):
        shows = tuple(show for show in shows if show.column != "silent")
        caption += f"; not determined in any window: {everywhere}"
    table = table_of("limited", caption, shows, rows, silent=pl.String)
    return table.told("window_id", "by", "says", "storage_share")


def _rows(context: Context) -> Iterator[dict[str, Any]]:
    known = bottleneck_styles(is_open=context.is_open)
    for window in context.evidence.windows:
        if (limited := context.limited.get(window.id)) is not None:
            # The interval of storage's part stands where few samples are behind it.
            low, high = bound_share(limited.storage_share, limited.storage_samples) or (None, None)
            silent = [f"{RULES[each.rule].words}: {each.because}" for each in limited.silent]
            yield {
                "window_id": window.id, "by": known[limited.kind].words, "says": _describe(limited),
                "also": "; ".join(each.says for each in limited.also) or None,
                "silent": "; ".join(silent) or None, "storage_share": limited.storage_share,
                "storage_low": low, "storage_high": high,
            }  # fmt: skip


def _describe(limited: Limited) -> str | None:
    """What limited; where nothing did by itself, the two bounds that came nearest."""
    if limited.by is not None:
        return limited.by.says
    nearest = [each.says for each in limited.judged if each.holds is False][:2]
    return "; ".join(nearest) or None


def bottleneck_levels(context: Context) -> PageTable:
    """What limited each candidate at each level."""
    evidence = context.evidence
    rows = []
    for point in evidence.points:
        row = context.factor_values(point)
        found = dict(find_causes(evidence, context.limited, point).of)
        for name in evidence.candidates:
            cause = found.get(name)
            row[f"by:{name}"] = None if cause is None else _cell(context, cause)
        rows.append(row)
    shows = list(context.factor_shows)
    shows += [Show(f"by:{name}", f"Limited {name}") for name in evidence.candidates]
    rows = rows if context.limited else []
    return table_of("limited-levels", "What limited each candidate", shows, rows)


def _cell(context: Context, cause: Cause) -> str:
    text = bottleneck_styles(is_open=context.is_open)[cause.limit].words
    rule = RULES.get(cause.limit)
    if rule is not None and rule.shown and cause.share is not None:
        text += f" ({format_sampled(cause.share, cause.samples)})"
    if cause.windows < cause.windows_all:
        text += f", in {cause.windows} of {cause.windows_all} windows"
    return text


def stalls_table(context: Context) -> PageTable:
    """One row a candidate, level and cause, over its valid windows; empty where none stalled."""
    shows = (
        Show("candidate", "Candidate"),
        *context.factor_shows,
        Show("cause", "Cause"), Show("windows", "Windows", "count"),
        Show("seconds", "Stalled seconds", "count"), Show("measured_s", "of seconds", "count"),
        Show("share", "Users' time", "share"),
    )  # fmt: skip
    known = _find_stalls(context)
    rows = [
        row
        for point in context.evidence.points
        for name in context.evidence.candidates
        for row in _rows_of_stalls(context, known, name, point)
    ]
    return table_of("stalls", "Stalls of all users", shows, rows)


def _find_stalls(context: Context) -> tuple[ServerStall, ...]:
    """Find the seconds in which users stood still, of windows whose samples are read for it."""
    run, stalled = context.run, find_stalled_seconds(context.run.seconds)
    names = {name for name, lost in stalled.items() if lost}
    samples = pl.concat([run.samples.of(each, signs, names) for each, signs in SIGNS.items()])
    pooled = count_pool_users(context.evidence)
    return explain_stalls(run.seconds, context.sampled.checkpoints, samples, pooled, context.engine)


def _rows_of_stalls(
    context: Context, known: Sequence[ServerStall], name: str, point: Point
) -> Iterator[dict[str, Any]]:
    seen = find_stalled_seconds(context.run.seconds)
    windows = {each.id for each in context.evidence.valid_at(name, point)} & seen.keys()
    measured_s = sum(_count_seconds(context, each) for each in windows)
    for cause, words in CAUSES.items():
        mine = [each for each in known if each.window_id in windows and each.cause == cause]
        if mine:
            yield {
                "candidate": name, **context.factor_values(point), "cause": words,
                "windows": len({each.window_id for each in mine}), "seconds": len(mine),
                "measured_s": measured_s,
                "share": sum(each.lost_share for each in mine) / measured_s,
            }  # fmt: skip


def _count_seconds(context: Context, window_id: str) -> int:
    rows = context.run.seconds.filter(window_id=window_id, transaction="all", phase="measure")
    return rows.height


def stall_sentences(context: Context) -> Iterator[str]:
    """For each candidate at the level of the answer how long its users stood still, and why."""
    point = context.answer_level
    if point is None:
        return
    known = _find_stalls(context)
    for name in context.evidence.candidates:
        rows = list(_rows_of_stalls(context, known, name, point))
        if rows:
            causes = [f"{row['cause']} {percent(row['share'])}" for row in rows]
            seconds = sum(row["seconds"] for row in rows)
            yield (
                f"{capital(context.at(point))}, all users of {name} stalled in "
                f"{plural(seconds, 'second')} of {rows[0]['measured_s']:,}, "
                f"{percent(sum(row['share'] for row in rows))} of their time: {listing(causes)}."
            )


PLUGINS = (BottlenecksSection(),)
