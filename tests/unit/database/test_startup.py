"""How a session with PostgreSQL begins: ways of encrypting, proofs of the password, options."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.errors import InfrastructureError, PreconditionError, StithyError
from stithy.secrets import Secret

CERTIFICATE = Path(__file__).resolve().parents[2] / "data" / "tls" / "server.pem"
SSL_REQUEST = bytes.fromhex("00000008 04d2162f")
PATIENCE_S = 5


def message(kind: bytes, body: bytes) -> bytes:
    """A message of the server."""
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def refusal(state: str, text: str) -> bytes:
    """An error."""
    return message(b"E", f"SFATAL\0C{state}\0M{text}\0\0".encode())


def asks(kind: int, data: bytes = b"") -> bytes:
    """A request for a proof."""
    return message(b"R", kind.to_bytes(4, "big") + data)


PLUS, SCRAM = b"SCRAM-SHA-256-PLUS\0", b"SCRAM-SHA-256\0"
TRUSTS, CLEAR, MD5 = asks(0), asks(3), asks(5, b"salt")
NOT_ADMITTED = refusal("28000", "no entry in pg_hba.conf")
NO_PLACE = refusal("3D000", "no such place")
NO_HANDSHAKE = b""
"""The server agrees to encrypt and then does not."""


@dataclass
class Heard:
    """What one connection said: encrypted or not, at its start, and when it was asked."""

    encrypted: bool = False
    start: bytes = b""
    answer: bytes = b""


@dataclass
class Server:
    """Says one thing to each connection, in turn."""

    port: int
    has_tls: bool
    heard: list[Heard] = field(default_factory=list)

    def url(self, options: str) -> Secret:
        """The password is `hush`."""
        return Secret(f"postgresql://me:hush@localhost:{self.port}/shop?{options}")

    def serve(self, waiting: socket.socket, says: Sequence[bytes]) -> None:
        """As long as there is something to say."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        for each in says:
            opened, _ = waiting.accept()
            opened.settimeout(PATIENCE_S)
            self.heard.append(Heard())
            with suppress(OSError):
                self._talk(opened, context, each)
            opened.close()

    def _talk(self, opened: socket.socket, context: ssl.SSLContext, says: bytes) -> None:
        heard = self.heard[-1]
        heard.start = opened.recv(1024)
        if heard.start == SSL_REQUEST:
            opened.sendall(b"S" if self.has_tls else b"N")
            if self.has_tls and says is NO_HANDSHAKE:
                opened.sendall(b"nonsense")
                return
            if self.has_tls:
                opened = context.wrap_socket(opened, server_side=True)
                heard.encrypted = True
            heard.start = opened.recv(1024)
        with opened:
            opened.sendall(says)
            while part := opened.recv(1024):
                heard.answer += part


