"""Who watches a run from outside: a monitoring system, and people by a page in their browsers.

Both read the same state, which the run's events alone make. Nothing waits for whoever watches: one
who reads slowly misses states in between, and is left after a while.
"""

import json
import math
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from stithy.cli.talk.render import say
from stithy.clock import SystemClock
from stithy.errors import StithyError
from stithy.run.events import Observer, RunEnded

if TYPE_CHECKING:
    from stithy.run.live import LiveRun
    from stithy.run.serving import LiveHandler
    from stithy.secrets import Secret

HTML_TYPE = "text/html; charset=utf-8"
EXAMPLE = "127.0.0.1:8080"
STREAMS_MOST = 16
"""Own: so many pages are fed at once; one more is told to come later."""
PERIOD_S = 1.0
"""No page is told more often."""
HEARTBEAT_S = 5.0
"""A page is told at least so often: its time left is right, and a lost connection is noticed."""
FAREWELL_S = 10.0
"""Own: for pages that are open to read the last state and the report before the command ends."""
BUG = "An error of Stithy's own ended it: the terminal of the command says more."


@contextmanager
def watch_run(metrics: str | None, page: str | None) -> Iterator[Observer]:
    """Inside, what is observed is served at these addresses; None: nothing is.

    Raises UserError for an address that is wrong, or that others reach where they must not, and
    PreconditionError for a port that cannot be had.
    """
    if metrics is None and page is None:
        yield lambda event: None
        return
    # Servers that hardly anybody asks for.
    from stithy.run.deciders import find_invalid
    from stithy.run.live import LiveRun
    from stithy.run.live_numbers import require_loopback, serve_numbers, write_numbers
    from stithy.run.serving import parse_address

    live = LiveRun(SystemClock(), find_invalid)
    with ExitStack() as stack:
        if metrics is not None:
            address = require_loopback(parse_address(metrics))
            numbers = serve_numbers(address, lambda: write_numbers(live))
            say(f"live numbers: {stack.enter_context(numbers)}")
        if page is not None:
            say(f"live page: {stack.enter_context(serve_page(page, live))}")
        yield live.show


class LiveFeed:
    """What pages are told: the whole state at first, then what has changed."""

    def __init__(self, live: "LiveRun", period_s: float = PERIOD_S) -> None:
        """`period_s`: how long a page is told nothing after it was told something."""
        self._live = live
        self._period_s = period_s
        self._session = secrets.token_hex(4)
        self._view: tuple[tuple[int, int], dict[str, Any]] | None = None
        self._change = threading.Condition()
        self._streams = self._owed = 0

    def follow(self, last_id: str) -> Iterator[bytes]:
        """Yield messages of server-sent events, until the run is over.

        `last_id`: of the last one that a page had, which is told only what came after it.
        """
        session, _, known = last_id.partition("-")
        is_known = session == self._session and known.isascii() and known.isdecimal()
        since, version = int(known) if is_known else 0, -1
        while True:
            version = self._live.wait(version, HEARTBEAT_S)
            message, since, ended = self._make_message(since, version)
            with self._change:
                self._owed += ended is not None and ended.report is not None
            yield message
            if ended is not None:
                return
            time.sleep(self._period_s)

    def _make_message(self, since: int, version: int) -> tuple[bytes, int, RunEnded | None]:
        from stithy.cli.talk.live_view import describe_live

        moment = (version, math.floor(self._live.clock.monotonic_s()))
        if self._view is None or self._view[0] != moment:
            self._view = moment, describe_live(self._live)
        with self._live.hold() as state:
            names = {
                name: at for at, name in enumerate(state.begun.candidates if state.begun else ())
            }
            seconds = [
                [names[name], second.window, passed.second, passed.rate,
                 passed.p50_s, passed.p95_s, passed.p99_s]
                for name, kept in state.seconds.items() if name in names
                for second in kept if second.sequence > since
                for passed in (second.passed,)
            ]  # fmt: skip
            ended = state.ended
            last = max((kept[-1].sequence for kept in state.seconds.values()), default=since)
        told = {"from": since, "view": self._view[1], "seconds": seconds}
        text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        return f"id: {self._session}-{last}\ndata: {text}\n\n".encode(), last, ended

    @contextmanager
    def admit(self) -> Iterator[bool]:
        """Inside, one more page is fed; False where there is no room for it."""
        with self._change:
            has_room = self._streams < STREAMS_MOST
            self._streams += has_room
        try:
            yield has_room
        finally:
            with self._change:
                self._streams -= has_room
                self._change.notify_all()

    def read_report(self) -> bytes | None:
        """Read the report; None where there is none yet."""
        with self._live.hold() as state:
            report = state.ended and state.ended.report
        return report.read_bytes() if report else None

    def hand_over(self) -> None:
        """Note that a page has the report."""
        with self._change:
            self._owed -= 1
            self._change.notify_all()

    def finish(self, error: str | None, patience_s: float = FAREWELL_S) -> None:
        """Tell the end where nobody has, and wait until every page has it, and the report."""
        with self._live.hold() as state:
            is_told = state.ended is not None
        if not is_told:
            self._live.show(RunEnded("failed", error))
        with self._change:
            self._change.wait_for(lambda: self._streams == 0 and self._owed <= 0, patience_s)


