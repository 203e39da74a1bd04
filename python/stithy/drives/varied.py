"""A drive profile with every assumed number better or worse by a share: what if it was wrong?

Longer times are worse; higher rates and larger caches are better. Numbers with a source stay, and
so does the capacity of the drive, which decides no time. A number is varied no further than the
rules of a profile allow: a median stays below the 99th percentile.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WHOLE = ("channels", "cache.size_bytes", "sustained.after_bytes", "disk.queue_depth",
         "disk.read_ahead_bytes")  # fmt: skip
"""Numbers that are counts."""

FIXED = ("version", "capacity_bytes", "read.load_shares", "write.load_shares")

ORDERED = (
    ("read.p50_us", "read.p99_us"),
    ("write.p50_us", "write.p99_us"),
    ("cap.read_iops", "cap.total_iops"),
    ("cap.write_iops", "cap.total_iops"),
    ("cap.read_bytes_per_s", "cap.total_bytes_per_s"),
    ("cap.write_bytes_per_s", "cap.total_bytes_per_s"),
    ("sustained.write_iops", "cap.write_iops"),
    ("sustained.write_bytes_per_s", "cap.write_bytes_per_s"),
    ("sustained.recovery_bytes_per_s", "cap.write_bytes_per_s"),
    ("cache.size_bytes", "capacity_bytes"),
    ("disk.seek_track_ms", "disk.seek_average_ms"),
    ("disk.seek_average_ms", "disk.seek_full_ms"),
)
"""Pairs of which the first is never above the second; crates/drive/src/profile/relations.rs."""

SEEKS = ("disk.seek_track_ms", "disk.seek_average_ms", "disk.seek_full_ms")
MEAN_SHARES = (1 / 3, 11 / 15)
"""Where a mean seek lies between a track's and a full one, as the same file has it."""

Number = Any
"""A number of a profile, or a list of them with the shares that they belong to."""


@dataclass(frozen=True)
class Change:
    """A number of a profile by its path, such as `read.p50_us`: what it was, and what it is now."""

    key: str
    was: Number
    now: Number


@dataclass(frozen=True)
class Varied:
    """A varied profile: its TOML text, and all that changed; nothing where nothing is assumed."""

    text: str
    changes: tuple[Change, ...]


def assumed_numbers(text: str) -> tuple[str, ...]:
    """The assumed numbers of a profile that decide its times and rates, without those that are 0.

    Raises TOMLDecodeError for what is no TOML.
    """
    return tuple(
        _vary_number(_list_numbers(tomllib.loads(text)), _list_assumed(text), 0.0, worse=True)
    )


def vary(text: str, share: float, *, worse: bool) -> Varied:
    """The profile with each assumed number worse, or better, by `share`.

    `text` must be a profile.
    """
    profile, assumed = tomllib.loads(text), _list_assumed(text)
    before = _list_numbers(profile)
    after = _sort({**before, **_vary_number(before, assumed, share, worse=worse)}, before, assumed)
    changes = tuple(
        Change(key, was, after[key]) for key, was in before.items() if after[key] != was
    )
    for change in changes:
        table, _, name = change.key.rpartition(".")
        (profile[table] if table else profile)[name] = change.now
    _name(profile, changes, share, worse=worse)
    return Varied(_write_toml(profile), changes)


def _list_assumed(text: str) -> tuple[str, ...]:
    return tuple(tomllib.loads(text).get("provenance", {}).get("assumed", ()))


def _list_numbers(profile: Mapping[str, Any]) -> dict[str, Number]:
    """All numbers by their paths."""
    found = {}
    for name, value in profile.items():
        inside = value.items() if isinstance(value, dict) else [("", value)]
        for key, number in inside:
            if name != "provenance" and not isinstance(number, str | bool):
                found[f"{name}.{key}" if key else name] = number
    return found


def _vary_number(
    numbers: Mapping[str, Number], assumed: Sequence[str], share: float, *, worse: bool
) -> dict[str, Number]:
    """The assumed ones, varied; 0 has no share."""
    return {
        key: _scale(key, number, 1 + share if key.endswith(("_us", "_ms")) == worse else 1 - share)
        for key, number in numbers.items()
        if _is_among(key, assumed) and key not in FIXED and number
    }


def _is_among(key: str, assumed: Sequence[str]) -> bool:
    """Whether a number is assumed, by itself or with its table."""
    return key in assumed or key.partition(".")[0] in assumed


def _scale(key: str, number: Number, by: float) -> Number:
    if key.endswith(".load_us"):  # size, depth, then a time for each share
        return [[*row[:2], *(_times(each, by) for each in row[2:])] for row in number]
    if isinstance(number, list):  # pairs of a share and a time or rate
        return [[share, _times(each, by)] for share, each in number]
    return max(1, round(number * by)) if key in WHOLE else _times(number, by)


def _times(number: float, by: float) -> float:
    """The product, without the digits that only binary fractions have; whole where it is."""
    product = float(f"{number * by:.12g}")
    return int(product) if product.is_integer() else product


def _sort(
    after: dict[str, Number], before: Mapping[str, Number], assumed: Sequence[str]
) -> dict[str, Number]:
    """The numbers where each is on its side of the other; the assumed one gives way."""
    for low, high in ORDERED:
        if low in after and high in after and after[low] > after[high]:
            if _is_among(low, assumed):
                after[low] = after[high]
            else:
                after[high] = after[low]
    if all(key in after for key in SEEKS):
        track, mean, full = (after[key] for key in SEEKS)
        low, high = (track + share * (full - track) for share in MEAN_SHARES)
        if not low <= mean <= high:
            after.update({key: before[key] for key in SEEKS})
    return after


def _name(profile: dict[str, Any], changes: Sequence[Change], share: float, *, worse: bool) -> None:
    """Say of the profile what it is, wherever it is named or shown."""
    original, way, percent = profile["name"], "worse" if worse else "better", f"{share * 100:.0f}"
    how = f"{percent} % {way}"
    profile["name"] = f"{original}-{percent}-{way}"
    profile["title"] = f"{profile['title']}, every assumed number {how}"
    shown = ", ".join(f"{each.key} {each.now} instead of {each.was}" for each in changes)
    provenance = profile.setdefault("provenance", {})
    known = provenance.get("note", "")
    provenance["note"] = f"{known} Varied from {original}, {how}: {shown or 'nothing'}.".strip()


def _write_toml(profile: Mapping[str, Any]) -> str:
    """The profile as TOML; its strings, numbers and lists are written as in JSON."""
    tables = {name: value for name, value in profile.items() if isinstance(value, dict)}
    lines = [
        f"{key} = {_write_value(value)}" for key, value in profile.items() if key not in tables
    ]
    for name, table in tables.items():
        lines += ["", f"[{name}]"]
        sources = [(key, value) for key, value in table.items() if _is_tables(value)]
        lines += [f"{key} = {_write_value(v)}" for key, v in table.items() if not _is_tables(v)]
        for key, entries in sources:
            for entry in entries:
                lines += ["", f"[[{name}.{key}]]"]
                lines += [f"{each} = {_write_value(value)}" for each, value in entry.items()]
    return "\n".join(lines) + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _write_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
