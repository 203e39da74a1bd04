"""What the report says of the order of candidates, and of the effect of position."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from stithy.analysis.answers.findings import decision_status
from stithy.analysis.verdict.decide import Next
from stithy.report.context import Context, context_of
from stithy.report.page import build
from stithy.report.parts import certainty
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

BALANCED = ("ab", "ba", "ba", "ab")
"""Who came first and second, by block."""


def _context(root: Path, firsts: Sequence[str], later_share: float = 0.0) -> Context:
    """A run with these orders, in which the later window of each block does so much more."""
    changes = {
        window_id(name, 4, block): {
            "position": place,
            "nopm": 6000 * (1 + later_share * place) * (1.002 if block % 2 else 1.0),
        }
        for block, order in enumerate(firsts)
        for place, name in enumerate(order)
    }
    shape = Shape(
        candidates=("a", "b"), users=(4,), repeat=len(firsts), duration_s=2, series=False,
        changes=changes,
    )  # fmt: skip
    build_run(root, shape)
    return context_of(read_run(root))


def test_an_effect_of_position_is_found_told_from_the_candidates_and_named(tmp_path: Path) -> None:
    """Equal candidates, and the later window does 3 % more."""
    context = _context(tmp_path, BALANCED, 0.03)
    row = certainty.order_table(context).frame.row(0, named=True)
    assert row["value"] == pytest.approx(1.03, abs=1e-6)
    assert row["low"] <= 1.03 <= row["high"]
    assert (row["visible"], row["first"], row["order"]) == (True, "a 2, b 2", "a, b, b, a")
    said = certainty.order_sentence(context)
    assert said is not None
    assert said.startswith("a came first in 2 of 4 valid blocks (a, b, b, a). By new orders per ")
    assert "was 1.030 times the earlier one (95 % interval 1.030 to 1.030)" in said
    assert "It favours neither candidate" in said


@pytest.mark.parametrize(
    ("firsts", "said"),
    [
        (("ab", "ba"), "is not tested: that takes 2 blocks of each order."),
        (("ab",) * 4, "a came first in 4 of 4 valid blocks (a, a, a, a). Whether the position"),
        (BALANCED, "no effect of position is visible."),
        ((*BALANCED, "ab"), "no effect of position is visible."),
    ],
)
def test_without_blocks_of_both_orders_it_says_so(
    tmp_path: Path, firsts: Sequence[str], said: str
) -> None:
    """And without an effect that none is visible."""
    assert said in (certainty.order_sentence(_context(tmp_path, firsts)) or "")


def test_an_effect_beside_unequal_orders_is_named_as_a_part_of_the_difference(
    tmp_path: Path,
) -> None:
    """Lost blocks can leave the orders unequal; then the effect does not cancel."""
    said = certainty.order_sentence(_context(tmp_path, (*BALANCED, "ab"), 0.03))
    assert said is not None
    assert said.endswith(
        "did not come first equally often, so a part of their difference is due to it."
    )


@pytest.mark.parametrize("later_share", [0.05, 0.0])
def test_blocks_of_a_single_order_support_no_verdict(tmp_path: Path, later_share: float) -> None:
    """Lost blocks left a first in all four: neither a difference nor equivalence is claimed."""
    context = _context(tmp_path, ["ab"] * 4, later_share)
    page = build(context)
    assert page.answer.headline.startswith(
        "At 4 users, it is undecided which of a and b is better in new orders per minute"
    )
    assert "every valid block has the same order of candidates" in page.answer.detail
    assert "measure more blocks" in page.answer.detail
    assert decision_status(context.evidence).progress.step is Next.ANOTHER_BLOCK
    verdicts = page.tables["verdicts"].frame
    assert set(verdicts["verdict"]) <= {"undecided", "undecided (the question)"}
