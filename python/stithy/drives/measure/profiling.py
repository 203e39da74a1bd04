"""From a target to a profile as TOML, every number of it with its source.

What the keys mean is said in docs/reference/drive-profiles.md. A profile says of itself what was
measured, when and with what, and which numbers are assumptions. Whether a device may be overwritten
is decided before, in `storage/consent.py`.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from stithy.drives.measure import measuring
from stithy.drives.measure.fit import SHARES, AccessFit, Fit, fit
from stithy.drives.measure.measurement import (
    SPAN_BYTES_LEAST,
    DriveTarget,
    Measurement,
    TargetFacts,
    list_points,
    open_scratch_file,
    read_facts,
    schedule,
)
from stithy.errors import UserError
from stithy.fio.load import FioTarget as Place
from stithy.hosts.runner import Runner
from stithy.names import make_plain
from stithy.units import format_size

VERSION = 1
"""Version of the profile's format that is written."""

US_PER_S = 1e6


def write_profile(name: str, fit: Fit, measurement: Measurement) -> str:
    """The whole file; `name` has lower-case letters, digits and hyphens only."""
    parts = [
        _write_head(name, fit, measurement),
        _write_access("read", fit.read),
        _write_access("write", fit.write),
        *_write_limits(fit),
        _write_provenance(fit, measurement),
    ]
    return "\n\n".join(parts) + "\n"


def _write_head(name: str, fit: Fit, measurement: Measurement) -> str:
    title = f"{describe_target(measurement.target)}, as measured on {measurement.at[:10]}"
    lines = [
        "# Measured. What was measured lies beside this file, as JSON.",
        f"version = {VERSION}",
        f"name = {_write_text(name)}",
        f"title = {_write_text(title)}",
        f"capacity_bytes = {fit.capacity_bytes}",
        f"channels = {fit.channels}",
    ]
    return "\n".join(lines)


def describe_target(target: TargetFacts) -> str:
    """What was measured, in a few words."""
    what = target.model or target.name
    return what if target.kind == "device" else f"{target.file_system or 'a file system'} on {what}"


def _write_access(name: str, access: AccessFit) -> str:
    rows = [
        f"    [{row.length_bytes}, {row.depth}, {', '.join(map(_format_us, row.times_s))}],"
        for row in access.rows
    ]
    lines = [
        f"[{name}]",
        f"bytes_per_s = {access.bytes_per_s:.0f}",
        f"load_shares = [{', '.join(f'{share:g}' for share in SHARES)}]",
        "# size in bytes, requests in progress, then a time in µs for each share",
        "load_us = [",
        *rows,
        "]",
    ]
    return "\n".join(lines)


def _format_us(time_s: float) -> str:
    return f"{time_s * US_PER_S:.1f}"


def _write_limits(fit: Fit) -> Iterator[str]:
    caps = {  # the best half seconds: above them nothing was ever seen
        "read_iops": fit.read.iops_max,
        "write_iops": fit.write.iops_max,
        "read_bytes_per_s": fit.read.bytes_per_s_max,
        "write_bytes_per_s": fit.write.bytes_per_s_max,
    }
    lines = [f"{key} = {value:.{0 if value >= 1000 else 1}f}" for key, value in caps.items()]
    yield "\n".join(["[cap]", *lines])
    points = zip(SHARES, fit.flush.times_s, strict=True)
    quantiles = ", ".join(f"[{share:g}, {_format_us(time_s)}]" for share, time_s in points)
    yield f"[flush]\ncost_us = {_format_us(fit.flush.mean_s)}\nquantiles_us = [{quantiles}]"
    if fit.cache is not None:
        size = f"size_bytes = {fit.cache.size_bytes}"
        drain = f"drain_bytes_per_s = {fit.cache.drain_bytes_per_s:.0f}"
        yield f"[cache]\n{size}\n{drain}\nprotected = false"
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


def _write_provenance(fit: Fit, measurement: Measurement) -> str:
    parts = {"cache": fit.cache, "sustained": fit.sustained}
    absent = [table for table, found in parts.items() if found is None]
    keys = [f"{table}.{key}" for table in KEYS if table not in absent for key in KEYS[table]]
    # A whole table may be assumed, too.
    measured = [
        key for key in ("channels", *keys) if not fit.assumed.keys() & {key, key.split(".")[0]}
    ]
    shown = [*measured, "capacity_bytes"]
    source = (
        f"Measured on {measurement.at} with {measurement.tool} ({measurement.engine}, direct I/O) "
        f"on Linux {measurement.kernel}: {measurement.rounds} rounds of "
        f"{measurement.point_s:.1f} s at each of {len(measurement.matrix)} points, over "
        f"{format_size(measurement.target.span_bytes)}"
    )
    notes = [f"Assumed, {key}: {reason}." for key, reason in fit.assumed.items()]
    if measurement.sustained and fit.sustained is None:
        written = format_size(sum(each.moved_bytes for each in measurement.sustained))
        notes.insert(0, f"Writing {written} without a pause did not slow it down.")
    note = " ".join([*measurement.notes, *notes])
    lines = [
        "[provenance]",
        f"assumed = {_list(list(fit.assumed))}",
        f"note = {_write_text(note)}",
        "",
        "[[provenance.source]]",
        f"text = {_write_text(source)}",
        f"keys = {_list(shown)}",
    ]
    return "\n".join(lines)


