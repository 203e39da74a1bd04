"""What a report says of windows that were lost, and of blocks that were measured again."""

from pathlib import Path

import pytest

from stithy.report.context import Context
from stithy.report.page import build
from stithy.report.parts.certainty import question_sentence
from stithy.report.parts.validity import lost_pattern
from stithy.results.manifest import QuestionFacts
from support import golden
from support.drawn import context_built
from support.sample_run import Shape

HERE = Path(__file__).parent / "lost"
LATE = {"lateness_p99_s": 1.0}
DEAD = {"missing_because": "the server was ended by SIGKILL", "tpm": None, "measure_to_s": None}
QUESTION = QuestionFacts(
    users=4, metric="nopm", margin_share=0.02, candidates=("disk", "memory"), blocks_least=4,
    blocks_most=20,
)  # fmt: skip
RUNS = {
    "one-block": Shape(changes={"w-disk-u4-b1": LATE}, again=frozenset({(4, 1)})),
    "one-candidate": Shape(
        changes={"w-disk-u4-b1": LATE, "w-disk-u4-b2": {**LATE, "errors": 3}, "w-disk-u1-b0": DEAD},
        again=frozenset({(4, 1), (4, 2), (1, 0)}),
    ),
    "again-and-again": Shape(
        changes={"w-disk-u4-b1": LATE, "w-memory-u4-b1-again": LATE}, again=frozenset({(4, 1)})
    ),
}


def told(context: Context) -> str:
    """All sentences and table rows that concern it."""
    page = build(context)
    sure = question_sentence(context) or "", lost_pattern(context) or ""
    rows = page.tables["reasons"].frame.rows(named=True)
    reasons = (f"{r['weight']}: {r['sentence']} {r['advice']} ({r['window_ids']})" for r in rows)
    flawed = ("What weakens the answer:", *page.answer.flawed)
    lines = (*flawed, "", "How sure this is:", *sure, "", "Validity:", *reasons, "")
    return "\n".join(lines)


@pytest.mark.parametrize("name", RUNS)
def test_the_words_are_those_accepted(name: str, tmp_path: Path, accept_golden: bool) -> None:
    """Four blocks at two levels, some of them lost."""
    shape = RUNS[name]
    usual = {"users": (1, 4), "repeat": 4, "duration_s": 2, "series": False, "primary": QUESTION}
    context = context_built(tmp_path, Shape(**{**vars(shape), **usual}))
    golden.same(HERE / f"{name}.txt", told(context), accept_golden)
