"""A server on loopback that answers each connection alike, and remembers what it was told."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Queue

SSL_REQUEST = bytes.fromhex("00000008 04d2162f")
PATIENCE_S = 4


def message(kind: bytes, body: bytes) -> bytes:
    """A message of a PostgreSQL server."""
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def refusal(state: str, text: str) -> bytes:
    """An error before there is a session."""
    return message(b"E", f"SFATAL\0VFATAL\0C{state}\0M{text}\0\0".encode())


CLEAR = message(b"R", (3).to_bytes(4, "big"))
"""Asks for the password as it is."""
NOWHERE = refusal("3D000", 'database "nowhere" does not exist')


@dataclass
class Listening:
    """A server without TLS; `heard` has the start and the answer of each connection."""

    port: int
    heard: "Queue[tuple[bytes, bytes]]" = field(default_factory=Queue)

    def last(self) -> tuple[bytes, bytes]:
        """What a connection said, once it is over."""
        return self.heard.get(timeout=PATIENCE_S)

    def talk(self, opened: socket.socket, says: bytes) -> None:
        """Hear the start, say the same to everybody, hear the answer."""
        start = opened.recv(1024)
        if start == SSL_REQUEST:
            opened.sendall(b"N")
            start = opened.recv(1024)
        if not start:
            return  # it wants TLS or nothing
        opened.sendall(says)
        self.heard.put((start, opened.recv(1024)))


@contextmanager
def listening(says: bytes) -> Iterator[Listening]:
    """The server, and all that it hears while it is needed."""

    def serve() -> None:
        with suppress(OSError):  # it is closed
            while True:
                opened, _ = waiting.accept()
                opened.settimeout(PATIENCE_S)
                with opened, suppress(OSError):
                    there.talk(opened, says)

    with socket.create_server(("127.0.0.1", 0)) as waiting:
        there = Listening(waiting.getsockname()[1])
        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield there
        finally:
            waiting.shutdown(socket.SHUT_RDWR)
            serving.join()
