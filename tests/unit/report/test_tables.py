"""Tables of the page and the files behind them."""

import polars as pl

from stithy.report.tables import SHOW, PageTable, Show

TABLE = PageTable(
    "sample",
    "A sample",
    (Show("name", "Name"), Show("p95_s", "p95", "duration"), Show("ok", "Valid", "truth")),
    pl.DataFrame(
        {"name": ["a", "b"], "p95_s": [0.0123, None], "ok": [True, False], "more": [1, 2]}
    ),
)


def test_cells_are_printed_with_the_number_behind_them() -> None:
    """A printed duration keeps its seconds; words have no number."""
    first, second = TABLE.cells()
    assert [cell.text for cell in first] == ["a", "12.3 ms", "yes"]
    assert [cell.value for cell in first] == [None, 0.0123, None]
    assert [cell.kind for cell in first] == ["text", "number", "truth"]
    assert second[1].text == "–"
    assert second[1].value is None


def test_a_correlation_that_rounds_to_nothing_has_no_sign() -> None:
    """A minus before nothing would say which way."""
    assert [SHOW["correlation"](each) for each in (-0.001, -0.45, 0.3)] == ["0.00", "-0.45", "0.30"]
