"""URLs of PostgreSQL databases: read, encrypted, given a password, and what is said on failure."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from stithy.database.engines.postgresql.connection import (
    connect,
    parse_url,
    with_absolute_root,
)
from stithy.database.engines.postgresql.passfile import with_password
from stithy.database.engines.postgresql.tls import tls
from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError
from stithy.secrets import Secret

FILES = Path(__file__).resolve().parents[2] / "data" / "tls"
FIELDS = b"SFATAL\0VFATAL\0C3D000\0Mno such place\0\0"
REFUSAL = b"E" + (len(FIELDS) + 4).to_bytes(4, "big") + FIELDS
"""What the listener answers to whoever comes through: an error that tests know again."""


def test_a_url_is_taken_apart() -> None:
    """As libpq does; the password stays a Secret, and what is no URL is refused with an example."""
    for url, expected in (
        ("postgresql://me:p%40ss@db.example:5433/shop?sslmode=require",
         ("db.example", 5433, "me", "shop", "p@ss")),
        ("postgresql://me@/shop?host=/run/pg&port=5433", ("/run/pg", 5433, "me", "shop", None)),
        ("postgresql://me@%2Ftmp%2FPg/shop", ("/tmp/Pg", 5432, "me", "shop", None)),
        ("postgresql://me@[::1]:5433/shop", ("::1", 5433, "me", "shop", None)),
        ("postgres://localhost", ("localhost", 5432, "postgres", "postgres", None)),
        ("postgresql://h/d?user=me&password=p%40ss+w", ("h", 5432, "me", "d", "p@ss+w")),
        ("postgresql://you:no@h:1/e?user=me&password=yes&port=2&dbname=d",
         ("h", 2, "me", "d", "yes")),
    ):  # fmt: skip
        target = parse_url(Secret(url))
        password = target.password.reveal() if target.password else None
        assert (target.host, target.port, target.user, target.database, password) == expected
        assert target.is_socket == target.host.startswith("/")
        assert "p@ss" not in repr(target) + target.place
    for wrong in ("mysql://a/b", "shop", "postgresql://a:99999/b", "postgresql://[",
                  "postgresql://a/b?port=x", "postgresql://a/b?connect_timeout=x",
                  "postgresql://me:hu\u2100sh@db/shop"):  # fmt: skip
        with pytest.raises(UserError, match="write it as postgresql://user:pass") as caught:
            parse_url(Secret(wrong))
        assert "sh@" not in str(caught.value)


def test_what_contradicts_itself_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is opened; a relative file is made whole for the hammer."""
    full = tls(None, "system").context
    assert (full.check_hostname, full.verify_mode) == (True, ssl.CERT_REQUIRED)
    (tmp_path / "root.crt").write_text("nothing")
    for mode, root, word in (
        ("sure", None, "verify-full"), ("verify-full", None, "sslrootcert"),
        ("verify-ca", None, "sslrootcert"), ("require", "system", "verify-full"),
        ("verify-ca", "/no/such", "/no/such"), ("verify-ca", f"{tmp_path}/root.crt", "root.crt"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=word):
            tls(mode, root)
    with pytest.raises(UserError, match="give one of disable, prefer, require"):
        parse_url(Secret("postgresql://h/d?channel_binding=sure"))
    monkeypatch.chdir(tmp_path)
    url = "postgresql://me:p%40ss@h/d?sslrootcert=a%20root.crt&sslmode=verify-ca"
    whole = with_absolute_root(Secret(url)).reveal()
    assert whole == f"{url}&sslrootcert={tmp_path}/a%20root.crt"
    assert (
        with_absolute_root(Secret("postgresql://h/d?sslrootcert=a+b")).reveal().endswith("/a%2Bb")
    )
    for same in ("postgresql://h/d", "postgresql://h/d?sslrootcert=system", whole):
        assert with_absolute_root(Secret(same)).reveal() == same


@contextmanager
def _listener(*, has_tls: bool) -> Iterator[int]:
    """The port of a server that refuses everyone after the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FILES / "server.pem")

    def serve() -> None:
        plain, _ = waiting.accept()
        with plain, suppress(OSError):
            plain.recv(8)
            plain.sendall(b"S" if has_tls else b"N")
            if has_tls:
                with context.wrap_socket(plain, server_side=True) as encrypted:
                    encrypted.recv(512)
                    encrypted.sendall(REFUSAL)

    with socket.create_server(("127.0.0.1", 0)) as waiting:
        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield waiting.getsockname()[1]
        finally:
            serving.join()


OURS, OTHER = f"sslrootcert={FILES}/server.pem", f"sslrootcert={FILES}/other.pem"


@pytest.mark.parametrize(
    ("options", "host", "shown"),
    [
        ("sslmode=require", "localhost", "no such place"),
        (f"sslmode=require&{OURS}", "localhost", "no such place"),
        (f"sslmode=verify-ca&{OURS}", "elsewhere.test", "no such place"),
        (f"sslmode=verify-full&{OURS}", "localhost", "no such place"),
        (f"sslmode=verify-full&{OURS}", "elsewhere.test", "elsewhere.test"),
        *((f"sslmode={mode}&{OTHER}", "localhost", "certificate is not trusted")
          for mode in ("require", "verify-ca", "verify-full")),
        ("sslmode=require", "plain", "offers no TLS"),
    ],
)  # fmt: skip
def test_a_server_is_believed_as_far_as_it_proves(options: str, host: str, shown: str) -> None:
    """Before the password is used; only `verify-full` minds the name; a refusal is exit code 3."""
    with _listener(has_tls=host != "plain") as port:
        url = f"postgresql://me:hush@{host}:{port}/shop?hostaddr=127.0.0.1&{options}"
        with pytest.raises(StithyError) as caught:
            connect(parse_url(Secret(url)), timeout_s=10)
    assert shown in str(caught.value)
    assert "hush" not in str(caught.value)
    assert isinstance(caught.value, PreconditionError) or shown == "no such place"


def test_a_refused_connection_names_the_place_and_not_the_password(tmp_path: Path) -> None:
    """A port on which nobody listens; a server that is not started has no socket."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(InfrastructureError, match=f"{place}, database shop") as caught:
            connect(parse_url(Secret(f"postgresql://me:hush@{place}/shop")))
    assert "hush" not in str(caught.value)
    with pytest.raises(InfrastructureError, match="No such file or directory"):
        connect(parse_url(Secret(f"postgresql://me@/shop?host={tmp_path}")))


def test_the_first_line_that_fits_counts(tmp_path: Path) -> None:
    """By host, port, database and user; a password in the URL wins; an unsafe file is refused."""
    path = tmp_path / "pgpass"
    url = Secret(f"postgresql://me@/db?host=/tmp/s&passfile={path}")
    with pytest.raises(UserError, match="cannot be read: no such file"):
        with_password(url)
    given = Secret(f"postgresql://me:mine@host/db?passfile={path}&sslmode=require")
    assert with_password(given).reveal() == "postgresql://me:mine@host/db?sslmode=require"
    asked = Secret(f"postgresql://me@host/db?passfile={path}&password=a+b")
    assert with_password(asked).reveal() == "postgresql://me@host/db?password=a%2Bb"
    path.touch(mode=0o644)
    with pytest.raises(UserError, match="other users may read this password file"):
        with_password(url)
    path.chmod(0o600)
    others = "*:*:other:*:a\n*:5433:*:*:b\n*:5432:db:you:c\n"
    for lines, expected in (
        ("# mine\n*:*:*:*:p/w@\\:\\\\?\n", "p/w@:\\?"),
        (f"{others}/tmp/s:5432:db:me:d\n*:*:*:*:e\n", "d"),
    ):
        path.write_text(lines)
        target = parse_url(with_password(url))
        assert target.password is not None
        assert (target.password.reveal(), target.host) == (expected, "/tmp/s")
    path.write_text(f"{others}nonsense\n")
    with pytest.raises(UserError, match="no password for user me"):
        with_password(url)
