"""What is written from the tables and the collectors is kept with them, and current."""

from pathlib import Path

from stithy.collect import reference as collectors
from stithy.results import comparability_reference as comparability
from stithy.results import reference as tables
from support import golden


def test_the_page_of_the_tables_is_current(root: Path, accept_golden: bool) -> None:
    """The page tells every column with kind, unit and meaning."""
    golden.same(root / "docs" / "reference" / "results.md", tables.reference_page(), accept_golden)


def test_the_page_of_the_collectors_is_current(root: Path, accept_golden: bool) -> None:
    """The page tells every metric with unit and meaning."""
    page = collectors.reference_page()
    golden.same(root / "docs" / "reference" / "collectors.md", page, accept_golden)


def test_the_page_of_the_comparability_key_is_current(root: Path, accept_golden: bool) -> None:
    """The page tells every fact that makes runs comparable."""
    page = comparability.reference_page()
    golden.same(root / "docs" / "reference" / "comparability.md", page, accept_golden)
