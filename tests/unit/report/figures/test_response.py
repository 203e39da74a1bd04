"""Response times against users: the limit of the study is drawn where it belongs."""

import json
from pathlib import Path

import polars as pl

from stithy.report.context import Context, context_of
from stithy.report.figure import Figure
from stithy.report.figures.response import draw
from stithy.results.manifest import SearchFacts
from stithy.results.read import read_run
from stithy.results.tables import TRANSACTIONS
from stithy.results.write import write_table
from support.drawn import context_built
from support.sample_run import Shape, build_run, window_id


def _context(root: Path, transaction: str | None) -> Context:
    facts = SearchFacts(
        percentile="p95", transaction=transaction or "", limit_s=2.5, users_least=1, users_most=8
    )
    shape = Shape(
        users=(1, 4), duration_s=2, series=False, search=facts if transaction is not None else None
    )
    return context_built(root / "run", shape)


def _figures(context: Context) -> tuple[Figure, Figure]:
    together, by_type = draw(context)
    assert isinstance(together, Figure)
    assert isinstance(by_type, Figure)
    return together, by_type


def _lines(figure: Figure) -> int:
    """How often the limit of 2.5 s is drawn; no response time of the sample is as long."""
    document = json.dumps(figure.spec)
    assert document.count('{"value": 2500.0}') <= 1
    return document.count('"type": "rule"')


def test_a_limit_is_drawn_in_the_panel_of_its_type_and_percentile(tmp_path: Path) -> None:
    """Once, and the caption tells what the line is."""
    together, by_type = _figures(_context(tmp_path, "payment"))
    assert (_lines(together), _lines(by_type)) == (0, 1)
    assert "The broken line is the limit of the study for p95 of payment." in by_type.caption
    assert '"limit": "limit 2.5 s"' in json.dumps(by_type.spec)
    assert "The broken line" not in together.caption


def test_a_limit_of_all_transactions_is_drawn_where_they_are_together(tmp_path: Path) -> None:
    """Not in the panels of single types."""
    together, by_type = _figures(_context(tmp_path, "all"))
    assert (_lines(together), _lines(by_type)) == (1, 0)
    assert "The broken line is the limit" in together.caption


def test_without_a_limit_there_is_no_line(tmp_path: Path) -> None:
    """Nor a word about one."""
    together, by_type = _figures(_context(tmp_path, None))
    assert (_lines(together), _lines(by_type)) == (0, 0)
    assert "broken line" not in together.caption + by_type.caption


def test_a_type_that_is_not_the_slowest_on_every_candidate_is_told_with_its_candidate(
    tmp_path: Path,
) -> None:
    """New orders take longest on disk; on memory another type does."""
    root = build_run(tmp_path / "run", Shape(users=(4,), duration_s=45, series=False)).root
    assert "users, new-order takes longest: its" in _figures(context_of(read_run(root)))[1].title
    path = root / "windows" / window_id("memory", 4, 0) / "transactions.parquet"
    payment = pl.col("transaction") == "payment"
    slow = pl.when(payment).then(pl.col("response_p95_s") * 4).otherwise(pl.col("response_p95_s"))
    frame = pl.read_parquet(path).with_columns(response_p95_s=slow)
    write_table(path, TRANSACTIONS, frame.to_dicts())
    title = _figures(context_of(read_run(root)))[1].title
    assert "users, new-order on disk takes longest: its 95th percentile is" in title
