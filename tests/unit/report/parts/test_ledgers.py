"""What a page says of the ledgers of its run."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from stithy.analysis.answers.findings import findings
from stithy.report.context import Context, context_of
from stithy.report.parts import ledgers
from stithy.report.parts.answer import answer
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id


def context(root: Path, shape: Shape) -> Context:
    """The context of a sample run."""
    build_run(root, shape)
    return context_of(read_run(root))


def test_that_nothing_is_missing_is_one_sentence(tmp_path: Path) -> None:
    """With all windows together, and what was in doubt."""
    made = context(tmp_path, Shape(users=(1, 4), ledger=True))
    acknowledged = int(made.run.window["new_orders"].sum())
    assert ledgers.proven(made) == (
        f"Of {acknowledged:,} orders and {acknowledged:,} payments that the ledgers hold as "
        "acknowledged none is missing; 12 were in doubt, 4 of them found."
    )
    assert list(ledgers.flaws(made)) == []


def test_a_run_without_ledgers_says_nothing_of_them(tmp_path: Path) -> None:
    """Neither sentence nor rows."""
    made = context(tmp_path, Shape(users=(1,)))
    assert ledgers.proven(made) is None
    assert ledgers.written(made).frame.is_empty()


def test_what_is_gone_is_said_first_at_the_top(tmp_path: Path) -> None:
    """Before all other flaws, and no sentence says that nothing is missing."""
    lost = {window_id("disk", 4, 0): 2}
    made = context(tmp_path, Shape(users=(1, 4), ledger=True, lost=lost))
    top = answer(made, findings(made.evidence, made.limited))
    assert top.flawed[0] == "ACKNOWLEDGED WORK IS GONE: the ledgers of 1 window show 2 lost."
    assert "1 of 4 windows is invalid" in top.flawed[1]
    assert not any("none is missing" in text for text in top.support)
    assert ledgers.gone(made).frame.height == 2


def test_a_ledger_that_proves_nothing_is_a_flaw(tmp_path: Path) -> None:
    """The others do not speak for it."""
    bare = {window_id("disk", 1, 0): {"ledger_unverified_because": "the server is gone"}}
    made = context(tmp_path, Shape(users=(1,), ledger=True, changes=bare))
    assert list(ledgers.flaws(made)) == [
        "1 ledger could not be compared with the database: the server is gone."
    ]
    assert ledgers.proven(made) is None


def test_a_single_order_is_singular(tmp_path: Path) -> None:
    """Of one payment, too."""
    made = context(tmp_path, Shape(users=(1,), ledger=True))
    one = pl.when(pl.col("acknowledged") > 0).then(1).otherwise(0).cast(pl.Int64)
    ledger = made.run.ledger.head(2).with_columns(acknowledged=one)
    told = ledgers.proven(replace(made, run=replace(made.run, ledger=ledger)))
    assert str(told).startswith("Of 1 order and 1 payment that the ledgers hold")
