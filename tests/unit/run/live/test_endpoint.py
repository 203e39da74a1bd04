"""The address of live numbers: which are allowed, what is answered, and that it ends."""

import socket
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from stithy.errors import PreconditionError, UserError
from stithy.exits import Exit
from stithy.run.live.endpoint import Address, endpoint, parse_address

ANY_PORT = Address("127.0.0.1", 0)


def asked(page: str, path: str | None = None, accept: str = "") -> tuple[int, str, str]:
    """Status, content type and text of an answer."""
    parts = urlsplit(page)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.request("GET", path or parts.path, headers={"Accept": accept})
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9464", Address("127.0.0.1", 9464)),
        ("localhost:9464", Address("127.0.0.1", 9464)),
        ("[::1]:9464", Address("::1", 9464)),
    ],
)
def test_addresses_on_loopback_are_taken(text: str, address: Address) -> None:
    """By number, or by the one name that means this machine."""
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["0.0.0.0:9464", "192.168.1.2:9464", "[::]:9464", "8.8.8.8:80"])
def test_addresses_that_other_machines_reach_are_refused(text: str) -> None:
    """The remedy leads there all the same."""
    with pytest.raises(UserError, match="without a password") as raised:
        parse_address(text)
    assert "ssh -L" in raised.value.remedy


@pytest.mark.parametrize(
    "text", ["", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "a:1", "::1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """The message shows one that is."""
    with pytest.raises(UserError, match=r"write it as 127\.0\.0\.1:9464"):
        parse_address(text)


def test_the_page_tells_the_text_of_the_moment_in_the_type_that_is_asked_for() -> None:
    """Prometheus asks for OpenMetrics; a person with curl reads plain text."""
    texts = iter(["one\n", "two\n"])
    with endpoint(ANY_PORT, lambda: next(texts)) as page:
        assert asked(page) == (200, "text/plain; version=0.0.4; charset=utf-8", "one\n")
        kind = "application/openmetrics-text"
        status, told, text = asked(page, accept=f"{kind};version=1.0.0,text/plain;q=0.5")
        assert (status, text) == (200, "two\n")
        assert told.startswith(f"{kind}; version=1.0.0")


def test_there_is_nothing_else() -> None:
    """Any other path is told where the numbers are."""
    with endpoint(ANY_PORT, lambda: "") as page:
        assert asked(page, "/")[0] == 404
        assert asked(page, "/metrics/../secret")[0] == 404


def test_the_end_frees_the_port_whoever_still_listens() -> None:
    """A program that connected and never asked holds up nothing."""
    with endpoint(ANY_PORT, lambda: "") as page:
        parts = urlsplit(page)
        silent = socket.create_connection((parts.hostname, parts.port))
    silent.close()
    with pytest.raises(ConnectionRefusedError):
        asked(page)


def test_a_port_in_use_is_refused_with_exit_code_3() -> None:
    """Whoever has it keeps it."""
    with endpoint(ANY_PORT, lambda: "") as page:
        taken = Address("127.0.0.1", urlsplit(page).port or 0)
        with (
            pytest.raises(PreconditionError, match="address already in use") as raised,
            endpoint(taken, lambda: ""),
        ):
            pass
        assert raised.value.exit == Exit.PRECONDITION
        assert asked(page)[0] == 200
