"""What a report says: as Markdown, as a page, below its figures, and of windows that were lost.

Print takes its words from the page.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stithy.point import Point
from stithy.registry import plugins
from stithy.report.blocks import Absent, Drawn, FigureKind
from stithy.report.context import Context
from stithy.report.formats.md import MarkdownFormat
from stithy.report.page import Page
from stithy.report.sections.answer import answer
from stithy.report.sections.certainty import describe_question
from stithy.report.validity import describe_lost
from stithy.results.manifest import LimitFacts, QuestionFacts
from support import golden
from support.drawn import context_built, draw_all
from support.priced import PRICING
from support.sample_run import Shape, window_id

HERE = Path(__file__).parent
BROKEN = {window_id("disk", 1, 0): {"errors": 2, "error_text": "deadlock detected"}}


def test_the_summary_in_markdown_is_accepted(tmp_path: Path, accept_golden: bool) -> None:
    """Of a short run with an invalid window: a disk that saturates, and memory."""
    shape = Shape(users=(1, 4), planned=(1, 4), duration_s=3, series=False, changes=BROKEN)
    page = Page(context_built(tmp_path, shape))
    # What stands in a pull request or a ticket.
    text = MarkdownFormat().make(page, {}).decode()
    golden.same(HERE / "reports/disk-and-memory.md", text, accept_golden)


KINDS = plugins(FigureKind)
FAMILIES = [*sorted(KINDS, key=lambda name: KINDS[name].order), "bottlenecks"]
SLOWED = {window_id(name, 4, 0): {"one_rounds_per_s": 90_000.0} for name in ("disk", "memory")}
LIMITED = Shape(
    repeat=4, series=False, baselines=SLOWED,
    limit=LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1),
    pricing=PRICING,
)  # fmt: skip
"""With a limit, costs, four blocks of each level, and a machine that changed."""


def words(drawn: Drawn) -> str:
    """A figure's texts, a line each, or why it is not there."""
    if isinstance(drawn, Absent):
        return f"{drawn.name}\n  would show: {drawn.would_show}\n  absent: {drawn.because}\n"
    return (
        f"{drawn.name}\n  title: {drawn.title}\n  caption: {drawn.caption}\n"
        f"  description: {drawn.description}\n"
    )


@pytest.mark.parametrize(("name", "shape", "families"), [
    ("disk-and-memory", Shape(repeat=2, logs=True), FAMILIES),
    ("limit-costs-and-blocks", LIMITED,
     ("cost", "response-throughput", "verdict-by-block", "baselines")),
])  # fmt: skip
def test_words_of_figures_are_as_accepted(
    name: str, shape: Shape, families: Sequence[str], tmp_path: Path, accept_golden: bool
) -> None:
    """Each family's in the order of the page."""
    context = context_built(tmp_path, shape)
    drawn = [each for family in families for each in draw_all(family, context)]
    golden.same(HERE / f"figures/{name}.txt", "\n".join(map(words, drawn)), accept_golden)


LATE = {"lateness_mean_s": 0.02, "lateness_p99_s": 0.1}
DEAD = {"missing_because": "the server was ended by SIGKILL", "tpm": None, "measure_to_s": None}
FOUR = Shape(
    users=(1, 4), repeat=4, duration_s=2, series=False,
    primary=QuestionFacts(point=Point.of(users=4), metric="nopm", margin_share=0.02, blocks_least=4,
                          blocks_most=20, candidates=("disk", "memory")),
)  # fmt: skip
LOST: dict[str, tuple[dict[str, Any], set[tuple[int, int]]]] = {
    "one-block": ({"w-disk-u4-b1": LATE}, {(4, 1)}),
    "one-candidate": (
        {"w-disk-u4-b1": LATE, "w-disk-u4-b2": {**LATE, "errors": 3}, "w-disk-u1-b0": DEAD},
        {(4, 1), (4, 2), (1, 0)},
    ),
    "again-and-again": ({"w-disk-u4-b1": LATE, "w-memory-u4-b1-again": LATE}, {(4, 1)}),
}
"""What became of windows of four blocks at two levels, and which blocks were measured again."""


def told(context: Context) -> str:
    """All sentences and table rows that concern it."""
    page = Page(context)
    sure = describe_question(context) or "", describe_lost(context) or ""
    rows = page.tables["reasons"].frame.rows(named=True)
    reasons = (f"{r['weight']}: {r['sentence']} {r['advice']} ({r['window_ids']})" for r in rows)
    flawed = ("What weakens the answer:", *answer(context).flaws)
    return "\n".join((*flawed, "", "How sure this is:", *sure, "", "Validity:", *reasons, ""))


@pytest.mark.parametrize("name", LOST)
def test_lost_windows_read_as_accepted(name: str, tmp_path: Path, accept_golden: bool) -> None:
    """And of blocks that were measured again."""
    changes, again = LOST[name]
    context = context_built(tmp_path, replace(FOUR, changes=changes, again=frozenset(again)))
    golden.same(HERE / f"lost/{name}.txt", told(context), accept_golden)
