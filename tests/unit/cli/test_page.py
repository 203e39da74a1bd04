"""The live page as programs meet it: who is answered, what is told, and how it ends."""

import gc
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from fakes.clock import FakeClock
from stithy.cli.app import run
from stithy.cli.talk.live_view import describe_live
from stithy.cli.talk.page import STREAMS_MOST, LiveFeed, make_handler, serve_page, watch_run
from stithy.errors import UserError
from stithy.run import events
from stithy.run.live import HAPPENED_MOST, SECONDS_MOST, LiveRun
from stithy.run.serving import Address, LiveServer, serve
from stithy.secrets import Secret
from support.live_run import (
    BEGUN,
    CANDIDATES,
    ENDED,
    pass_window,
    plan_window,
    serve_run,
    watch_fault,
)

Captured = pytest.CaptureFixture[str]
TOKEN = "a-token-of-this-test"


@contextmanager
def _ask(port: int, path: str, method: str = "GET", **headers: str) -> Iterator[HTTPResponse]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request(method, path, headers=named)
        yield connection.getresponse()
    finally:
        connection.close()


def _find_status(port: int, path: str, method: str = "GET", **headers: str) -> int:
    with _ask(port, path, method, **headers) as answer:
        return answer.status


def _hear(answer: HTTPResponse) -> tuple[str, dict[str, Any]]:
    """The id and the content of the next message."""
    key, data, empty = (answer.readline().decode() for _ in range(3))
    assert empty == "\n"
    told: dict[str, Any] = json.loads(data.removeprefix("data: "))
    return key.removeprefix("id: ").strip(), told


def test_a_page_that_comes_back_is_told_only_what_it_missed() -> None:
    """All at first; of another server's ids nothing is believed."""
    clock = FakeClock()
    live = watch_fault(clock)
    with serve_run(live) as (_, port):
        with _ask(port, "/events") as answer:
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            key, told = _hear(answer)
            assert (told["from"], len(told["seconds"])) == (0, 25 + 13)
            assert told["view"]["invalid"] == [["w-disk-u4-b0", "driver late, errors"]]
            assert told["view"]["phases"] == [["fault", "10.0 s", "now", "drive-gone"]]
            pass_window(live, clock, plan_window(CANDIDATES[0], 1), 2)
        with _ask(port, "/events", Last_Event_ID=key) as answer:
            _, told = _hear(answer)
            rates = [second[:3] for second in told["seconds"]]
            assert rates == [[0, 3, 0], [0, 3, 1]]
            assert told["view"]["phases"] == []
        for unknown in ("another-5", key + "x", "²"):
            with _ask(port, "/events", Last_Event_ID=unknown.encode().decode("latin-1")) as answer:
                assert _hear(answer)[1]["from"] == 0


def test_only_what_reads_is_answered_by_its_own_address_and_nothing_else_is_there() -> None:
    """A page of the web, led here by a name of its own, reads nothing; nor do other origins."""
    with serve_run(watch_fault(FakeClock())) as (_, port):
        assert [_find_status(port, path) for path in ("/", "/report", "//[x")] == [200, 404, 404]
        assert [_find_status(port, "/", word) for word in ("POST", "PUT", "OPTIONS")] == [501] * 3
        for host, status in (
            ("evil.example", 403), (f"evil.example:{port}", 403), ("", 403), ("[", 403),
            ("localhost:9", 200), (f"[::1]:{port}", 200), (f"127.0.0.1:{port}", 200),
        ):  # fmt: skip
            assert _find_status(port, "/", Host=host) == status, host
        assert _find_status(port, "/events", "HEAD", Origin="http://evil.example") == 403
        assert _find_status(port, "/events", "HEAD", Origin=f"http://127.0.0.1:{port}") == 200
        with _ask(port, "/") as answer:
            policy, body = answer.headers["Content-Security-Policy"], answer.read().decode()
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http:" not in body.replace("http://www.w3.org/2000/svg", "")
        with _ask(port, "/", "HEAD") as answer:
            assert (int(answer.headers["Content-Length"]), answer.read()) == (
                len(body.encode()), b"",
            )  # fmt: skip


