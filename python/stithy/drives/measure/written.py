"""A profile as TOML, every number with its source: the text that `stithy drive up FILE` takes.

What the keys mean is told in docs/reference/drive-profiles.md. A profile says of itself what was
measured, when and with what, and which numbers are assumptions.
"""

import json
from collections.abc import Iterator

from stithy.drives.measure.fit import AccessFit, Fit
from stithy.drives.measure.measurement import Measurement, TargetFacts
from stithy.drives.measure.shares import SHARES
from stithy.units import format_size

VERSION = 1
"""Version of the profile's format that is written."""

US_PER_S = 1e6


def profile_text(name: str, fit: Fit, measurement: Measurement) -> str:
    """The whole file; `name` has lower-case letters, digits and hyphens only."""
    parts = [
        _head(name, fit, measurement),
        _access("read", fit.read),
        _access("write", fit.write),
        _cap(fit),
        _flush(fit),
        *_cache(fit),
        *_sustained(fit),
        _provenance(fit, measurement),
    ]
    return "\n\n".join(parts) + "\n"


def _head(name: str, fit: Fit, measurement: Measurement) -> str:
    title = f"{title_of(measurement.target)}, as measured on {measurement.at[:10]}"
    lines = [
        "# Measured. What was measured lies beside this file, as JSON.",
        f"version = {VERSION}",
        f"name = {_text(name)}",
        f"title = {_text(title)}",
        f"capacity_bytes = {fit.capacity_bytes}",
        f"channels = {fit.channels}",
    ]
    return "\n".join(lines)


def title_of(target: TargetFacts) -> str:
    """What was measured, in a few words."""
    what = target.model or target.name
    return what if target.kind == "device" else f"{target.file_system or 'a file system'} on {what}"


def _access(name: str, access: AccessFit) -> str:
    rows = [
        f"    [{row.length_bytes}, {row.depth}, {', '.join(_us(time) for time in row.times_s)}],"
        for row in access.rows
    ]
    lines = [
        f"[{name}]",
        f"bytes_per_s = {access.bytes_per_s:.0f}",
        f"load_shares = [{', '.join(f'{share:g}' for share in SHARES)}]",
        "# size in bytes, requests under way, then a time in µs for each share",
        "load_us = [",
        *rows,
        "]",
    ]
    return "\n".join(lines)


def _us(time_s: float) -> str:
    return f"{time_s * US_PER_S:.1f}"


def _cap(fit: Fit) -> str:
    """The best half seconds: above them nothing was ever seen."""
    return _table(
        "cap",
        read_iops=fit.read.iops_max,
        write_iops=fit.write.iops_max,
        read_bytes_per_s=fit.read.bytes_per_s_max,
        write_bytes_per_s=fit.write.bytes_per_s_max,
    )


def _flush(fit: Fit) -> str:
    points = zip(SHARES, fit.flush.times_s, strict=True)
    quantiles = ", ".join(f"[{share:g}, {_us(time_s)}]" for share, time_s in points)
    return f"[flush]\ncost_us = {_us(fit.flush.mean_s)}\nquantiles_us = [{quantiles}]"


def _table(name: str, **numbers: float) -> str:
    lines = [f"{key} = {_number(value)}" for key, value in numbers.items()]
    return "\n".join([f"[{name}]", *lines])


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


def _cache(fit: Fit) -> Iterator[str]:
    if fit.cache is not None:
        size = f"size_bytes = {fit.cache.size_bytes}"
        drain = f"drain_bytes_per_s = {fit.cache.drain_bytes_per_s:.0f}"
        yield f"[cache]\n{size}\n{drain}\nprotected = false"


def _sustained(fit: Fit) -> Iterator[str]:
    if fit.sustained is not None:
        rate = f"{fit.sustained.write_bytes_per_s:.0f}"
        after = f"after_bytes = {fit.sustained.after_bytes}"
        yield f"[sustained]\n{after}\nwrite_bytes_per_s = {rate}\nrecovery_bytes_per_s = {rate}"


KEYS = {
    "read": ("bytes_per_s", "load_shares", "load_us"),
    "write": ("bytes_per_s", "load_shares", "load_us"),
    "cap": ("read_iops", "write_iops", "read_bytes_per_s", "write_bytes_per_s"),
    "flush": ("cost_us", "quantiles_us"),
    "cache": ("size_bytes", "drain_bytes_per_s", "protected"),
    "sustained": ("after_bytes", "write_bytes_per_s", "recovery_bytes_per_s"),
}
"""The keys of each table that is written."""


def _provenance(fit: Fit, measurement: Measurement) -> str:
    there = {
        "read": True,
        "write": True,
        "cap": True,
        "flush": True,
        "cache": fit.cache is not None,
        "sustained": fit.sustained is not None,
    }
    keys = [
        "channels",
        *(f"{table}.{key}" for table in KEYS if there[table] for key in KEYS[table]),
    ]
    measured = [each for each in keys if not _is_assumed(each, fit)]
    told = [*measured, "capacity_bytes"]
    lines = [
        "[provenance]",
        f"assumed = {_list(list(fit.assumed))}",
        f"note = {_text(_note(fit, measurement))}",
        "",
        "[[provenance.source]]",
        f"text = {_text(_source(measurement))}",
        f"keys = {_list(told)}",
    ]
    return "\n".join(lines)


def _is_assumed(key: str, fit: Fit) -> bool:
    return key in fit.assumed or key.split(".")[0] in fit.assumed


def _source(measurement: Measurement) -> str:
    return (
        f"Measured on {measurement.at} with {measurement.tool} ({measurement.engine}, direct I/O) "
        f"on Linux {measurement.kernel}: {measurement.rounds} rounds of "
        f"{measurement.point_s:.1f} s at each of {len(measurement.matrix)} points, over "
        f"{format_size(measurement.target.span_bytes)}"
    )


def _note(fit: Fit, measurement: Measurement) -> str:
    """Everything that a reader of the numbers should know."""
    assumed = [f"Assumed, {key}: {reason}." for key, reason in fit.assumed.items()]
    return " ".join([*measurement.notes, *_about_writing(fit, measurement), *assumed])


def _about_writing(fit: Fit, measurement: Measurement) -> Iterator[str]:
    if measurement.sustained and fit.sustained is None:
        written = sum(each.moved_bytes for each in measurement.sustained)
        yield f"Writing {format_size(written)} without a pause did not slow it down."


def _text(text: str) -> str:
    """A TOML string; JSON's escapes are among TOML's."""
    return json.dumps(text, ensure_ascii=False)


def _list(texts: list[str]) -> str:
    return json.dumps(texts)
