"""From a target to a profile: what is measured, over how much, and what is said of it.

Whether a device may be overwritten is decided before, in `storage/erase.py`.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from stithy.clock import Clock
from stithy.drives.measure import fio as fio_program
from stithy.drives.measure.fio import Place
from stithy.drives.measure.fit import Fit, fit
from stithy.drives.measure.measurement import Measurement, TargetFacts
from stithy.drives.measure.measuring import Plan, Watch, busy, measure, unsteady
from stithy.drives.measure.points import matrix, schedule
from stithy.drives.measure.scratch import need_room, scratch_file
from stithy.drives.measure.target import SPAN_BYTES_LEAST, Target, facts
from stithy.drives.measure.written import profile_text
from stithy.errors import UserError
from stithy.hosts.runner import Runner
from stithy.units import format_size

SCRATCH_BYTES = 2 * 2**30
MAY_USE_PAGE_CACHE = frozenset({"btrfs", "zfs", "bcachefs", "fuse", "overlay", "nfs", "nfs4"})
"""File systems whose direct I/O may be answered from memory all the same."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True)
class Wanted:
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


def profile(
    target: Target, wanted: Wanted, runner: Runner, watch: Watch, clock: Clock | None = None
) -> Profiled:
    """Measure a target and fit a profile to it; nothing is left of what was written.

    Raises UserError for what cannot be asked for, PreconditionError where the machine lacks
    something, InfrastructureError where measuring fails, Interrupted where a person stops it.
    """
    points = matrix(writing=wanted.writing)
    plan = Plan(
        points,
        schedule(wanted.duration_s, len(points), sustained=wanted.writing),
        wanted.seed,
    )
    span_bytes = span(target, wanted)
    other_work = busy(os.getloadavg()[0], os.cpu_count() or 1)
    with opened(target, span_bytes, writing=wanted.writing) as place:
        fio = fio_program.ready(runner, place)
        if target.kind == "directory":
            watch.on_step(f"writing a scratch file of {format_size(span_bytes)}", 0, 1)
            fio.fill(place)
        found = facts(target, span_bytes)
        measured = measure(fio, place, plan, found, watch, clock)
    told = (*([other_work] if other_work else []), *notes(target, found, measured))
    kept = measured.model_copy(update={"notes": told})
    fitted = fit(kept)
    return Profiled(wanted.name, profile_text(wanted.name, fitted, kept), fitted, kept)


def span(target: Target, wanted: Wanted) -> int:
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
def opened(target: Target, span_bytes: int, *, writing: bool) -> Iterator[Place]:
    """The place to measure; of a directory a nameless scratch file in it.

    Raises UserError for writing to a file of the person's.
    """
    if writing and target.kind == "file":
        raise UserError(
            "an existing file is only read",
            where=str(target.path),
            remedy="name its directory instead, in which a scratch file is written",
        )
    if target.kind == "directory":
        need_room(target.path, span_bytes)
    path = str(target.path)
    made = (
        scratch_file(target.path, span_bytes) if target.kind == "directory" else nullcontext(path)
    )
    with made as name:
        yield Place(name, path, span_bytes, may_write=writing or target.kind == "directory")


def name_for(target: Target, model: str | None) -> str:
    """A name for a profile that was given none: letters, digits and hyphens."""
    words = re.sub(r"[^a-z0-9]+", "-", (model or target.device or target.path.name).lower())
    return f"measured-{words.strip('-') or 'drive'}"[:63]


def check_name(name: str) -> None:
    """Raise UserError for what cannot name a profile."""
    if not NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot name a profile",
            where="--name",
            remedy="give lower-case letters, digits and hyphens, a letter or digit first",
        )


def notes(target: Target, found: TargetFacts, measured: Measurement) -> Iterator[str]:
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
        yield f"It spins: seeks over {share:.0%} of it were measured, and not over all of it."
    if beyond := sum(each.answer.beyond for each in measured.matrix):
        yield f"{beyond} requests took more than 17 s, and count as 17 s, as fio cannot tell them."
    if names := unsteady(measured):
        count = len(measured.matrix)
        yield f"{len(names)} of {count} points differed by more than a tenth between rounds."
