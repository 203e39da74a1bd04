"""How to repeat the study: the commands, the study file, the drive profiles."""

from collections.abc import Iterator

from stithy.report.blocks import APPENDIX, Block, Heading, Section, Verbatim, paragraph, with_code
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.words import loads

NAME = "repeat"


def sections(page: Page) -> Iterator[Section]:
    """Always there."""
    blocks = tuple(_blocks(page.context))
    yield Section("repeat", APPENDIX + 310, "How to repeat the run", blocks)


def _blocks(context: Context) -> Iterator[Block]:
    emulated = loads.profiles(context.manifest)
    if context.manifest is not None:
        yield from _commands(context, is_emulated=bool(emulated))
    for each in emulated:
        yield Verbatim(each.text, f"The drive profile {each.name}")
    if context.run.study:
        yield Heading("The study file")
        yield Verbatim(context.run.study)
    else:
        yield from paragraph("The study file could not be read.")


def _commands(context: Context, *, is_emulated: bool) -> Iterator[Block]:
    manifest = context.manifest
    assert manifest is not None  # asked by the caller
    yield from paragraph(
        f"Save the study below as a file, install Stithy {manifest.stithy_version}, and run:"
    )
    yield Verbatim(
        f"stithy plan study.yaml{context.options}\nstithy run study.yaml{context.options}"
    )
    if is_emulated:
        yield from paragraph(
            "If the study names drive profiles as files, save them in the same directory. They "
            "follow below."
        )
    yield with_code(
        f"The seed {manifest.seed} determines {_seeded(context)}. Results are comparable only if "
        f"their comparability key is {manifest.comparability_key}, too. Beside this report, ",
        "report/",
        " holds each figure as SVG, PNG and Vega-Lite, and each table as Parquet and CSV. ",
        "windows/",
        " holds the raw results. ",
        "stithy report",
        " writes this report again from them.",
    )


def _seeded(context: Context) -> str:
    if "load" in context.tables:
        return "the data, the order of the windows and all random choices of the virtual users"
    return "the order of the windows and all random choices in them"
