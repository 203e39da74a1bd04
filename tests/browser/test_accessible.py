"""For everyone: axe-core finds nothing at any width, in light and dark, with everything open."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.axe import violations
from support.browser import Browser, Look, Tab, tab
from support.looking import LOOKS, enliven, looked_at

pytestmark = pytest.mark.needs_browser


# What repeats is judged twice: rows of a table differ in nothing that a rule looks at, and what is
# drawn is an image to those who do not see it, so two drawings are enough. Minutes become seconds.
FEWER = """document.querySelectorAll("tbody tr:nth-child(n+3)").forEach(row => row.remove());
    [...document.querySelectorAll(".drawing")].slice(2).forEach(each => each.replaceChildren());"""


@pytest.fixture(scope="module")
def unfolded(browser: Browser, usual: Path) -> Iterator[Tab]:
    """The usual page with all that is folded unfolded, and its first figure interactive."""
    with tab(browser, Look()) as opened:
        opened.open(usual)
        enliven(opened, "#figure-throughput-by-users")
        opened.ask("document.querySelectorAll('details').forEach(each => { each.open = true })")
        opened.ask(FEWER)
        yield opened


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(unfolded: Tab, look: Look) -> None:
    """At no width, in light or dark, contrasts of all texts among it."""
    looked_at(unfolded, look)
    assert violations(unfolded) == []


def test_axe_finds_nothing_in_drawings_and_without_scripts(browser: Browser, crowd: Path) -> None:
    """The page as it comes, folded, with the drawings of ten candidates."""
    with tab(browser, Look(scripts=False)) as page:
        page.open(crowd)
        page.seen(Look())  # axe itself is a script; the page's own did not run when it was loaded
        assert page.ask("document.querySelector('figure.live')") is None
        page.ask(FEWER)
        assert violations(page) == []


def test_every_figure_is_named_described_and_has_its_data(live: Tab) -> None:
    """A heading, words for those who do not see it, and a table."""
    figures = live.ask("""[...document.querySelectorAll("figure.figure")].map(figure => ({
        heading: figure.querySelector("h3").innerText,
        words: figure.querySelector("[role=img]").getAttribute("aria-label"),
        table: figure.querySelector("details").innerText,
    }))""")
    assert len(figures) >= 15
    for number, figure in enumerate(figures, start=1):
        assert figure["heading"].startswith(f"Figure {number}")
        assert len(figure["words"]) > 40
        assert f"Data of figure {number}" in figure["table"]


def test_headings_and_ids_are_in_order(live: Tab) -> None:
    """One title, then sections, then parts of them; interactive drawings bring ids as well."""
    levels = live.ask("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))
    ids = live.ask("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert sorted(ids) == sorted(set(ids))
