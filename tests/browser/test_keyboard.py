"""By keyboard alone: everything is reached in the order of reading, and it shows where one is."""

from pathlib import Path

import pytest

from support.browser import Browser, Look, Tab, tab
from support.looking import drawn, enliven, looked_at

pytestmark = pytest.mark.needs_browser

STILL = (("prefers-reduced-motion", "reduce"),)
STOPS = """[...document.querySelectorAll("a[href], button, summary, [tabindex='0']")]
    .filter(each => each.checkVisibility())"""


def test_the_first_stop_skips_to_the_answer(browser: Browser, usual: Path) -> None:
    """It shows itself as soon as it is reached."""
    with tab(browser, Look()) as page:
        page.open(usual)
        page.press("Tab")
        assert page.ask("document.activeElement.innerText") == "Skip to the answer"
        box = page.ask("document.activeElement.getBoundingClientRect().toJSON()")
        assert box["left"] >= 0
        assert box["width"] > 50
        page.press("Enter")
        drawn(page)
        assert page.ask("location.hash") == "#answer"
        page.press("Tab")
        assert page.ask("document.activeElement.closest('main') !== null")


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.long)])
def test_every_stop_is_reached_and_seen(browser: Browser, usual: Path, width: int) -> None:
    """Links, buttons, folded parts, and boxes that scroll; no trap, and nothing that is hidden.

    Long: a page on which less scrolls.
    """
    with tab(browser, Look(width=width, features=STILL)) as page:
        page.open(usual)
        enliven(page)
        page.ask("document.activeElement.blur()")
        expected = page.ask(f"{STOPS}.length")
        page.ask(f"{STOPS}.forEach((each, index) => {{ each.dataset.stop = index }})")
        reached, unseen = [], []
        for _ in range(expected):
            page.press("Tab")
            stop, seen = page.ask("""(() => {
                const here = document.activeElement, style = getComputedStyle(here);
                const box = here.getBoundingClientRect();
                const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
                return [here.dataset.stop ?? here.outerHTML.slice(0, 200), ring && box.width > 0
                    && box.bottom > 0 && box.top < innerHeight];
            })()""")
            reached.append(stop)
            if not seen:
                unseen.append(stop)
        assert reached == [str(number) for number in range(expected)]
        assert unseen == []
        assert expected > 60


def test_what_is_folded_unfolds_by_key(live: Tab) -> None:
    """And folds again."""
    live.ask("document.querySelector('figure details').open = false")
    for key, opened in (("Enter", True), (" ", False)):
        live.ask("document.querySelector('figure details > summary').focus()")
        live.press(key)
        drawn(live)
        assert live.ask("document.querySelector('figure details').open") is opened


def test_nothing_moves_for_those_who_asked_for_no_motion(live: Tab) -> None:
    """The page jumps where it would glide."""
    moving = "getComputedStyle(document.documentElement).scrollBehavior"
    looked_at(live, Look(), features=STILL)
    assert live.ask(moving) == "auto"
    looked_at(live, Look())
    assert live.ask(moving) == "smooth"


def test_forced_colours_keep_what_colours_told(live: Tab) -> None:
    """A pressed button has another border, a flaw keeps its line, and focus is outlined."""
    looked_at(live, Look(), features=(("forced-colors", "active"),))
    live.ask("document.querySelector('.legend button').focus()")
    live.press("Enter")
    drawn(live)
    looks = live.ask("""[...document.querySelectorAll('.legend button')].slice(0, 2)
        .map(each => [getComputedStyle(each).borderTopColor, getComputedStyle(each).borderTopWidth,
                      getComputedStyle(each).fontWeight].join())""")
    live.press("Enter")
    assert looks[0] != looks[1]
    assert live.ask("getComputedStyle(document.querySelector('.flaws')).borderLeftWidth") == "3px"
    looked_at(live, Look())