def _write_text(text: str) -> str:
    """A TOML string; JSON's escapes are among TOML's."""
    return json.dumps(text, ensure_ascii=False)


def _list(texts: list[str]) -> str:
    return json.dumps(texts)


SCRATCH_BYTES = 2 * 2**30
MAY_USE_PAGE_CACHE = frozenset({"btrfs", "zfs", "bcachefs", "fuse", "overlay", "nfs", "nfs4"})
"""File systems whose direct I/O may be answered from memory all the same."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True)
class WantedProfile:
    """What a person asked for.

    `span_bytes` None: a device or a file as a whole, a scratch file of 2 GiB.
    """

    name: str
    duration_s: float
    writing: bool
    span_bytes: int | None = None
    seed: int = 1


@dataclass(frozen=True)
class Profiled:
    """A profile with what it was made of."""

    name: str
    text: str
    fit: Fit
    measurement: Measurement


def profile_target(
    target: DriveTarget, wanted: WantedProfile, runner: Runner, watch: measuring.MeasuringWatch
) -> Profiled:
    """Measure a target and fit a profile to it; nothing is left of what was written.

    Raises UserError for what cannot be asked for, PreconditionError where the machine lacks
    something, InfrastructureError where measuring fails, Interrupted where a person stops it.
    """
    points = list_points(writing=wanted.writing)
    plan = measuring.MeasuringPlan(
        points, schedule(wanted.duration_s, len(points), sustained=wanted.writing), wanted.seed
    )
    span_bytes = choose_span_bytes(target, wanted)
    beside = measuring.describe_other_work()
    with open_place(target, span_bytes, writing=wanted.writing) as place:
        fio = measuring.prepare_points(runner, place)
        if target.kind == "directory":
            watch.on_step(f"writing a scratch file of {format_size(span_bytes)}", 0, 1)
            measuring.fill(fio, place, watch)
        found = read_facts(target, span_bytes)
        measured = measuring.measure(fio, place, plan, found, watch)
    shown = (*([beside] if beside else []), *list_notes(target, found, measured))
    kept = measured.model_copy(update={"notes": shown})
    fitted = fit(kept)
    return Profiled(wanted.name, write_profile(wanted.name, fitted, kept), fitted, kept)


def choose_span_bytes(target: DriveTarget, wanted: WantedProfile) -> int:
    """Over how many bytes is measured. Raises UserError for more than there are, or too few."""
    most = target.size_bytes
    span_bytes = wanted.span_bytes
    if span_bytes is None:
        span_bytes = SCRATCH_BYTES if target.kind == "directory" else most
    if not SPAN_BYTES_LEAST <= span_bytes <= most:
        raise UserError(
            f"{format_size(span_bytes)} cannot be measured of it",
            where="--size",
            remedy=f"give {format_size(SPAN_BYTES_LEAST)} to {format_size(most)}",
        )
    # Whole requests of the largest size.
    return span_bytes // 2**20 * 2**20


@contextmanager
def open_place(target: DriveTarget, span_bytes: int, *, writing: bool) -> Iterator[Place]:
    """The place to measure; of a directory a nameless scratch file in it.

    Raises UserError for writing to a file of the person's.
    """
    if writing and target.kind == "file":
        remedy = "name its directory instead, in which a scratch file is written"
        raise UserError("an existing file is only read", where=str(target.path), remedy=remedy)
    path = str(target.path)
    if target.kind == "directory":
        with open_scratch_file(target.path, span_bytes) as name:
            yield Place(name, span_bytes, name=path)
    else:
        yield Place(path, span_bytes, name=path, read_only=not writing)


def name_for(target: DriveTarget, model: str | None) -> str:
    """A name for a profile that was given none: letters, digits and hyphens."""
    words = make_plain(model or target.device or target.path.name, 54)
    return f"measured-{words or 'drive'}"


def check_name(name: str) -> None:
    """Raise UserError for what cannot name a profile."""
    if not NAME.fullmatch(name):
        remedy = "give lower-case letters, digits and hyphens, a letter or digit first"
        raise UserError(f"{name!r} cannot name a profile", where="--name", remedy=remedy)


def list_notes(target: DriveTarget, found: TargetFacts, measured: Measurement) -> Iterator[str]:
    """What a reader of the numbers should know besides; whole sentences."""
    if target.kind != "device":
        what = "A scratch file" if target.kind == "directory" else "A file"
        yield f"{what} on {target.file_system} was measured: the file system is part of it."
    if target.kind == "device" and target.mounted_at is not None:
        yield f"It was mounted at {target.mounted_at}: others may have used it meanwhile."
    if target.file_system in MAY_USE_PAGE_CACHE:
        yield f"Direct I/O on {target.file_system} may have been answered from memory."
    if found.in_virtual_machine:
        yield "This was a virtual machine: what its host caches and limits is part of the numbers."
    if found.rotates and found.span_bytes < found.size_bytes:
        share = found.span_bytes / found.size_bytes
        yield f"It is a spinning disk: only seeks over {share:.0%} of it were measured."
    if beyond := sum(measured_point.answer.beyond for measured_point in measured.matrix):
        yield f"{beyond} requests took more than 17 s, and count as 17 s, the longest time of fio."
    if names := measuring.list_unsteady(measured):
        count = len(measured.matrix)
        yield f"{len(names)} of {count} points differed by more than a tenth between rounds."
