"""Nothing sticks out, overlaps or is cut off at any width, in light and dark."""

from pathlib import Path

import pytest

from support.browser import Look, Tab
from support.looking import LOOKS, looked_at

pytestmark = pytest.mark.needs_browser

# What lies beyond the right edge and in no box that scrolls.
STICKING_OUT = """[...document.querySelectorAll("main *, nav *")].filter(each => {
    const box = each.getBoundingClientRect();
    return box.width && box.right > innerWidth + 1 && !each.closest(".scroll, pre");
}).map(each => each.outerHTML.slice(0, 120))"""

# Pairs of texts of one drawing that lie over each other by more than a hair.
OVERLAPS = """[...document.querySelectorAll(".drawing > svg, .stage svg")].flatMap(drawing => {
    const texts = [...drawing.querySelectorAll("text")].filter(text => text.textContent.trim()
        && text.checkVisibility({opacityProperty: true}));
    const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()]);
    return boxes.flatMap(([a, one], index) => boxes.slice(index + 1)
        .filter(([, other]) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2
            && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 3)
        .map(([b]) => `${drawing.closest("figure").id}: ${a} | ${b}`));
})"""

# Texts that leave their drawing, which cuts them off.
CUT = """[...document.querySelectorAll(".drawing > svg, .stage svg")].flatMap(drawing => {
    const whole = drawing.getBoundingClientRect();
    return [...drawing.querySelectorAll("text")].filter(text => {
        const box = text.getBoundingClientRect();
        return box.width && (box.left < whole.left - 1 || box.right > whole.right + 1
            || box.top < whole.top - 2 || box.bottom > whole.bottom + 2);
    }).map(text => `${drawing.closest("figure").id}: ${text.textContent}`);
})"""


@pytest.mark.parametrize("look", LOOKS)
def test_the_page_is_as_wide_as_the_view(live: Tab, look: Look, pictures: Path | None) -> None:
    """What is wider scrolls in a box of its own."""
    looked_at(live, look)
    assert live.ask("document.documentElement.scrollWidth") <= look.width
    assert live.ask(STICKING_OUT) == []
    if pictures:
        name = f"usual-{look.width}-{'dark' if look.dark else 'light'}.png"
        live.picture(pictures / name, whole=True)


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_ten_candidates_fit_too(crowded: Tab, width: int, pictures: Path | None) -> None:
    """Long names wrap, wide tables scroll."""
    looked_at(crowded, Look(width=width))
    assert crowded.ask("document.documentElement.scrollWidth") <= width
    assert crowded.ask(STICKING_OUT) == []
    if pictures:
        crowded.picture(pictures / f"crowd-{width}.png", whole=True)


def test_no_text_of_a_drawing_lies_over_another_or_is_cut_off(live: Tab, crowded: Tab) -> None:
    """In the drawings as they are made and in those that the browser draws."""
    for page in (live, crowded):
        looked_at(page, Look())
        assert page.ask(OVERLAPS) == []
        assert page.ask(CUT) == []


def test_the_paper_follows_the_scheme(live: Tab) -> None:
    """Light letters on dark, and the other way round."""
    shades = {}
    for dark in (False, True):
        looked_at(live, Look(dark=dark))
        shades[dark] = live.ask("""[document.body, document.body].map((body, index) =>
            getComputedStyle(body)[index ? "color" : "backgroundColor"].match(/\\d+/g)
            .slice(0, 3).reduce((sum, part) => sum + +part, 0))""")
    assert shades[False][0] > 700 > 150 > shades[False][1]
    assert shades[True][1] > 600 > 150 > shades[True][0]
