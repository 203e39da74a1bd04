"""The page as the browser prints it: light, whole, and without what only a screen can do."""

import io
from collections.abc import Iterator

import pytest
from pypdf import PdfReader

from support.browser import Look, Tab
from support.looking import looked_at

pytestmark = pytest.mark.needs_browser

A4_WIDTH_PX = round((210 - 2 * 14) / 25.4 * 96)
"""What is left of A4 between the page's margins, in pixels of the page."""


@pytest.fixture(scope="module", params=["live", "crowded"])
def printed(request: pytest.FixtureRequest) -> Iterator[Tab]:
    """Both pages, live and dark on the screen, and now looked at as they go to paper."""
    page: Tab = request.getfixturevalue(request.param)
    looked_at(page, Look(dark=True))
    looked_at(page, Look(width=A4_WIDTH_PX, dark=True, media="print"))
    yield page
    looked_at(page, Look())


def test_paper_is_light(printed: Tab) -> None:
    """Whatever the scheme of the screen is."""
    assert printed.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    ink = printed.ask("getComputedStyle(document.body).color")
    assert ink == "rgb(27, 31, 36)"
    fills = printed.ask("""[...document.querySelectorAll(".drawing > svg text")]
        .map(text => getComputedStyle(text).fill)""")
    assert "rgb(230, 233, 237)" not in fills


def test_figures_are_printed_as_they_were_drawn(printed: Tab) -> None:
    """With their legends: buttons do nothing on paper, and what was zoomed is whole again."""
    shown = printed.ask("""[...document.querySelectorAll("figure.figure")].map(figure =>
        [figure.querySelector(".drawing > svg").getBoundingClientRect().height,
         figure.querySelector(".stage")?.getBoundingClientRect().height ?? 0])""")
    assert all(still > 40 and stage == 0 for still, stage in shown)
    buttons = printed.ask("""[...document.querySelectorAll("button")]
        .filter(button => button.checkVisibility()).length""")
    assert buttons == 0


def test_nothing_is_cut_off_on_paper(printed: Tab) -> None:
    """On paper nobody scrolls. Tables of more than eleven columns are smaller, and wrap."""
    wide = printed.ask("""[...document.querySelectorAll("main *")].filter(each =>
        each.checkVisibility() && each.getBoundingClientRect().right > innerWidth + 1)
        .map(each => each.outerHTML.slice(0, 90))""")
    assert wide == []
    broken = printed.ask("""[...document.querySelectorAll("td.number")].filter(cell => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const lines = new Set([...range.getClientRects()].map(each => Math.round(each.top)));
        return cell.checkVisibility() && cell.parentElement.children.length < 12 && lines.size > 1;
    }).map(cell => cell.innerText)""")
    assert broken == []


def test_the_paper_has_what_the_page_says(printed: Tab) -> None:
    """Question, figures with their numbers, and the sentence on where the workload comes from."""
    pages = PdfReader(io.BytesIO(printed.paper())).pages
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    count = printed.ask("document.querySelectorAll('figure.figure').length")
    assert len(pages) > 5
    assert printed.ask("document.querySelector('h1').innerText")[:40] in text
    for number in range(1, count + 1):
        assert f"Figure {number} " in text
    assert "is not a TPC benchmark" in text.replace("\N{NO-BREAK SPACE}", " ")
