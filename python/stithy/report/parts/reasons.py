"""Why windows are invalid and what is noted of them: one by one, and what is alike in one row."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from stithy.report.context import Context
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words.wording import in_one

GATHERED = "Why windows are invalid, and notes on windows"

ONE_BY_ONE, CANDIDATES = 2, 3
"""Own: rows of one kind, and candidates with such rows, that are read as they are; more are one."""

NAMED = 4
"""So many windows are named; more are counted."""

_SHOWS = (
    Show("weight", "Effect"), Show("sentence", "Observation"), Show("advice", "Advice"),
    Show("windows", "Windows"),
)  # fmt: skip

_QUANTITY = re.compile(
    r"(?<![\w.,])(?<!\d min )(?<!\d h )(\d[\d,]*(?:\.\d+)?) (µs|ms|s|%|B|KiB|MiB|GiB|TiB)(?!\w)"
)
_DRIVE = re.compile(r"(?<=of )([a-z]+-[a-z]*)(\d+)(?!\w)")
"""A drive of several in a role: `data-2`, `data-host2`."""

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


def reasons_table(context: Context) -> PageTable:
    """Each as it was seen; equal sentences share a row."""
    owner = {window.id: window.candidate for window in context.evidence.windows}
    rows = [_row(each, _named(each.ids, owner)) for each in _seen(context)]
    return _table("reasons", "All reasons and notes, one by one", rows)


def gathered_table(context: Context) -> PageTable:
    """The same, with many of one kind in one row; the invalid first."""
    owner = {window.id: window.candidate for window in context.evidence.windows}
    alike: dict[object, list[_Seen]] = {}
    for each in _seen(context):
        alike.setdefault(_kind(each), []).append(each)
    rows = [
        _row(each, _named(each.ids, owner))
        for group in alike.values()
        for each in _gathered(group, owner)
    ]
    rows.sort(key=lambda row: row["weight"] == "note")
    return _table("reasons-gathered", GATHERED, rows)


def _gathered(group: Sequence[_Seen], owner: Mapping[str, str]) -> Iterator[_Seen]:
    """Those of one candidate in one row; those of several, where that still leaves many."""
    parts: dict[frozenset[str], list[_Seen]] = {}
    for each in group:
        parts.setdefault(frozenset(owner[window] for window in each.ids), []).append(each)
    if len(parts) > CANDIDATES:
        yield _joined(group)
        return
    for candidates, part in parts.items():
        if len(part) > ONE_BY_ONE and len(candidates) == 1:
            yield _joined(part)
        else:
            yield from part


def _seen(context: Context) -> list[_Seen]:
    """Every sentence once, those that invalidate first."""
    found: dict[tuple[bool, str, str], list[str]] = {}
    for window in context.evidence.windows:
        for reason in window.reasons:
            key = (not reason.invalidates, reason.sentence, reason.advice)
            found.setdefault(key, []).append(window.id)
    ordered = sorted(found.items(), key=lambda item: item[0][0])
    return [_Seen(*key, tuple(ids)) for key, ids in ordered]


def _kind(each: _Seen) -> object:
    """What sentences have in common that may be one row: all but numbers."""
    shape = _DRIVE.sub(r"\1…", _QUANTITY.sub("…", each.sentence))
    return each.is_note, each.advice, shape


def _joined(group: Sequence[_Seen]) -> _Seen:
    """One sentence, each number with the lowest and the highest that it had."""
    first, sentences = group[0], [each.sentence for each in group]
    text = in_one(sentences, _QUANTITY, _range)
    drives = {int(number): role for each in sentences for role, number in _DRIVE.findall(each)}
    if len(drives) > 1:
        low, high = min(drives), max(drives)
        text = _DRIVE.sub(f"{drives[low]}{low} to {drives[high]}{high}", text)
    ids = tuple(dict.fromkeys(window for each in group for window in each.ids))
    return _Seen(first.is_note, text, first.advice, ids)


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


def _named(ids: Sequence[str], owner: Mapping[str, str]) -> str:
    """The windows in few words: a handful by name, many by candidate and number."""
    of_all, of = Counter(owner.values()), Counter(owner[window] for window in ids)
    whole = all(number == of_all[name] for name, number in of.items())
    if len(ids) == len(owner) > 1:
        return f"all {len(ids)}"
    if len(ids) <= NAMED and not (whole and len(of) < len(ids)):
        return "\n".join(ids)
    return "\n".join(
        f"all {number} of {name}"
        if number == of_all[name]
        else f"{number} of {of_all[name]} of {name}"
        for name, number in of.items()
    )


def _table(name: str, caption: str, rows: Sequence[dict[str, object]]) -> PageTable:
    return table_of(name, caption, _SHOWS, rows, count=pl.Int64, window_ids=pl.String)
