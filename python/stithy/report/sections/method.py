"""Method and limits: how it was measured, and what the numbers do not say."""

from collections.abc import Iterator

from stithy.plan.order import williams
from stithy.report.blocks import APPENDIX, Block, Section, paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.parts import proof
from stithy.report.words import loads, servers
from stithy.report.words.restores import restore_method

NAME = "method"

LOADED = (
    "The drives were unpaced while data were loaded and restored. Each window began with the "
    "drive's state after loading."
)
LAID_OUT = (
    "The drives were unpaced while the data were laid out. Each window began with the drive's "
    "state after the window before it."
)


def sections(page: Page) -> Iterator[Section]:
    """Always there."""
    blocks = tuple(_blocks(page.context))
    yield Section("method", APPENDIX + 300, "Method and limits", blocks)


def _blocks(context: Context) -> Iterator[Block]:
    emulated = loads.profiles(context.manifest)
    served = "load" in context.tables
    if served:
        about = loads.provenance(context.manifest), *proof.specified_sentences(context)
        yield from paragraph(*about)
    yield from paragraph(*_order(context), loads.paragraph(context.load) if served else None)
    if emulated:
        yield from paragraph(
            "Emulated drives are not hardware. Each is a block device with an ordinary file "
            "system. A program of Stithy answers its requests with the service times, channels, "
            "cache and caps of the drive profile. An emulated drive is only as accurate as its "
            "profile; assumed values are listed.",
            LOADED if context.restored else LAID_OUT,
            *(each.words for each in emulated),
        )
    if served:
        yield from _of_users()
    yield from paragraph(*_limits(context, is_emulated=bool(emulated)))


def _of_users() -> Iterator[Block]:
    yield from paragraph(
        "Response time runs from the intended start to the answer, retries and waiting included. "
        "Percentiles come from histograms with three significant digits; they are never "
        "averaged. With several windows at a level, rates are means, and percentiles are those "
        "of the merged windows. If a latency log is missing, the percentiles are those of the "
        "median window. Ratios are means of log ratios, paired by block. A single window has no "
        "interval. A small difference between single windows means nothing."
    )


def _order(context: Context) -> Iterator[str]:
    square = len(williams(max(1, len(context.evidence.candidates))))
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
            "Candidates differ in the memory or settings of their servers, and not in the storage "
            "alone: What was compared lists both."
        )


def _limits(context: Context, *, is_emulated: bool) -> Iterator[str]:
    by_url = servers.are_there(context.manifest)
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
        yield f"The numbers hold only for these servers, the way to them, and this size of {of}."
        return
    yield f"The numbers hold only for this machine, this configuration and this size of {of}."
