"""The live page in a browser: for everyone, after a reload, a lost connection and the end."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.cli.talk.page import LiveFeed
from stithy.run import events
from stithy.run.live import LiveRun
from support.axe import violations
from support.browser import Browser, Look, Tab, tab
from support.live_run import (
    BEGUN,
    CANDIDATES,
    ENDED,
    pass_window,
    plan_window,
    serve_run,
    watch_fault,
)
from support.looking import drawn
from support.planted import NAMES, TEXT, TRACE

pytestmark = pytest.mark.needs_browser
LOOKS = [
    pytest.param(Look(width=width, dark=dark), id=f"{width}-{'dark' if dark else 'light'}",
                 marks=() if dark == (width == 320) else pytest.mark.long)
    for width in (320, 1600) for dark in (False, True)
]  # fmt: skip
POINTS = """[...document.querySelectorAll("[data-plot=rate] path[fill=none]")]
    .map(path => path.getAttribute("d").split(/[ML]/).length - 1)"""
LINK = "document.querySelector('#link').textContent"


def _wait(page: Tab, condition: Callable[[], object]) -> None:
    """Wait until something of the page is so."""
    until_s = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until_s, page.ask("document.body.innerText")
        page.ask("new Promise(done => setTimeout(done, 20))")
    drawn(page)


def _open(page: Tab, address: str) -> None:
    page.open(address)
    _wait(page, lambda: "Live" in page.ask(LINK))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A run in the middle of a fault."""
    with serve_run(watch_fault(FakeClock())) as (served, _):
        yield served


@pytest.mark.parametrize("look", LOOKS)
def test_everyone_can_read_it_at_any_width(
    browser: Browser, address: str, look: Look, pictures: Path | None
) -> None:
    """Nothing sticks out, axe finds nothing, every stop of the keyboard is seen, nothing is asked
    of anybody else. Long: each width in its other theme.
    """
    with tab(browser, look) as page:
        _open(page, address)
        assert page.ask("document.documentElement.scrollWidth") <= look.width
        assert violations(page) == []
        stops = page.ask("document.querySelectorAll('a[href]:not([hidden]), [tabindex]').length")
        rings = []
        for _ in range(stops):
            page.press("Tab")
            rings.append(page.ask("getComputedStyle(document.activeElement).outlineStyle"))
        assert stops >= 1
        assert set(rings) == {"solid"}
        assert page.complaints == []
        assert {of for of in page.requests if not of.startswith(("data:", address))} == set()
        assert page.ask("document.querySelectorAll('.plots svg path').length") == 16
        if pictures:
            name = f"live-{look.width}-{'dark' if look.dark else 'light'}.png"
            page.picture(pictures / name, whole=True)


def test_a_reload_and_a_lost_connection_lose_nothing(browser: Browser) -> None:
    """What is not fresh says so; the seconds before and after the loss are in one figure."""
    clock = FakeClock()
    live = watch_fault(clock)
    feed, shown = LiveFeed(live, 0.05), "document.querySelector('main').innerText"
    with tab(browser, Look()) as page:
        with serve_run(live, feed=feed) as (address, port):
            _open(page, address)
            before = page.ask(shown)
            assert "w-disk-u4-b0" in before
            _open(page, address)
            assert page.ask(shown) == before
        _wait(page, lambda: "No connection to the run" in page.ask(LINK))
        assert "w-disk-u4-b0" in page.ask(shown)
        assert page.ask(POINTS) == [25, 13]
        pass_window(live, clock, plan_window(CANDIDATES[0], 1), 8)
        with serve_run(live, port, feed=feed):
            _wait(page, lambda: "Live" in page.ask(LINK))
            _wait(page, lambda: page.ask(POINTS) == [8, 13])
        assert "8 of 25" in page.ask(shown)


def test_hours_of_messages_leave_the_page_as_small_as_it_was(browser: Browser) -> None:
    """Elements are replaced, and of a candidate's seconds the last ten minutes are kept."""
    clock = FakeClock()
    live = watch_fault(clock)
    with tab(browser, Look()) as page, serve_run(live, feed=LiveFeed(live, 0.0)) as (address, _):
        _open(page, address)
        counts = []
        for number in range(4):
            pass_window(live, clock, plan_window(CANDIDATES[number % 2], 1), 900)
            _wait(page, lambda: "second 900" in page.ask("document.body.innerText"))
            page.call("HeapProfiler.collectGarbage")
            counts.append(page.ask("document.querySelectorAll('*').length"))
        assert counts[1] == counts[3]
        assert page.ask(POINTS) == [600, 600]


def test_the_end_leaves_the_last_state_and_the_report_to_be_saved(
    browser: Browser, tmp_path: Path
) -> None:
    """Also once the command is no longer there."""
    report = tmp_path / "report.html"
    report.write_text("<p>the report of the run</p>")
    live = watch_fault(FakeClock())
    feed = LiveFeed(live, 0.05)
    with tab(browser, Look()) as page:
        with serve_run(live, feed=feed) as (address, _):
            _open(page, address)
            live.show(replace(ENDED, report=report))
            feed.finish(None)
        _wait(page, lambda: not page.ask("document.querySelector('#report').hidden"))
        shown = page.ask("document.body.innerText")
        for text in ("The run has finished", "disk is better.", "Caution: a caution.", str(report),
                     "this is its last state", "w-disk-u4-b0"):  # fmt: skip
            assert text in shown
        assert violations(page) == []
        saved = tmp_path / "saved"
        page.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(saved))
        page.ask("document.querySelector('#report a').click()")
        name = "demo-20261129T120000Z.html"
        _wait(page, lambda: (saved / name).exists())
        assert (saved / name).read_text() == report.read_text()
        assert page.complaints == []


def test_code_in_any_text_of_a_run_is_shown_and_never_runs(browser: Browser) -> None:
    """In names of candidates, the question, notes, results, reasons, devices and the end."""
    names = (NAMES[0], NAMES[7])
    live = LiveRun(FakeClock(), lambda directory, windows: dict.fromkeys(windows, NAMES[3]))
    live.show(replace(BEGUN, question=TEXT, notes={names[0]: NAMES[2]}, candidates=names))
    live.show(events.Note(NAMES[1]))
    step = plan_window(names[0], 0)
    pass_window(live, FakeClock(), step, 12)
    live.show(events.StepFinished(step, 1.0, NAMES[5]))
    live.show(events.RunEnded("failed", NAMES[6], None, (TEXT,)))
    with tab(browser, Look()) as page, serve_run(live) as (address, _):
        page.open(address)
        _wait(page, lambda: "over" in page.ask(LINK))
        said = " ".join(page.ask("document.body.textContent").split())
        for text in (*names, *NAMES[1:4], *NAMES[5:7], TEXT):
            assert " ".join(text.split()) in said
        assert page.ask(f"globalThis.{TRACE} ?? null") is None
        assert page.complaints == []
        assert {of for of in page.requests if not of.startswith(("data:", address))} == set()