@contextmanager
def server(*says: bytes, has_tls: bool = True) -> Iterator[Server]:
    """A server on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as waiting:
        waiting.settimeout(PATIENCE_S)
        made = Server(waiting.getsockname()[1], has_tls)
        serving = threading.Thread(target=made.serve, args=(waiting, says))
        serving.start()
        try:
            yield made
        finally:
            serving.join()


@pytest.mark.parametrize(
    ("mode", "says", "encrypted"),
    [
        ("disable", [NO_PLACE], [False]),
        ("allow", [NO_PLACE], [False]),
        ("allow", [NOT_ADMITTED, NO_PLACE], [False, True]),
        ("prefer", [NO_PLACE], [True]),
        ("prefer", [NOT_ADMITTED, NO_PLACE], [True, False]),
        ("prefer", [NO_HANDSHAKE, NO_PLACE], [False, False]),
        ("require", [NO_PLACE], [True]),
    ],
)
def test_another_way_is_tried_where_the_server_admits_only_that(
    mode: str, says: list[bytes], encrypted: list[bool]
) -> None:
    """As libpq and the hammer do; what the last one meets is reported."""
    with server(*says) as there, pytest.raises(PreconditionError, match="no such place"):
        connect(parse_url(there.url(f"sslmode={mode}")))
    assert [each.encrypted for each in there.heard] == encrypted


def test_no_other_way_is_tried_where_the_url_names_one() -> None:
    """Where it names two, the last is the end."""
    for mode, says in (
        ("disable", [NOT_ADMITTED]), ("require", [NOT_ADMITTED]),
        ("allow", [NOT_ADMITTED, NOT_ADMITTED]),
    ):  # fmt: skip
        with server(*says) as there, pytest.raises(PreconditionError, match="no entry"):
            connect(parse_url(there.url(f"sslmode={mode}")))
        assert len(there.heard) == len(says)


@pytest.mark.parametrize(
    ("says", "has_tls"),
    [
        *((each, True) for each in (TRUSTS, CLEAR, MD5, asks(10, SCRAM + b"\0"), asks(11, b"r="))),
        (CLEAR, False),
        (asks(10, PLUS + SCRAM + b"\0"), False),
    ],
)
def test_no_password_leaves_before_the_binding_is_sure(says: bytes, *, has_tls: bool) -> None:
    """Whatever else the server asks for: it may be another one."""
    with server(says, has_tls=has_tls) as there, pytest.raises(
        PreconditionError, match="cannot bind the password to the TLS connection"
    ):  # fmt: skip
        connect(parse_url(there.url("channel_binding=require")))
    [heard] = there.heard
    assert heard.encrypted == has_tls
    assert heard.answer.removeprefix(b"X\0\0\0\4") == b""


def test_the_server_proves_that_it_knows_a_bound_password() -> None:
    """One that trusts in the middle of the proof is refused, and one that proves nonsense."""
    bound = asks(10, PLUS + SCRAM + b"\0")
    for rest, kind in ((TRUSTS, PreconditionError), (asks(11, b"nonsense"), InfrastructureError)):
        with server(bound + rest) as there, pytest.raises(StithyError) as caught:
            connect(parse_url(there.url("channel_binding=require")))
        assert type(caught.value) is kind
        assert PLUS in there.heard[0].answer
        assert b"p=tls-server-end-point," in there.heard[0].answer


@pytest.mark.parametrize(
    ("binding", "says", "answer"),
    [
        ("prefer", CLEAR, b"hush\0"),
        ("prefer", asks(10, PLUS + SCRAM + b"\0"), b"p=tls-server-end-point,"),
        ("prefer", asks(10, SCRAM + b"\0"), b"y,,"),
        ("disable", asks(10, PLUS + SCRAM + b"\0"), b"n,,"),
    ],
)
def test_a_binding_is_made_where_it_can_be(binding: str, says: bytes, answer: bytes) -> None:
    """Unless the URL forbids it. Source: RFC 5802, section 6."""
    with server(says + NO_PLACE) as there, pytest.raises(PreconditionError, match="no such place"):
        connect(parse_url(there.url(f"channel_binding={binding}")))
    assert answer in there.heard[0].answer


def test_options_of_the_url_reach_the_server() -> None:
    """Percent-encoded, and a plus is a plus; those that change where a table is found, too."""
    with server(NO_PLACE) as there, pytest.raises(PreconditionError):
        connect(parse_url(there.url("options=-csearch_path%3Da+b%20-cwork_mem%3D1MB")))
    assert b"\0options\0-csearch_path=a+b -cwork_mem=1MB\0" in there.heard[0].start


def test_a_silent_server_is_given_up_after_the_time_of_the_url() -> None:
    """Not after that of each answer, which is longer."""
    began_s = time.monotonic()
    with server(b"") as there, pytest.raises(InfrastructureError, match="no answer in time"):
        connect(parse_url(there.url("sslmode=disable&connect_timeout=1")))
    assert 1 <= time.monotonic() - began_s < PATIENCE_S
