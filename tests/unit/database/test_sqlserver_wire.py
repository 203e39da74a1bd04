"""How a connection to a SQL Server begins: who encrypts what, and what is said where it fails."""

import socket
import ssl
import struct
import threading
from pathlib import Path

import pytest

from stithy.engines.sqlserver.connection import connect, find_encryption
from stithy.engines.sqlserver.given import parse_url
from stithy.errors import InfrastructureError, PreconditionError, StithyError
from stithy.secrets import Secret

TLS = Path(__file__).resolve().parents[2] / "data" / "tls"
ROOT = f"ca={TLS}/server.pem"
OFF, ON, NONE = 0, 1, 2
PRELOGIN, REPLY, LOGIN = 0x12, 0x04, 0x10
PATIENCE_S = 5


def make_refusal(number: int, text: str) -> bytes:
    """The tokens of an error, and of the end."""
    words = text.encode("utf-16-le")
    error = struct.pack("<iBBH", number, 1, 14, len(text)) + words + bytes(6)
    return b"\xaa" + struct.pack("<H", len(error)) + error + b"\xfd" + struct.pack("<HHQ", 2, 0, 0)


class Peer:
    """A server that agrees to some encryption, hears one login, and refuses it."""

    def __init__(self, encryption: int, number: int) -> None:
        """It listens at once; `login` is what was read of the login as bytes on the wire."""
        self.encryption, self.number = encryption, number
        self.asked, self.login = -1, b""
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def read(self) -> tuple[int, bytes]:
        """A packet, its kind and its body."""
        head = self.opened.recv(8, socket.MSG_WAITALL)
        size = int.from_bytes(head[2:4], "big") - 8 if head else 0
        return (head[0] if head else 0), self.opened.recv(size, socket.MSG_WAITALL)

    def write(self, kind: int, body: bytes) -> None:
        """A packet, the last of its message."""
        self.opened.sendall(bytes([kind, 1]) + (len(body) + 8).to_bytes(2, "big") + bytes(4) + body)

    def serve(self) -> None:
        """One connection; a client that does not go on ends it."""
        self.opened, _ = self.listening.accept()
        with self.listening, self.opened:
            self.opened.settimeout(PATIENCE_S)
            _, body = self.read()
            self.asked = body[find_encryption(body)]
            fields = bytes.fromhex("00000b0006 0100110001 ff 100000000000")
            self.write(REPLY, fields + bytes([self.encryption]))
            try:
                self.answer()
            except (OSError, ssl.SSLError):
                pass  # it did not trust this

    def answer(self) -> None:
        """Shake hands where that was agreed, read the login, and refuse it."""
        tokens = make_refusal(self.number, "Login failed for user 'me'.")
        if self.encryption == NONE:
            self.login = self.opened.recv(4096)
            return self.write(REPLY, tokens)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "server.pem")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.flush(outgoing)
                kind, body = self.read()
                assert kind in (PRELOGIN, 0)
                incoming.write(body) if body else incoming.write_eof()
        self.flush(outgoing)
        self.login = self.opened.recv(4096)
        incoming.write(self.login)
        assert tls.read(4096)[0] == LOGIN
        if self.encryption == OFF:
            return self.write(REPLY, tokens)
        tls.write(bytes([REPLY, 1]) + (len(tokens) + 8).to_bytes(2, "big") + bytes(4) + tokens)
        self.opened.sendall(outgoing.read())

    def flush(self, outgoing: ssl.MemoryBIO) -> None:
        """What the handshake says, in a packet."""
        if data := outgoing.read():
            self.write(PRELOGIN, data)


@pytest.mark.parametrize(
    ("host", "options", "agreed", "asked", "number", "kind", "words"),
    [
        ("localhost", ROOT, ON, ON, 18456, PreconditionError, "correct user and password"),
        ("localhost", ROOT, 3, ON, 18487, PreconditionError, "a new password"),
        ("localhost", f"encrypt=false&{ROOT}", OFF, OFF, 18456, PreconditionError, "password"),
        ("localhost", "encrypt=false", ON, OFF, 18456, PreconditionError, "correct user"),
        ("localhost", "encrypt=false", NONE, OFF, 4060, PreconditionError, "the database's name"),
        ("127.0.0.1", "trustServerCertificate=true", ON, ON, 17892, InfrastructureError, "reached"),
        ("localhost", "", ON, ON, 0, PreconditionError, "not trusted: self"),
        ("127.0.0.1", ROOT, ON, ON, 0, PreconditionError, "not trusted: IP address mismatch"),
        ("localhost", f"ca={TLS}/other.pem", ON, ON, 0, PreconditionError, "with ca="),
        ("localhost", "", NONE, ON, 0, PreconditionError, "offers no encryption"),
    ],
)
def test_a_connection_is_encrypted_as_its_url_says(
    host: str, options: str, agreed: int, asked: int, number: int, kind: type[StithyError],
    words: str,
) -> None:  # fmt: skip
    """The login is in clear only where a server has no TLS and its URL allows that."""
    peer = Peer(agreed, number)
    try:
        with pytest.raises(kind) as caught:
            connect(parse_url(Secret(f"sqlserver://me:word@{host}:{peer.port}/d?{options}")))
    finally:
        peer.thread.join(PATIENCE_S)
    assert words in caught.value.text
    assert peer.asked == asked
    assert bool(peer.login) == (number != 0)
    assert ("me".encode("utf-16-le") in peer.login) == (agreed == NONE and number != 0)
    assert "word" not in caught.value.text.replace("password", "")


def test_a_server_that_is_not_there_is_named() -> None:
    """By host and port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(InfrastructureError, match=f"127.0.0.1:{port}.*connection refused"):
        connect(parse_url(Secret(f"sqlserver://me@127.0.0.1:{port}/d")))