def test_where_others_reach_it_nothing_is_read_without_the_token() -> None:
    """It is printed once, and leaves the address bar for a cookie of this port."""
    feed = LiveFeed(watch_fault(FakeClock()))
    handler = make_handler(feed, Secret(TOKEN))
    with serve(LiveServer(Address("127.0.0.1", 0), handler), "guarded") as at:
        port = at.port
        for path in ("/", "/events", "/report", "/?token=wrong", "/?token=", "/?token=%C3%A9"):
            assert _find_status(port, path) == 401, path
        with _ask(port, f"/?token={TOKEN}") as answer:
            assert (answer.status, answer.headers["Location"]) == (303, "/")
            kept = answer.headers["Set-Cookie"]
        assert "HttpOnly" in kept
        cookie = kept.split(";")[0]
        assert _find_status(port, "/", Cookie=cookie) == 200
        assert _find_status(port, "/", Authorization=f"Bearer {TOKEN}") == 200
        assert _find_status(port, "/", Cookie=cookie[:-1]) == 401
        assert _find_status(port, "/", Cookie=f"stithy-1={TOKEN}") == 401
        assert _find_status(port, "/", Host="evil.example", Cookie=cookie) == 403
        assert _find_status(port, "/", Host=socket.gethostname(), Cookie=cookie) == 200
    live = watch_fault(FakeClock())
    with serve_page("0.0.0.0:0", live) as address:
        assert len(address.partition("/?token=")[2]) >= 32
        token = address.partition("=")[2]
    assert token not in json.dumps(describe_live(live))


def test_addresses_and_ports_are_refused_before_anything_is_made(
    tmp_path: Path, capsys: Captured
) -> None:
    """With the option and what to do, by `run` and `resume` alike."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = f"127.0.0.1:{taken.getsockname()[1]}"
        for command, address, code, remedy in (
            ("run", used, 3, "ss -ltnp"), ("resume", used, 3, "name another port"),
            ("run", "8080", 2, "write it as 127.0.0.1:8080"), ("run", "host:1", 2, "write it as"),
        ):  # fmt: skip
            assert run([command, str(tmp_path / "gone"), "--page", address]) == code
            shown = capsys.readouterr().err
            assert f"--page {address}" in shown
            assert remedy in " ".join(shown.split())
    assert list(tmp_path.iterdir()) == []


def test_as_many_pages_as_may_be_are_fed_and_one_that_left_makes_room() -> None:
    """The others are told so."""
    feed = LiveFeed(watch_fault(FakeClock()))
    admitted = [feed.admit() for _ in range(STREAMS_MOST)]
    assert all(each.__enter__() for each in admitted)
    with feed.admit() as has_room:
        assert not has_room
    admitted[0].__exit__(None, None, None)
    with feed.admit() as has_room:
        assert has_room


def test_the_command_waits_for_pages_to_have_the_end_and_the_report(tmp_path: Path) -> None:
    """A page that takes it late is waited for, and one that never does only for a while."""
    report = tmp_path / "report.html"
    report.write_text("<p>the report</p>")
    live = watch_fault(FakeClock())
    with serve_run(live) as (_, port), _ask(port, "/events") as answer:
        _hear(answer)
        live.show(events.RunEnded("failed", "error: no room", report, ("disk is better.",)))
        while not (view := _hear(answer)[1]["view"])["ended"]:
            pass
        assert (view["ended"], view["error"]) == ("The run has failed", "error: no room")
        assert (view["path"], answer.read()) == (str(report), b"")
        with _ask(port, "/report") as taken:
            assert taken.read() == report.read_bytes()
    waited = LiveFeed(watch_fault(FakeClock()), 0.0)
    taker = Thread(target=lambda: [*waited.follow("")])
    with waited.admit():
        waited.finish("it broke", patience_s=0.05)  # nobody reads: not for ever
    taker.start()
    taker.join(30)
    assert not taker.is_alive()


def test_what_ends_a_command_is_told_to_pages(tmp_path: Path, capsys: Captured) -> None:
    """Also where the run itself cannot say it any more; without an address nothing is served."""
    with watch_run(None, None) as heard:
        heard(ENDED)
    with pytest.raises(UserError), watch_run(None, "127.0.0.1:0"):
        raise UserError("no such study", where="x", remedy="name one")
    assert "live page: http://127.0.0.1:" in capsys.readouterr().err


def test_eight_hours_need_no_more_memory_than_one() -> None:
    """By a clock that is told to pass: what is kept and what a page is told are bounded."""
    clock = FakeClock()
    live = LiveRun(clock, lambda directory, windows: {})
    feed = LiveFeed(live)
    sizes, told = [], []
    live.show(BEGUN)
    for hour in range(8):
        for number in range(6):
            step = plan_window(CANDIDATES[number % 2], 6 * hour + number)
            live.show(events.Note("the machine was busy"))
            pass_window(live, clock, step, 600)
            live.show(events.StepFinished(step, 600.0, "90,000 NOPM"))
        told.append(len(next(feed.follow(""))))
        gc.collect()
        sizes.append(len(gc.get_objects()))
    with live.hold() as state:
        assert all(len(kept) == SECONDS_MOST for kept in state.seconds.values())
        assert len(state.happened) == HAPPENED_MOST
    assert told[7] - told[5] < 100
    assert sizes[7] - sizes[5] < 48, sizes
