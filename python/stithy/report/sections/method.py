"""Method and limits: how it was measured, and what the numbers do not say."""

from collections.abc import Iterator, Sequence

from stithy.plan.steps import make_williams_square
from stithy.report.blocks import (
    APPENDIX,
    ROWS_OPEN_MAX,
    Block,
    Grid,
    Heading,
    SectionKind,
    Verbatim,
    set_code,
    set_paragraph,
)
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.sections import compared
from stithy.report.sections.validity import work
from stithy.report.words import loads
from stithy.report.words.loads import restore_method
from stithy.results.manifest import CandidateFacts
from stithy.units import format_list, format_size

LOADED = (
    "The drives were unpaced while data were loaded and restored. Each window began with the "
    "drive's state after loading."
)
LAID_OUT = (
    "The drives were unpaced while the data were laid out. Each window began with the drive's "
    "state after the window before it."
)


def _set_method(page: Page) -> Iterator[Block]:
    context = page.context
    emulated = loads.list_profiles(context.manifest)
    served = "load" in context.tables
    if served:
        about = loads.describe_provenance(context.manifest), *work.describe_specified(context)
        yield from set_paragraph(*about)
    yield from set_paragraph(
        *_order(context), loads.describe_loop(context.load) if served else None
    )
    if emulated:
        yield from set_paragraph(
            "Emulated drives are not hardware. Each is a block device with an ordinary file "
            "system. A program of Stithy answers its requests with the service times, channels, "
            "cache and caps of the drive profile. An emulated drive is only as accurate as its "
            "profile; assumed values are listed.",
            LOADED if context.restored else LAID_OUT,
            *(each.words for each in emulated),
        )
    if served:
        yield from _set_users()
    yield from set_paragraph(*_list_limits(context, is_emulated=bool(emulated)))


def _set_users() -> Iterator[Block]:
    yield from set_paragraph(
        "Response time runs from the intended start to the answer, retries and waiting included. "
        "Percentiles come from histograms with three significant digits; they are never "
        "averaged. With several windows at a level, rates are means, and percentiles are those "
        "of the merged windows. If a latency log is missing, the percentiles are those of the "
        "median window. Ratios are means of log ratios, paired by block. A single window has no "
        "interval. A small difference between single windows means nothing."
    )


def _order(context: Context) -> Iterator[str]:
    square = len(make_williams_square(max(1, len(context.evidence.candidates))))
    each = (
        f" Over a whole Williams square ({square} blocks) each candidate follows each other one "
        "equally often."
        if len(context.evidence.candidates) > 2
        else ""
    )
    if "restores" in context.tables:
        method = restore_method(context.manifest)
        yield (
            method.start_state if method else "Each window starts from the same restored database."
        )
        yield "The warm-up before it is the same."
    yield (
        "Within a block the candidates run in a balanced order drawn from the seed: every second "
        f"block reverses the order of the block before it.{each} Therefore neither the position in "
        "a block nor a drift of the machine favours a candidate."
    )
    if context.manifest is not None and context.manifest.servers_differ:
        yield (
            "Candidates differ in the memory or settings of their loads, and not in the storage "
            "alone: What was compared lists both."
        )


def _list_limits(context: Context, *, is_emulated: bool) -> Iterator[str]:
    by_url = loads.is_by_url(context.manifest)
    if not by_url:
        yield "Device latencies come from the kernel's counters and include its queue."
    if is_emulated:
        yield "Their percentiles are the emulated drives' own, without transport latency."
    if context.load is not None and not context.load.is_idle:  # else nobody forces any
        yield (
            "A checkpoint was forced just before every window, so that all windows begin in the "
            "same phase."
            if context.load.checkpoint
            else "No checkpoint was forced before the windows."
        )
    of = "database" if "load" in context.tables else "data"
    if by_url:
        yield f"The numbers hold only for these loads, the way to them, and this size of {of}."
        return
    yield f"The numbers hold only for this machine, this configuration and this size of {of}."


SETTINGS = {
    "read_ahead_bytes": "read-ahead",
    "scheduler": "I/O scheduler",
    "queue_requests": "requests in the queue",
}
"""What the kernel may be told about a block device, whatever hardware it is."""


def describe_unequal_settings(candidates: Sequence[CandidateFacts]) -> str | None:
    """Settings of the kernel by which candidates differ, beside their hardware; None if by none.

    The uppermost device of each counts: there the kernel reads ahead for the file system.
    """
    clauses = []
    for key, noun in SETTINGS.items():
        found = {candidate.name: _find_setting(candidate, key) for candidate in candidates}
        known = {name: value for name, value in found.items() if value is not None}
        if len(set(known.values())) > 1:
            clauses.append(f"{noun} {format_list([f'{v} on {name}' for name, v in known.items()])}")
    if not clauses:
        return None
    return f"The kernel treats the candidates' block devices differently: {'; '.join(clauses)}."


def _find_setting(candidate: CandidateFacts, key: str) -> str | None:
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


def _set_environment(page: Page) -> Iterator[Block]:
    manifest = page.context.manifest
    if manifest is not None and (said := describe_unequal_settings(manifest.candidates)):
        yield from set_paragraph(said)
    found = [each for name, each in page.tables.items() if name.startswith("facts-")]
    for table in found:
        yield Heading(table.caption)
        rows = table.frame.height
        if rows > ROWS_OPEN_MAX:
            yield Grid(table, fold=f"All {rows} facts")
        else:
            yield Grid(table, "" if table.name == "facts-drives" else "facts")
    if not found:
        yield from set_paragraph("The manifest could not be read, so the environment is not known.")


def _set_commands(page: Page) -> Iterator[Block]:
    context = page.context
    emulated = loads.list_profiles(context.manifest)
    if context.manifest is not None:
        yield from _write_commands(context, is_emulated=bool(emulated))
    for each in emulated:
        yield Verbatim(each.text, f"The drive profile {each.name}")
    if context.run.study:
        yield Heading("The study file")
        yield Verbatim(context.run.study)
    else:
        yield from set_paragraph("The study file could not be read.")


def _write_commands(context: Context, *, is_emulated: bool) -> Iterator[Block]:
    manifest = context.manifest
    assert manifest is not None  # asked by the caller
    yield from set_paragraph(
        f"Save the study below as a file, install Stithy {manifest.stithy_version}, and run:"
    )
    options = " --null" if context.is_null else ""
    yield Verbatim(f"stithy plan study.yaml{options}\nstithy run study.yaml{options}")
    if is_emulated:
        yield from set_paragraph(
            "If the study names drive profiles as files, save them in the same directory. They "
            "follow below."
        )
    seeded = "the order of the windows and all random choices in them"
    if "load" in context.tables:
        seeded = "the data, the order of the windows and all random choices of the virtual users"
    yield set_code(
        f"The seed {manifest.seed} determines {seeded}. Results are comparable only if their "
        f"comparability key is {manifest.comparability_key}, too. Beside this report, ",
        "report/",
        " holds each figure as SVG, PNG and Vega-Lite, and each table as Parquet and CSV. ",
        "windows/",
        " holds the raw results. ",
        "stithy report",
        " writes this report again from them.",
    )


PLUGINS = (
    SectionKind("method", APPENDIX + 300, "Method and limits", _set_method),
    SectionKind(
        "environment", APPENDIX + 320, "Environment and identity", _set_environment, "Environment",
        make_tables=lambda page: compared.make_facts_tables(page.context.manifest),
    ),
    SectionKind("repeat", APPENDIX + 310, "How to repeat the run", _set_commands),
)  # fmt: skip
