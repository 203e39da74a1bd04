"""Figures answer the mouse and the keyboard: values on hover, candidates picked, axes zoomed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.browser import Browser, Look, Tab, tab
from support.looking import drawn, enliven

pytestmark = pytest.mark.needs_browser

NAME = "#figure-throughput-by-users"
FIGURE = f"document.querySelector('{NAME}')"
MARKS = f"[...{FIGURE}.querySelectorAll('.stage .mark-symbol path')]"
LEVELS = 4
"""Marks of the levels, on which those of the windows lie: two of each of two candidates."""

PLACES = f"""{MARKS}.map(mark =>
    mark.getAttribute('transform').replace(/\\d+\\.\\d+/g, each => (+each).toFixed(1)))"""
SHADES = f"new Set({MARKS}.map(mark => getComputedStyle(mark).opacity))"


@pytest.fixture
def page(browser: Browser, usual: Path) -> Iterator[Tab]:
    """The usual page as it is at first, with one figure interactive."""
    with tab(browser, Look()) as opened:
        opened.open(usual)
        enliven(opened, NAME)
        opened.ask(f"{FIGURE}.scrollIntoView({{behavior: 'instant'}})")
        drawn(opened)
        yield opened


def _button(page: Tab, words: str) -> str:
    """The button of the figure with these words, as an expression."""
    found = f"[...{FIGURE}.querySelectorAll('button')].find(b => b.innerText.trim() === '{words}')"
    assert page.ask(f"{found} !== undefined"), words
    return found


def _middle(page: Tab, element: str) -> tuple[float, float]:
    box = page.ask(f"(({element}).getBoundingClientRect().toJSON())")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _click(page: Tab, words: str) -> None:
    page.click(*_middle(page, _button(page, words)))
    drawn(page)


def _shades(page: Tab) -> list[float]:
    return sorted(float(each) for each in page.ask(f"[...{SHADES}]"))


def _press(page: Tab, words: str, key: str) -> None:
    page.ask(f"{_button(page, words)}.focus()")
    page.press(key)
    drawn(page)


def test_the_mouse_over_a_window_is_told_its_values(page: Tab) -> None:
    """Candidate, users, value with its unit, block, and whether it is valid."""
    page.point(*_middle(page, f"{MARKS}[{LEVELS}]"))
    drawn(page)
    shown = page.ask("document.querySelector('#vg-tooltip-element.visible')?.innerText ?? ''")
    for word in ("candidate", "disk", "users", "NOPM", "block", "window"):
        assert word in shown


def _act(page: Tab, way: str, words: str) -> list[str]:
    """Use a button by the mouse or a key; where the marks are then."""
    _click(page, words) if way == "mouse" else _press(page, words, way)
    places: list[str] = page.ask(PLACES)
    return places


def test_a_candidate_is_picked_and_let_go(page: Tab) -> None:
    """The others turn pale, the button says that it is pressed; then all is as before."""
    assert _shades(page) == [1.0]
    for way in ("mouse", "Enter", " "):
        for shades, pressed in (([0.12, 1.0], "true"), ([1.0], "false")):
            _act(page, way, "memory")
            assert _shades(page) == shades, way
            said = page.ask(f"{_button(page, 'memory')}.getAttribute('aria-pressed')")
            assert said == pressed, way


def test_an_axis_is_zoomed_moved_and_whole_again(page: Tab) -> None:
    """By buttons, with either hand; what was picked stays picked."""
    whole = page.ask(PLACES)
    _act(page, "mouse", "memory")
    for way in ("mouse", "Enter"):
        _act(page, way, "Zoom")
        _wait_for(page, _has("+"))
        near = _act(page, way, "+")
        assert near != whole
        moved = _act(page, way, "→")
        assert moved not in (near, whole)
        assert _act(page, way, "→") == _act(page, way, "→")  # no further than the whole
        assert _shades(page) == [0.12, 1.0]
        _act(page, way, "−")
        assert _act(page, way, "−") == whole
        _act(page, way, "+")
        _act(page, way, "Zoom")
        _wait_for(page, f"!{_has('+')}")
        assert page.ask(PLACES) == whole
    assert page.complaints == []


def _has(words: str) -> str:
    return (
        f"[...{FIGURE}.querySelectorAll('button')]"
        f".some(b => !b.hidden && b.innerText.trim() === '{words}')"
    )


def _wait_for(page: Tab, state: str) -> None:
    page.ask(f"(async () => {{ while (!({state})) await new Promise(requestAnimationFrame) }})()")


def _wheel(page: Tab) -> dict[str, Any]:
    x, y = _middle(page, f"{FIGURE}.querySelector('.stage svg')")
    page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-120)
    drawn(page)
    return {"places": page.ask(PLACES), "scrolled": page.ask("scrollY")}


def test_the_wheel_scrolls_the_page_until_a_figure_is_to_be_zoomed(page: Tab) -> None:
    """Who reads down the page is not caught by a figure."""
    whole = page.ask(PLACES)
    assert _wheel(page)["places"] == whole
    page.ask(f"{FIGURE}.scrollIntoView({{behavior: 'instant'}})")
    _click(page, "Zoom")
    _wait_for(page, _has("+"))
    assert _wheel(page)["places"] != whole


def test_every_figure_with_an_axis_of_numbers_can_be_zoomed(live: Tab) -> None:
    """Also grids of charts, which zoom together."""
    drawn(live)
    failed = live.ask("""(async () => {
        const failed = [];
        for (const figure of document.querySelectorAll("figure.figure")) {
            const find = words => [...figure.querySelectorAll("button")]
                .find(each => each.innerText.trim() === words);
            if (!find("Zoom")) continue;
            find("Zoom").click();
            while (find("+").hidden) await new Promise(requestAnimationFrame);
            const shape = () => [...figure.querySelectorAll(".stage path, .stage line")]
                .map(each => each.getAttribute("d") + each.getAttribute("transform")).join();
            const before = shape();
            find("+").click();
            await new Promise(requestAnimationFrame);
            if (shape() === before) failed.push(figure.id);
            find("Zoom").click();
            while (!find("+").hidden) await new Promise(requestAnimationFrame);
        }
        return failed;
    })()""")
    assert failed == []
    assert live.complaints == []
