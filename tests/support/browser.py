"""Headless Chromium on a leash: starts it, opens pages, and tells what they did.

Speaks the DevTools protocol (chromedevtools.github.io/devtools-protocol) as JSON messages, each
with a zero byte at its end, on two pipes. No port is opened, and nothing but files is loaded.
"""

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 120.0
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip

# Chromium reads what it is asked on file 3 and answers on file 4. The two are put there by a
# process of their own, because between fork and exec Python itself may need those numbers.
_LEASH = (
    "import fcntl, os, sys\n"
    "asked, answers = (fcntl.fcntl(int(n), fcntl.F_DUPFD_CLOEXEC, 10) for n in sys.argv[1:3])\n"
    "os.dup2(asked, 3), os.dup2(answers, 4)\n"
    "os.execv(sys.argv[3], sys.argv[3:])\n"
)

Message = dict[str, Any]


def program() -> str | None:
    """Where Chromium is, None where it is not."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Browser:
    """One Chromium with an empty profile in a directory that it may fill; ended by `close`."""

    def __init__(self, profile: Path) -> None:
        """Start it; the first call waits until it is ready."""
        path = program()
        assert path is not None, "needs the mark needs_browser"
        asked, self._ask = os.pipe()
        self._answers, answers = os.pipe()
        leash = [sys.executable, "-S", "-c", _LEASH, str(asked), str(answers), path, *FLAGS]
        self._process = subprocess.Popen(
            [*leash, f"--user-data-dir={profile}"],
            pass_fds=(asked, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(asked)
        os.close(answers)
        fcntl.fcntl(self._answers, fcntl.F_SETFL, os.O_NONBLOCK)
        self._number = 0
        self._unread = b""
        self.tabs: dict[str, Tab] = {}

    def call(self, method: str, session: str = "", **parameters: Any) -> Message:
        """What the browser answers; what pages do meanwhile goes to their tabs."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": parameters}
        message = json.dumps(asked | ({"sessionId": session} if session else {}))
        _write(self._ask, message.encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: Message = answer["result"]
                return result

    def tell(self, method: str, session: str, **parameters: Any) -> None:
        """Ask without waiting for the answer, which nobody reads."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": parameters, "sessionId": session}
        _write(self._ask, json.dumps(asked).encode() + b"\0")

    def next_message(self) -> Message:
        """The next answer or event; an event is told to its tab first."""
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE_S)
            assert ready, f"the browser said nothing for {PATIENCE_S:.0f} s"
            piece = os.read(self._answers, 1 << 20)
            assert piece, "the browser has ended"
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\0")
        message: Message = json.loads(line)
        if tab := self.tabs.get(message.get("sessionId", "")):
            tab.hear(message)
        return message

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()
        os.close(self._ask)
        os.close(self._answers)


def _write(pipe: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(pipe, view) :]


@dataclass(frozen=True)
class Look:
    """How a page is looked at; `scripts` False is a browser without JavaScript."""

    width: int = 1280
    height: int = 900
    dark: bool = False
    scripts: bool = True
    media: str = ""
    features: tuple[tuple[str, str], ...] = ()


@dataclass
class Tab:
    """One open page, what it complained of and what it asked for."""

    browser: Browser
    session: str
    target: str
    look: Look = field(default_factory=Look)
    loads: int = 0
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def call(self, method: str, **parameters: Any) -> Message:
        """What the browser answers to a call on this page."""
        return self.browser.call(method, self.session, **parameters)

    def hear(self, message: Message) -> None:
        """Keep what matters of an event."""
        values = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self.loads += 1
            case "Runtime.exceptionThrown":
                details = values["exceptionDetails"]
                said = details.get("exception", {}).get("description", "")
                self.complaints.append(f"{details['text']} {said}")
            case "Runtime.consoleAPICalled" if values["type"] in ("error", "warning", "assert"):
                said = [str(each.get("value", each.get("description"))) for each in values["args"]]
                self.complaints.append(" ".join(said))
            case "Page.javascriptDialogOpening":
                self.complaints.append(f"a dialog: {values['message']}")
                self.browser.tell("Page.handleJavaScriptDialog", self.session, accept=False)
            case "Log.entryAdded":
                self.complaints.append(values["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(values["request"]["url"])

    def seen(self, look: Look) -> None:
        """Look at the page in another way."""
        self.look = look
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=look.width, height=look.height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = ("prefers-color-scheme", "dark" if look.dark else "light")
        features = [{"name": name, "value": value} for name, value in (scheme, *look.features)]
        self.call("Emulation.setEmulatedMedia", media=look.media, features=features)
        self.call("Emulation.setScriptExecutionDisabled", value=not look.scripts)

    def open(self, page: Path | str) -> None:
        """Load the page and wait until all of it is there."""
        before = self.loads
        self.call("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while self.loads == before:
            self.browser.next_message()

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate",
            expression=expression, returnByValue=True, awaitPromise=True,
        )  # fmt: skip
        assert "exceptionDetails" not in answer, (expression[:300], answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key: str, *, code: int = 0, text: str = "", shift: bool = False) -> None:
        """Press and release a key."""
        known = {"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27}
        number = code or known.get(key, 0)
        typed = text or {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=number,
                modifiers=8 if shift else 0, **({"text": typed} if typed else {}),
            )  # fmt: skip

    def point(self, x: float, y: float) -> None:
        """Move the mouse to a place of the view."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """Click with the left button at a place of the view."""
        self.point(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path, *, whole: bool = False) -> Path:
        """A PNG of the view, or of the whole page."""
        size = {}
        if whole:
            content = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "scale": 1}
            size = {"clip": clip | {k: content[k] for k in ("width", "height")}}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **size)
        path.write_bytes(b64decode(shot["data"]))
        return path

    def paper(self) -> bytes:
        """The page as PDF, as the browser prints it on A4."""
        printed = self.call(
            "Page.printToPDF",
            paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True, printBackground=True,
        )  # fmt: skip
        return b64decode(printed["data"])


@contextmanager
def tab(browser: Browser, look: Look) -> Iterator[Tab]:
    """A new page of the browser, closed in the end."""
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    opened = browser.tabs[session] = Tab(browser, session, target)
    for domain in ("Page", "Runtime", "Log", "Network"):
        opened.call(f"{domain}.enable")
    opened.seen(look)
    try:
        yield opened
    finally:
        browser.call("Target.closeTarget", targetId=target)
        del browser.tabs[session]
