"""`stithy drive stats`: what emulated drives did."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from time import sleep
from typing import TYPE_CHECKING

from stithy.cli.talk.options import Json
from stithy.cli.talk.render import (
    format_size_text,
    format_time_text,
    make_table,
    say,
    show,
    show_json,
)
from stithy.errors import Exit

if TYPE_CHECKING:
    from stithy.drives.program import FoundDrive
    from stithy.wire.drive.messages import DriveCounters, OperationCounters

WATCH_S = 1.0


def show_stats(name: str | None = None, /, *, watch: bool = False, json: Json = False) -> Exit:
    """Show what a drive, or each drive, has done since it started.

    Latency is the time from a request's arrival at the drive to its answer, without the time in the
    kernel. `late` is how much later than due the drive answered. Lateness is an error of the
    emulation, not a property of the emulated drive. A drive that was killed, or does not answer, is
    reported on standard error.

    Examples:

        stithy drive stats
        stithy drive stats generic-nvme --watch

    Parameters
    ----------
    name
        The drive, by its name in `stithy drive list`; default: all.
    watch
        Print one line per second, until Ctrl-C.
    """
    from stithy.drives.program import find_drive, list_drives
    from stithy.errors import UserError

    if watch and json:
        raise UserError(
            "--watch and --json exclude each other", where="--watch", remedy="leave one of them out"
        )
    drives = [find_drive(name)] if name else list_drives()
    if watch:
        _watch(drives)
        return Exit.OK
    counted = _read_counters(drives, must=name is not None)
    if json:
        show_json([counters.model_dump(mode="json", exclude={"answer"}) for counters in counted])
    elif counted:
        show("\n\n".join(_make_text(counters) for counters in counted))
    elif not drives:
        show("No emulated drive is up.")
    return Exit.OK if len(counted) == len(drives) else Exit.INFRASTRUCTURE


COMMAND = show_stats


def _read_counters(drives: Iterable["FoundDrive"], *, must: bool) -> list["DriveCounters"]:
    from stithy.errors import StithyError

    counted = []
    for drive in drives:
        try:
            counted.append(drive.control.read_counters(drive.name))
        except StithyError as error:
            if must:
                raise
            say(f"{drive.full_name}: {error}")
    return counted


def _make_text(counters: "DriveCounters") -> str:
    header = ["operation", "answered", "moved", "errors", "mean", "p50", "p99", "p99.9", "max"]
    rows = [_make_row(operation) for operation in counters.operations]
    head = f"{counters.drive}, up for {format_time_text(counters.duration_s)}"
    return "\n".join([head, make_table(header, rows, "<>>>>>>>>"), *_describe_totals(counters)])


def _make_row(operation: "OperationCounters") -> list[str]:
    took = operation.latency
    times = (took.mean_s, took.p50_s, took.p99_s, took.p999_s, took.max_s)
    return [
        operation.name,
        f"{operation.answered:,}",
        format_size_text(operation.moved_bytes),
        f"{operation.errors:,}",
        *map(format_time_text, times),
    ]


def _describe_totals(counters: "DriveCounters") -> Iterable[str]:
    cache = counters.cache_fill_bytes
    yield (
        f"in progress: {counters.depth:,}, at most {counters.depth_max:,}   "
        f"in the write cache: {format_size_text(cache)}   "
        f"a power cut could lose: {format_size_text(counters.volatile_bytes)}"
    )
    late = counters.late
    yield (
        f"late: p50 {format_time_text(late.p50_s)}, p99 {format_time_text(late.p99_s)}, "
        f"max {format_time_text(late.max_s)}; {counters.late_answers:,} of {late.count:,} answers "
        "by more than 5% and 50 µs"
    )
    if counters.cpu_s is not None:
        waited = format_time_text(counters.cpu_wait_s)
        yield f"CPU: {format_time_text(counters.cpu_s)}, waited {waited} for one"


def _watch(drives: Sequence["FoundDrive"]) -> None:
    """A line a second for each drive: what it did between two readings; Ctrl-C is its usual end."""
    with suppress(KeyboardInterrupt):
        before = {counter.drive: counter for counter in _read_counters(drives, must=True)}
        while before:
            sleep(WATCH_S)
            after = {counters.drive: counters for counters in _read_counters(drives, must=True)}
            for name, counters in after.items():
                show(subtract_counters(before[name], counters))
            before = after


def subtract_counters(before: "DriveCounters", after: "DriveCounters") -> str:
    """`data  read 1,200/s 4.7 MiB/s  write … flush 12/s  errors 0  under way 3  late 0`."""
    time_s = after.duration_s - before.duration_s
    pairs = list(zip(before.operations, after.operations, strict=True))
    parts = []
    for one, other in pairs:
        rate = f"{other.name} {(other.answered - one.answered) / time_s:,.0f}/s"
        moved = format_size_text((other.moved_bytes - one.moved_bytes) / time_s)
        parts.append(rate if other.name == "flush" else f"{rate} {moved}/s")
    errors = sum(other.errors - one.errors for one, other in pairs)
    late = after.late_answers - before.late_answers
    ends = [f"errors {errors:,}", f"in progress {after.depth:,}", f"late {late:,}"]
    return "  ".join([after.drive, *parts, *ends])
