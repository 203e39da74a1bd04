"""A short report in Markdown, for a pull request or a ticket: the first screen of the page."""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from stithy.report.page import Page
from stithy.report.parts import candidates, certainty, other_runs, proof, transactions
from stithy.report.parts.page_tables import WORDS
from stithy.report.tables import PageTable
from stithy.report.words.escape import bullets, code, escaped, table
from stithy.report.words.loads import provenance

NAME = "md"


def make(page: Page, drawings: dict[str, str]) -> bytes:
    """Question, answer, candidates by levels, what was invalid, thresholds, how to repeat."""
    del drawings  # a summary has none
    return ("\n\n".join(_parts(page)) + "\n").encode()


def _parts(page: Page) -> Iterator[str]:
    context, manifest = page.context, page.context.manifest
    yield f"# {escaped(manifest.question if manifest else 'Report of a run')}"
    if context.label:
        yield f"**{escaped(context.label)}**"
    yield f"**{escaped(page.answer.headline)}**"
    if page.answer.detail:
        yield escaped(page.answer.detail)
    if page.answer.flawed:
        yield "What weakens the answer (the section Validity is in the full report, `report.html`):"
        yield bullets(page.answer.flawed)
    if page.answer.others:
        # Two lists with nothing between them would be one, and findings weaken nothing.
        yield "What else was found:"
        yield bullets(page.answer.others)
    if page.answer.support:
        yield escaped(" ".join(page.answer.support))
    yield from _captioned(page.tables["thresholds"])
    yield from _captioned(page.tables["candidates"])
    yield from _captioned(page.tables["devices"])
    if (shown := candidates.note(context, page.tables["candidates"])) is not None:
        yield escaped(shown)
    yield WORDS
    for name in ("summary", "limited-levels", "search"):
        yield from _captioned(page.tables[name])
    if (order := certainty.order_sentence(context)) is not None:
        yield escaped(order)
    yield from _work(page.tables["work"])
    yield escaped(f"{context.footer}.")
    for text in other_runs.words(page.pairs) if page.pairs else ():
        yield escaped(text)
    for each in other_runs.tables(page.pairs):
        yield from _captioned(each)
    yield from _captioned(_invalid(page.tables["reasons-gathered"]))
    yield from _repeat(page)
    yield escaped(" ".join((provenance(manifest), *proof.specified_sentences(context))))


def _captioned(each: PageTable) -> Iterator[str]:
    if not each.frame.is_empty():
        yield f"{escaped(each.caption)}:"
        yield table(each)


def _work(each: PageTable) -> Iterator[str]:
    """Only where a part of it is known: the page says what is missing, and why."""
    if any(each.frame[column].count() for column in transactions.QUOTIENTS):
        yield from _captioned(each)
        yield escaped(transactions.work_note(each))


def _invalid(reasons: PageTable) -> PageTable:
    """The reasons that invalidate, without the notes."""
    shows = tuple(show for show in reasons.columns if show.column != "weight")
    frame = reasons.frame.filter(pl.col("weight") == "invalid")
    return replace(reasons, caption="What makes windows invalid", columns=shows, frame=frame)


def _repeat(page: Page) -> Iterator[str]:
    manifest = page.context.manifest
    if manifest is None:
        return
    yield (
        f"To repeat the run, use this study with Stithy {escaped(manifest.stithy_version)} (seed "
        f"{manifest.seed}, comparability key {escaped(manifest.comparability_key)}): "
        f"`stithy run study.yaml{page.context.options}`"
    )
    if page.context.run.study:
        study = code(page.context.run.study)
        yield f"<details><summary>The study file</summary>\n\n{study}\n\n</details>"