@contextmanager
def serve_page(text: str, live: "LiveRun") -> Iterator[str]:
    """Inside, the page of a run is served; gives its address, with a token where others reach it.

    Raises UserError for what is not an address, and PreconditionError for a port that cannot be
    had.
    """
    from stithy.run.serving import LiveServer, parse_address, serve
    from stithy.secrets import generate_password

    address = parse_address(text, "--page", EXAMPLE)
    feed, token = LiveFeed(live), None if address.is_loopback else generate_password()
    server = LiveServer(address, make_handler(feed, token))
    with serve(server, "live page") as at:
        error: str | None = BUG
        try:
            if token is None:
                yield f"http://{at}/"
            else:
                everywhere = at.host in ("0.0.0.0", "::")  # any of its addresses: known by name
                host = f"{socket.gethostname()}:{at.port}" if everywhere else str(at)
                yield f"http://{host}/?token={token.reveal()}"
        except StithyError as raised:
            error = str(raised)
            raise
        finally:
            feed.finish(error)


def make_handler(feed: LiveFeed, token: "Secret | None") -> "type[LiveHandler]":
    """Make what answers browsers: the page, its events, and the report once it is there.

    Of the page only its own script and style act, and it asks nobody but who served it.
    """
    from markupsafe import Markup

    from stithy.report.formats.html import hash_source, load_template, make_styles, read_asset
    from stithy.run.serving import TEXT_TYPE, LiveHandler

    styles, script = make_styles("page.css", "live.css"), Markup(read_asset("live.js"))
    policy = (
        f"default-src 'none'; script-src {hash_source(script)}; style-src {hash_source(styles)}; "
        "font-src data:; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    page = load_template("live.html").render(styles=styles, script=script).encode()

    class PageHandler(LiveHandler):
        """Answers one browser."""

        def tell(self, path: str) -> None:
            if path == "/":
                self.answer(200, HTML_TYPE, page, Content_Security_Policy=policy)
            elif path == "/events":
                self._stream()
            elif path == "/report" and (report := feed.read_report()) is not None:
                self.answer(200, HTML_TYPE, report)
                if self.command == "GET":
                    feed.hand_over()
            else:
                self.answer(404, TEXT_TYPE, b"the page is at /\n")

        def _stream(self) -> None:
            with feed.admit() as has_room:
                if not has_room:
                    self.answer(503, TEXT_TYPE, b"as many pages as can be fed are open\n")
                    return
                self.begin(200, "text/event-stream; charset=utf-8")
                if self.command == "HEAD":
                    return
                for message in feed.follow(self.headers.get("Last-Event-ID", "")):
                    self.wfile.write(message)

    PageHandler.token = token
    return PageHandler
