"""Markdown: what is written is read as the letters it is."""

import polars as pl
import pytest

from stithy.report.tables import PageTable, Show
from stithy.report.words.escape import escaped, table

JOINER = "\N{WORD JOINER}"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("7.2 ms and 5 %", "7.2 ms and 5 %"),
        ("a|b", "a\\|b"),
        ("<b onclick=x>*bold* _it_ `c`", "\\<b onclick=x\\>\\*bold\\* \\_it\\_ \\`c\\`"),
        ("[a](b) ![c](d)", "\\[a\\](b) \\!\\[c\\](d)"),
        ("&lt;", "\\&lt;"),
        ("two\nlines", "two lines"),
        ("@maintainers see #1", f"@{JOINER}maintainers see #{JOINER}1"),
        ("http://a.b www.c.d", f"http{JOINER}://a.b www{JOINER}.c.d"),
        ("# no heading", f"{JOINER}# no heading"),
        ("1. no list", f"{JOINER}1. no list"),
        ("1.32", "1.32"),
        ("-5", "-5"),
        ("--- ", f"{JOINER}---"),
        ("a\u202eb", "a\\[U+202E\\]b"),
    ],
)
def test_what_would_act_in_markdown_is_escaped(text: str, written: str) -> None:
    """And nothing else, so that it can be read as it is, too."""
    assert escaped(text) == written


def test_a_table_has_numbers_to_the_right_and_one_line_a_row() -> None:
    """Also where a name holds what would end a cell."""
    frame = pl.DataFrame({"name": ["a|b\nc"], "nopm": [1200.4]})
    shows = (Show("name", "Name"), Show("nopm", "NOPM", "count"))
    written = table(PageTable("t", "T", shows, frame))
    assert written == "| Name | NOPM |\n| --- | ---: |\n| a\\|b c | 1,200 |"
