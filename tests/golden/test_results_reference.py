"""What is written from the tables and the collectors is kept with them, and current."""

from pathlib import Path

from stithy.collect.sampler import collectors_page
from stithy.results.reference import comparability_page, tables_page
from support import golden


def test_the_page_of_the_tables_is_current(root: Path, accept_golden: bool) -> None:
    """The page tells every column with kind, unit and meaning."""
    golden.same(root / "docs" / "reference" / "results.md", tables_page(), accept_golden)


def test_the_page_of_the_collectors_is_current(root: Path, accept_golden: bool) -> None:
    """The page tells every metric with unit and meaning."""
    page = collectors_page()
    golden.same(root / "docs" / "reference" / "collectors.md", page, accept_golden)


def test_the_page_of_the_comparability_key_is_current(root: Path, accept_golden: bool) -> None:
    """The page tells every fact that makes runs comparable."""
    page = comparability_page()
    golden.same(root / "docs" / "reference" / "comparability.md", page, accept_golden)
