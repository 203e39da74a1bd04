"""What is wrong with windows, or must be known of them: each as it was seen, and gathered.

A study of many windows has the same note on most of them, with other numbers in each. Gathered, a
candidate's notes of one kind are one row that tells from where to where its numbers go.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from stithy.report.context import Context
from stithy.report.tables import PageTable, Show

GATHERED = "What makes windows invalid, and what must be known of them"

ONE_BY_ONE = 2
"""Own: rows of one kind that are read as they are; more are gathered."""

_SHOWS = (
    Show("weight", "Weight"), Show("sentence", "What was seen"), Show("advice", "Advice"),
    Show("windows", "Windows"),
)  # fmt: skip
_SCHEMA = {
    "weight": pl.String, "sentence": pl.String, "advice": pl.String, "windows": pl.String,
    "count": pl.Int64, "window_ids": pl.String,
}  # fmt: skip

_QUANTITY = re.compile(
    r"(?<![\w.,])(?<!min )(?<!h )(\d[\d,]*(?:\.\d+)?) (µs|ms|s|%|B|KiB|MiB|GiB|TiB)(?!\w)"
)
_SIZES = {
    "µs": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01,
    "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
}  # fmt: skip


@dataclass(frozen=True)
class _Seen:
    """One sentence, and the windows of which it was said."""

    is_note: bool
    sentence: str
    advice: str
    ids: tuple[str, ...]


def reasons(context: Context) -> PageTable:
    """Each as it was seen; equal sentences share a row."""
    windows = len(context.evidence.windows)
    rows = [_row(each, _named(each.ids, windows)) for each in _seen(context)]
    return _table("reasons", "Reasons and notes, each as it was seen", rows)


def gathered(context: Context) -> PageTable:
    """The same, with many of one kind and one candidate in one row; the invalid first."""
    windows = context.evidence.windows
    owner = {window.id: window.candidate for window in windows}
    all_of = {name: [w for w in owner if owner[w] == name] for name in context.evidence.candidates}
    alike: dict[object, list[_Seen]] = {}
    for each in _seen(context):
        alike.setdefault(_kind(each, owner), []).append(each)
    rows: list[Mapping[str, object]] = []
    for group in alike.values():
        if len(group) <= ONE_BY_ONE:
            rows += [_row(each, _named(each.ids, len(windows))) for each in group]
            continue
        ids = tuple(window for each in group for window in each.ids)
        joined = _Seen(group[0].is_note, _joined(group), group[0].advice, ids)
        rows.append(_row(joined, _all_named(ids, owner[ids[0]], all_of)))
    rows.sort(key=lambda row: row["weight"] == "note")
    return _table("reasons-gathered", GATHERED, rows)


def _seen(context: Context) -> list[_Seen]:
    """Every sentence once, those that invalidate first."""
    found: dict[tuple[bool, str, str], list[str]] = {}
    for window in context.evidence.windows:
        for reason in window.reasons:
            key = (not reason.invalidates, reason.sentence, reason.advice)
            found.setdefault(key, []).append(window.id)
    ordered = sorted(found.items(), key=lambda item: item[0][0])
    return [_Seen(*key, tuple(ids)) for key, ids in ordered]


def _kind(each: _Seen, owner: Mapping[str, str]) -> object:
    """What sentences have in common that may be one row; of several candidates each is its own."""
    names = {owner[window] for window in each.ids}
    if len(names) > 1:
        return each
    return each.is_note, each.advice, _QUANTITY.sub("…", each.sentence), *names


def _joined(group: Sequence[_Seen]) -> str:
    """The sentence of them all, each number with the lowest and the highest that it had."""
    columns = zip(*(_QUANTITY.findall(each.sentence) for each in group), strict=True)
    told = iter([_range(column) for column in columns])
    return _QUANTITY.sub(lambda _: next(told), group[0].sentence)


def _range(quantities: Sequence[tuple[str, str]]) -> str:
    """`310 to 389 µs`, `950 µs to 1.2 ms`; `20 %` where all are that."""
    ordered = sorted(set(quantities), key=_size)
    (low, low_unit), (high, high_unit) = ordered[0], ordered[-1]
    if len(ordered) == 1:
        return f"{low} {low_unit}"
    return f"{low}{'' if low_unit == high_unit else f' {low_unit}'} to {high} {high_unit}"


def _size(quantity: tuple[str, str]) -> tuple[float, float]:
    """Their order; of equal ones, as 1000 ms and 1 s, that of the larger unit comes last."""
    number, unit = quantity
    return float(number.replace(",", "")) * _SIZES[unit], _SIZES[unit]


def _row(each: _Seen, windows: str) -> dict[str, object]:
    return {
        "weight": "note" if each.is_note else "invalid", "sentence": each.sentence,
        "advice": each.advice, "windows": windows, "count": len(each.ids),
        "window_ids": ", ".join(each.ids),
    }  # fmt: skip


def _all_named(ids: Sequence[str], name: str, all_of: Mapping[str, Sequence[str]]) -> str:
    """The windows of one candidate in few words."""
    return f"all {len(ids)} of {name}" if len(ids) == len(all_of[name]) else _named(ids, 0)


def _named(ids: Sequence[str], windows: int) -> str:
    """The windows in few words: a handful by name, many by number."""
    if len(ids) == windows and windows > 1:
        return f"all {windows}"
    shown = "\n".join(ids[:4])
    return shown if len(ids) <= 4 else f"{shown}\nand {len(ids) - 4} more"


def _table(name: str, caption: str, rows: Sequence[Mapping[str, object]]) -> PageTable:
    return PageTable(name, caption, _SHOWS, pl.DataFrame(rows, schema=_SCHEMA))
