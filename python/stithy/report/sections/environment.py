"""Environment and identity: every fact of the machine, the database and the run."""

from collections.abc import Iterator, Sequence

from stithy.report.blocks import APPENDIX, ROWS_OPEN_MAX, Block, Grid, Heading, Section, paragraph
from stithy.report.page import Page
from stithy.report.parts import compared
from stithy.report.tables import PageTable
from stithy.report.words.wording import listing
from stithy.results.manifest import CandidateFacts
from stithy.units import format_size

NAME = "environment"

SETTINGS = {
    "read_ahead_bytes": "read-ahead",
    "scheduler": "I/O scheduler",
    "queue_requests": "requests in the queue",
}
"""What the kernel may be told about a block device, whatever hardware it is."""


def tables(page: Page) -> Iterator[PageTable]:
    """One row a fact; none without a manifest."""
    if page.context.manifest is not None:
        yield from compared.facts_tables(page.context.manifest)


def sections(page: Page) -> Iterator[Section]:
    """Always there."""
    blocks = tuple(_blocks(page))
    yield Section("environment", APPENDIX + 320, "Environment and identity", blocks, "Environment")


def unequal_settings(candidates: Sequence[CandidateFacts]) -> str | None:
    """Settings of the kernel by which candidates differ, beside their hardware; None if by none.

    The uppermost device of each counts: there the kernel reads ahead for the file system.
    """
    clauses = []
    for key, noun in SETTINGS.items():
        found = {each.name: _setting(each, key) for each in candidates}
        known = {name: value for name, value in found.items() if value is not None}
        if len(set(known.values())) > 1:
            clauses.append(f"{noun} {listing([f'{v} on {name}' for name, v in known.items()])}")
    if not clauses:
        return None
    return f"The kernel treats the candidates' block devices differently: {'; '.join(clauses)}."


def _setting(candidate: CandidateFacts, key: str) -> str | None:
    if not candidate.devices:
        return None
    fact = candidate.environment.get(f"device.{candidate.devices[0]}.{key}")
    if fact is None or fact.value is None:
        return None
    return (
        format_size(fact.value)
        if isinstance(fact.value, int) and "bytes" in key
        else str(fact.value)
    )


def _blocks(page: Page) -> Iterator[Block]:
    manifest = page.context.manifest
    if manifest is not None and (said := unequal_settings(manifest.candidates)):
        yield from paragraph(said)
    found = [each for name, each in page.tables.items() if name.startswith("facts-")]
    for table in found:
        yield Heading(table.caption)
        rows = table.frame.height
        if rows > ROWS_OPEN_MAX:
            yield Grid(table, fold=f"All {rows} facts")
        else:
            yield Grid(table, "" if table.name == "facts-drives" else "facts")
    if not found:
        yield from paragraph("The manifest could not be read, so the environment is not known.")
