"""Stithy's own connections over TLS, to a listener that goes as far as the handshake.

`server.pem` and `other.pem` were made with `openssl req -x509` (OpenSSL 3.0, EC P-256, 100 years);
the first is for `localhost` and holds its key, which protects nothing.
"""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.errors import PreconditionError, StithyError
from stithy.secrets import Secret

FILES = Path(__file__).resolve().parents[4] / "data" / "tls"
FIELDS = b"SFATAL\0VFATAL\0C3D000\0Mno such place\0\0"
REFUSAL = b"E" + (len(FIELDS) + 4).to_bytes(4, "big") + FIELDS
"""What the listener answers to whoever comes through: an error that tests know again."""


@contextmanager
def listener(*, has_tls: bool = True) -> Iterator[int]:
    """The port of a server that refuses everyone after the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FILES / "server.pem")
    with socket.create_server(("127.0.0.1", 0)) as waiting:
        serving = threading.Thread(target=_serve, args=(waiting, context if has_tls else None))
        serving.start()
        try:
            yield waiting.getsockname()[1]
        finally:
            serving.join()


def _serve(waiting: socket.socket, context: ssl.SSLContext | None) -> None:
    """Answer one connection; a client may go away at any time."""
    plain, _ = waiting.accept()
    with plain, suppress(OSError):
        plain.recv(8)
        plain.sendall(b"S" if context else b"N")
        if context is None:
            return
        with context.wrap_socket(plain, server_side=True) as encrypted:
            encrypted.recv(512)
            encrypted.sendall(REFUSAL)


def failure(options: str, *, has_tls: bool = True, host: str = "localhost") -> StithyError:
    """How connecting with these options ends."""
    with listener(has_tls=has_tls) as port:
        url = f"postgresql://me:hush@{host}:{port}/shop?hostaddr=127.0.0.1&{options}"
        with pytest.raises(StithyError) as caught:
            connect(parse_url(Secret(url)), timeout_s=10)
    assert "hush" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "options",
    [
        "sslmode=require",
        f"sslmode=require&sslrootcert={FILES}/server.pem",
        f"sslmode=verify-ca&sslrootcert={FILES}/server.pem",
        f"sslmode=verify-full&sslrootcert={FILES}/server.pem",
    ],
)
def test_a_certificate_that_proves_what_is_asked_is_believed(options: str) -> None:
    """The server is heard."""
    assert "no such place" in str(failure(options))


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
def test_a_certificate_of_nobody_known_is_refused(mode: str) -> None:
    """Before the password is used; exit code 3."""
    error = failure(f"sslmode={mode}&sslrootcert={FILES}/other.pem")
    assert isinstance(error, PreconditionError)
    assert "certificate is not trusted" in str(error)


def test_only_verify_full_minds_the_name() -> None:
    """The name is that of the URL, whatever address is called."""
    root = f"sslrootcert={FILES}/server.pem"
    heard = failure(f"sslmode=verify-ca&{root}", host="elsewhere.test")
    assert "no such place" in str(heard)
    error = failure(f"sslmode=verify-full&{root}", host="elsewhere.test")
    assert "elsewhere.test" in error.problem


def test_a_server_without_tls_is_told_as_such() -> None:
    """Where the URL insists; exit code 3."""
    error = failure("sslmode=require", has_tls=False)
    assert isinstance(error, PreconditionError)
    assert "offers no TLS" in str(error)
