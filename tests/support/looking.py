"""The ways in which a report's page is looked at, and waiting until it is as it will be."""

from dataclasses import replace
from typing import Any

import pytest

from support.browser import Look, Tab

USUAL = {(390, True), (1280, False)}
"""The widths and themes that each run of the tests looks at; the others are `long`."""

LOOKS = [
    pytest.param(
        Look(width=width, dark=dark),
        id=f"{width}-{'dark' if dark else 'light'}",
        marks=() if (width, dark) in USUAL else pytest.mark.long,
    )
    for width in (390, 1280, 1920)
    for dark in (False, True)
]


def enliven(page: Tab, which: str = "figure.figure") -> None:
    """Bring figures into view, and wait until each is interactive or has refused to be."""
    page.call("Page.bringToFront")
    page.ask(f"""(async figures => {{
        for (const figure of figures) {{
            figure.scrollIntoView({{behavior: "instant"}});
            while (!figure.dataset.state) await new Promise(requestAnimationFrame);
        }}
        scrollTo({{top: 0, behavior: "instant"}});
    }})(document.querySelectorAll("{which}"))""")


def looked_at(page: Tab, look: Look, **changes: Any) -> None:
    """Look in another way, and wait until that is laid out."""
    page.seen(replace(look, **changes))
    drawn(page)


def drawn(page: Tab) -> None:
    """Wait until what was done to the page is to be seen; no frames are made of a page behind."""
    page.call("Page.bringToFront")
    page.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
