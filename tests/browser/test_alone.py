"""The page by itself: asks for nothing, complains of nothing, and can be read without scripts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import Browser, Look, Tab, tab

pytestmark = pytest.mark.needs_browser


@pytest.fixture(scope="module")
def plain(browser: Browser, usual: Path) -> Iterator[Tab]:
    """The usual page in a browser without JavaScript, on a telephone."""
    with tab(browser, Look(width=390, scripts=False)) as opened:
        opened.open(usual)
        yield opened


def test_no_request_leaves_the_page(live: Tab, usual: Path) -> None:
    """Every figure became interactive; only the page itself and what lies in it was loaded."""
    states = live.ask("[...document.querySelectorAll('figure.figure')].map(f => f.dataset.state)")
    assert set(states) == {"live"}
    assert live.complaints == []
    asked = [request for request in live.requests if not request.startswith("data:")]
    assert asked == [usual.as_uri()]


def test_without_scripts_every_figure_and_table_is_there(plain: Tab) -> None:
    """Figures are drawn, with their words, and nothing that would do nothing.

    What is folded unfolds by itself; what is wide can be scrolled by keyboard.
    """
    drawings = plain.ask("""[...document.querySelectorAll(".drawing > svg")].map(drawing =>
        [drawing.getBoundingClientRect().width, drawing.querySelectorAll("text").length])""")
    assert len(drawings) >= 15
    assert all(width > 300 and texts > 3 for width, texts in drawings)
    assert plain.ask("document.querySelectorAll('figure.figure button').length") == 0
    assert plain.complaints == []
    folded = plain.ask("document.querySelectorAll('details').length")
    assert folded > 15
    assert plain.ask("document.querySelectorAll('details > summary').length") == folded
    boxes = plain.ask("""[...document.querySelectorAll("table")].map(table =>
        table.closest(".scroll")?.tabIndex)""")
    assert set(boxes) == {0}


def test_links_lead_to_their_places(plain: Tab) -> None:
    """And nowhere else; also without scripts."""
    links = plain.ask("""[...document.querySelectorAll("a")].map(link => [
        link.getAttribute("href"), !link.hash || document.querySelector(link.hash) !== null])""")
    assert [href for href, leads in links if not leads] == []
    files = [href for href, _ in links if not href.startswith("#")]
    assert files
    assert all(file.startswith("report/figures/") for file in files)
