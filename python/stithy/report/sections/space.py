"""Space: what the same files take on each candidate, before and after compression and copies."""

from collections.abc import Iterator

import polars as pl

from stithy.report.blocks import Section, paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import listing
from stithy.units import format_size

NAME = "space"
TITLE = "Space"
LOADED, END = "loaded", "end"
NOTE = (
    "Files: lengths of all files of the volume. Stored: one copy of what is written in them, after "
    "compression. Log: what of that is the write-ahead log, whose files are used again and partly "
    "zeroed. On drives: with all copies, parity and the file system's own data. Reduction: written "
    "by stored, without the log. Redundancy: bytes on drives for a byte stored. Set aside: what "
    "the storage keeps for the volume; taken now: the same unless the storage is thin. Copies that "
    "hardware below this machine keeps are not seen."
)


def tables(page: Page) -> Iterator[PageTable]:
    """A row for each candidate, role and moment."""
    shows = (
        Show("candidate", "Candidate"), Show("role", "Volume"), Show("moment", "When"),
        Show("logical_bytes", "Files", "size"), Show("stored_bytes", "Stored", "size"),
        Show("log_stored_bytes", "Log", "size"),
        Show("reduction", "Reduction", "ratio"), Show("redundancy", "Redundancy", "ratio"),
        Show("physical_bytes", "On drives", "size"),
        Show("provisioned_bytes", "Set aside", "size"),
        Show("allocated_bytes", "Taken now", "size"),
    )  # fmt: skip
    yield PageTable(NAME, TITLE, shows, page.context.run.space)


def sections(page: Page) -> Iterator[Section]:
    """Where volumes were asked."""
    frame = page.tables[NAME].frame
    missing = frame["missing_because"].drop_nulls().unique(maintain_order=True).to_list()
    notes = (*(f"Not known: {each}." for each in missing), NOTE)
    above = paragraph(_compared(page.context, frame))
    return page.section(NAME, 28, TITLE, *notes, above=above)


def _compared(context: Context, frame: pl.DataFrame) -> str | None:
    """What the drives of each candidate hold for the same files, against the one with most."""
    held = {} if frame.is_empty() else held_bytes(frame)
    ordered = [name for name in context.evidence.candidates if name in held]
    if len(ordered) < 2:
        return None
    most = max(ordered, key=lambda name: held[name])
    said = [_beside(name, held[name], held[most]) for name in ordered if name != most]
    return (
        f"Without the write-ahead log {most} holds these files in {format_size(held[most])} of its "
        f"drives; {listing(said)}."
    )


def _beside(name: str, held: int, most: int) -> str:
    ratio = f"{most / held:.2f}"
    less = "as much" if ratio == "1.00" else f"{ratio} times less"
    return f"{name} in {format_size(held)}, {less}"


def held_bytes(frame: pl.DataFrame) -> dict[str, int]:
    """Bytes on the drives of each candidate, all volumes, where all are known; without the log.

    Once loaded where that was asked, when all hold the same files; else at the end.
    """
    moment = LOADED if LOADED in frame["moment"].to_list() else END
    own = frame.filter((pl.col("moment") == moment) & (pl.col("role") != "log"))
    first = own["dataset"].drop_nulls().unique(maintain_order=True).to_list()[:1]
    own = own.filter(pl.col("dataset").is_in(first)) if first else own
    log = pl.col("log_stored_bytes") * pl.col("redundancy")
    own = own.with_columns(physical_bytes=(pl.col("physical_bytes") - log).round().cast(pl.Int64))
    sums = own.group_by("candidate", maintain_order=True).agg(
        pl.col("physical_bytes").sum(), pl.col("physical_bytes").null_count().alias("missing")
    )
    known = sums.filter((pl.col("missing") == 0) & (pl.col("physical_bytes") > 0))
    return dict(zip(known["candidate"], known["physical_bytes"], strict=True))
