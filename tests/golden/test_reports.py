"""The report as text: the summary in Markdown, and the page. Print takes its words from it."""

from pathlib import Path

import pytest

from stithy.registry import plugins
from stithy.report.page import Page, build, render
from support import golden
from support.drawn import context_built
from support.page_words import words_of_page
from support.sample_run import Shape, window_id

HERE = Path(__file__).parent / "reports"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A short run with an invalid window: a disk that saturates, and memory."""
    broken = {window_id("disk", 1, 0): {"errors": 2, "error_text": "deadlock detected"}}
    shape = Shape(users=(1, 4), duration_s=3, series=False, changes=broken)
    return build(context_built(tmp_path_factory.mktemp("run"), shape))


def test_the_summary_in_markdown_is_the_one_accepted(page: Page, accept_golden: bool) -> None:
    """What stands in a pull request or a ticket."""
    text = plugins("format")["md"].make(page, {}).decode()
    golden.same(HERE / "disk-and-memory.md", text, accept_golden)


def test_the_page_is_the_one_accepted(page: Page, accept_golden: bool) -> None:
    """Its elements and words; what is drawn, and the styles and scripts, are files of their own."""
    html = render(page, dict.fromkeys((figure.name for figure in page.figures), ""))
    golden.same(HERE / "disk-and-memory.html", words_of_page(html), accept_golden)
