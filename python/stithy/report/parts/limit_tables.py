"""What limited each window, in tables: with what was seen of it, and by level and candidate."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from stithy.analysis.answers.consistent import causes
from stithy.analysis.limits.judge import Judged, Limited, rules
from stithy.analysis.limits.level import Cause
from stithy.report.context import Context
from stithy.report.drawing.limit_looks import looks
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import percent


def windows(context: Context) -> PageTable:
    """What limited each window, what was seen, what else held, and what could not be told."""
    types = dict.fromkeys(("window_id", "by", "says", "also", "silent"), pl.String)
    schema: dict[str, Any] = {**types, "storage_share": pl.Float64}
    shows = (
        Show("window_id", "Window", "id"), Show("by", "Limited by"), Show("says", "What was seen"),
        Show("also", "What else holds"), Show("storage_share", "Storage, at most", "share"),
        Show("silent", "What could not be told"),
    )  # fmt: skip
    frame = pl.DataFrame(list(_rows(context)), schema=schema)
    everywhere = frame["silent"][0] if frame["silent"].n_unique() == 1 else None
    left_out = {name for name in ("also", "silent") if not frame[name].count()}
    left_out |= {"silent"} if everywhere else set()
    caption = "What limited each window"
    caption += f"; in none could be told: {everywhere}" if everywhere else ""
    shown = tuple(show for show in shows if show.column not in left_out)
    return PageTable("limited", caption, shown, frame)


def _rows(context: Context) -> Iterator[dict[str, Any]]:
    known = looks(is_open=context.is_open)
    for window in context.evidence.windows:
        if (limited := context.limited.get(window.id)) is not None:
            silent = [f"{rules()[each.rule].WORDS}: {each.because}" for each in limited.silent]
            yield {
                "window_id": window.id, "by": known[limited.kind].words, "says": _seen(limited),
                "also": "; ".join(each.says for each in limited.also) or None,
                "silent": "; ".join(silent) or None, "storage_share": limited.storage_share,
            }  # fmt: skip


def _seen(limited: Limited) -> str | None:
    """What limited; where nothing did by itself, the two bounds that came nearest."""
    if limited.by is not None:
        return limited.by.says
    return _nearest([each for each in limited.judged if each.holds is False][:2])


def _nearest(judged: Sequence[Judged]) -> str | None:
    return "; ".join(each.says for each in judged) or None


def levels(context: Context) -> PageTable:
    """What limited each candidate at each level."""
    evidence = context.evidence
    rows = []
    for users in evidence.levels:
        row: dict[str, Any] = {"users": users}
        found = dict(causes(evidence, context.limited, users).of)
        for name in evidence.candidates:
            cause = found.get(name)
            row[f"by:{name}"] = None if cause is None else _cell(context, cause)
        rows.append(row)
    shows = [Show("users", context.level_name, "count")]
    shows += [Show(f"by:{name}", f"Limited {name}") for name in evidence.candidates]
    types: dict[str, Any] = {show.column: pl.String for show in shows} | {"users": pl.Int64}
    frame = pl.DataFrame(rows if context.limited else [], schema=types)
    return PageTable("limited-levels", "What limited each candidate", tuple(shows), frame)


def _cell(context: Context, cause: Cause) -> str:
    text = looks(is_open=context.is_open)[cause.limit].words
    rule = rules().get(cause.limit)
    if rule is not None and rule.TOLD and cause.share is not None:
        text += f" ({percent(cause.share)})"
    if cause.windows < cause.windows_all:
        text += f", in {cause.windows} of {cause.windows_all} windows"
    return text
