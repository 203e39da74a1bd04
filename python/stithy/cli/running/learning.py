"""A profile learned from a trace: read, written as a file, held against what it does."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cli.talk.render import Align, rate_text, table, time_text
from stithy.drives.trace import MAGIC, read_trace
from stithy.errors import UserError, failures_of_the_machine
from stithy.fio.learned import OPERATIONS, Learned, Request, learn
from stithy.fio.traces import read_text
from stithy.metrics import Quantity

if TYPE_CHECKING:
    from stithy.report.context import Context

HEADER = ("operation", "by", "per second", "mean")
ALIGN: tuple[Align, ...] = ("left", "left", "right", "right")


def learned_from(trace: Path) -> Learned:
    """What a trace teaches: of an emulated drive, of fio, or of blkparse. Raises UserError."""
    try:
        return learn(_requests(trace), trace.name)
    except OSError as error:
        problem = f"the trace cannot be read: {(error.strerror or str(error)).lower()}"
        remedy = "name a file that exists and is readable"
        raise UserError(problem, where=f"--learn {trace}", remedy=remedy) from error


def _requests(trace: Path) -> Iterator[Request]:
    with trace.open("rb") as file:
        is_drive = file.read(len(MAGIC)) == MAGIC
    if not is_drive:
        yield from read_text(trace)
        return
    found = read_trace(trace)
    if found.lost:
        problem = f"{found.lost:,} requests are missing in it"
        remedy = "trace again, with the file on a faster disk"
        raise UserError(problem, where=str(trace), remedy=remedy)
    columns = ("arrived_s", "operation", "offset_bytes", "length_bytes", "latency_s", "is_error")
    for *facts, is_error in found.requests.select(columns).iter_rows():
        if not is_error and facts[1] in OPERATIONS:
            yield Request(*facts)


def keep(learned: Learned, file: Path) -> None:
    """Write the profile to a new file. Raises UserError where there is one."""
    try:
        with failures_of_the_machine(str(file)), file.open("x", encoding="utf-8") as opened:
            opened.write(learned.text)
    except FileExistsError as error:
        remedy = "name another file, or remove it"
        raise UserError(
            "the file exists already", where=f"--profile {file}", remedy=remedy
        ) from error


def side_by_side(learned: Learned, context: "Context") -> str:
    """What was traced, and what each candidate did with the profile at the same rate."""
    rows = [
        (operation, "trace", rate_text(seen.per_s), time_text(seen.mean_s))
        for operation, seen in learned.served.items()
        if seen.count
    ]
    evidence = context.evidence
    for point in evidence.points:
        if point.values.get("rate") == "max":
            continue
        for name in evidence.candidates:
            for operation in OPERATIONS:
                iops, mean_s = (
                    evidence.level_of(name, point, Quantity(metric, operation))
                    for metric in ("fio.iops", "fio.mean_s")
                )
                if iops is not None:
                    rows.append((operation, name, rate_text(iops), time_text(mean_s)))
    return table(HEADER, sorted(rows, key=lambda row: OPERATIONS.index(row[0])), ALIGN)
