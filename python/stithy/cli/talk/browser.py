"""A page shown in the person's own browser, which is no process of ours: nothing depends on it."""

import webbrowser
from contextlib import suppress
from pathlib import Path

from stithy.errors import PreconditionError
from stithy.hosts.runner import Command, LocalRunner, ended_within

IN_TERMINAL = frozenset({"www-browser", "links", "elinks", "lynx", "w3m"})
"""Browsers that would take the terminal over, which nobody has asked for."""

PATIENCE_S = 5.0
"""How long a program of the desktop may take to fail; one that runs on by then has opened it."""


def opened(page: Path, patience_s: float = PATIENCE_S) -> bool:
    """Whether a browser with windows took the page.

    It is not waited for, but for a program in BROWSER that Python does not know: its exit code
    tells whether it opened.
    """
    with suppress(webbrowser.Error, PreconditionError):
        browser = webbrowser.get()
        if Path(getattr(browser, "name", "")).name in IN_TERMINAL:
            return False
        address = page.resolve().as_uri()
        if isinstance(browser, webbrowser.BackgroundBrowser):
            return _handed_over(browser, address, patience_s)
        return browser.open(address)
    return False


def _handed_over(browser: webbrowser.BackgroundBrowser, address: str, patience_s: float) -> bool:
    # Python takes such a program for failed once it has ended, as xdg-open does as soon as it has
    # handed the address over; and it lets the program write into our output.
    words = [browser.name, *(each.replace("%s", address) for each in browser.args)]
    started = LocalRunner().start(Command(words, detached=True))
    return ended_within(started, patience_s) in {0, None}
