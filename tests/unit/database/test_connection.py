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
    tls_context,
    with_absolute_root,
)
from stithy.database.engines.postgresql.passfile import with_password
from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError
from stithy.secrets import Secret


def test_a_url_is_taken_apart() -> None:
    """Percent signs are undone, the password stays a Secret."""
    target = parse_url(Secret("postgresql://me:p%40ss@db.example:5433/shop?sslmode=require"))
    assert (target.host, target.port, target.database) == ("db.example", 5433, "shop")
    assert (target.user, target.sslmode) == ("me", "require")
    assert target.password is not None
    assert target.password.reveal() == "p@ss"
    assert "p@ss" not in repr(target) + target.place


def test_a_socket_is_named_by_its_directory() -> None:
    """As libpq does; the port is part of the socket's name."""
    target = parse_url(Secret("postgresql://me@/shop?host=/run/pg&port=5433"))
    assert target.is_socket
    assert target.place == "/run/pg/.s.PGSQL.5433, database shop"
    assert target.password is None


def test_a_socket_s_directory_keeps_its_capital_letters() -> None:
    """It may also stand, encoded, where a host does."""
    assert parse_url(Secret("postgresql://me@%2Ftmp%2FPg/shop")).host == "/tmp/Pg"
    assert parse_url(Secret("postgresql://me@[::1]:5433/shop")).host == "::1"


def test_a_problem_of_the_url_shows_no_password() -> None:
    """urllib quotes what it cannot read."""
    with pytest.raises(UserError) as caught:
        parse_url(Secret("postgresql://me:hu\u2100sh@db/shop"))
    assert "sh@" not in str(caught.value)


def test_missing_parts_have_defaults() -> None:
    """The database is called as the user is."""
    target = parse_url(Secret("postgres://localhost"))
    assert (target.host, target.port, target.user, target.database) == (
        "localhost", 5432, "postgres", "postgres",
    )  # fmt: skip


@pytest.mark.parametrize(
    "url",
    ["mysql://a/b", "shop", "postgresql://a:99999/b", "postgresql://[", "postgresql://a/b?port=x"],
)
def test_what_is_no_url_of_postgresql_is_refused_with_an_example(url: str) -> None:
    """The person sees what would be right."""
    with pytest.raises(UserError, match="write it as postgresql://user:password@host"):
        parse_url(Secret(url))


def test_a_refused_connection_names_the_place_and_not_the_password() -> None:
    """A port on which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(InfrastructureError) as caught:
            connect(parse_url(Secret(f"postgresql://me:hush@127.0.0.1:{port}/shop")))
    assert f"127.0.0.1:{port}, database shop" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_missing_socket_is_told_as_such(tmp_path: Path) -> None:
    """A server that is not started has none."""
    with pytest.raises(InfrastructureError, match="No such file or directory"):
        connect(parse_url(Secret(f"postgresql://me@/shop?host={tmp_path}")))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("disable", False), ("allow", False), (None, None), ("prefer", None), ("require", True)],
)
def test_modes_that_look_at_no_certificate_are_pg8000_s_own(
    mode: str | None, expected: bool | None
) -> None:
    """False never encrypts, None does where the server can, True insists and believes anyone."""
    assert tls_context(mode, None) is expected


def test_a_verified_certificate_is_checked_as_far_as_asked() -> None:
    """The name only with `verify-full`, which is also what `system` means."""
    for mode in ("verify-full", None):
        full = tls_context(mode, "system")
        assert isinstance(full, ssl.SSLContext)
        assert (full.check_hostname, full.verify_mode) == (True, ssl.CERT_REQUIRED)


@pytest.mark.parametrize(
    ("mode", "root", "word"),
    [
        ("sure", None, "verify-full"),
        ("verify-full", None, "sslrootcert"),
        ("verify-ca", None, "sslrootcert"),
        ("require", "system", "verify-full"),
        ("verify-ca", "/no/such", "/no/such"),
    ],
)
def test_what_contradicts_itself_is_refused(mode: str, root: str | None, word: str) -> None:
    """Before anything is opened, with what would be right."""
    with pytest.raises(UserError, match=word):
        tls_context(mode, root)


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    """It is named."""
    (tmp_path / "root.crt").write_text("nothing")
    with pytest.raises(UserError, match=r"root\.crt"):
        tls_context("verify-ca", str(tmp_path / "root.crt"))


def test_a_relative_file_is_made_whole_for_the_hammer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts in another directory; everything else stays as it is written."""
    monkeypatch.chdir(tmp_path)
    url = "postgresql://me:p%40ss@h/d?sslrootcert=a%20root.crt&sslmode=verify-ca"
    whole = with_absolute_root(Secret(url)).reveal()
    assert whole == f"{url}&sslrootcert={tmp_path}/a%20root.crt"
    for same in ("postgresql://h/d", "postgresql://h/d?sslrootcert=system", whole):
        assert with_absolute_root(Secret(same)).reveal() == same


FILES = Path(__file__).resolve().parents[2] / "data" / "tls"
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


def passfile(tmp_path: Path, text: str, mode: int = 0o600) -> Path:
    """A password file."""
    path = tmp_path / "pgpass"
    path.write_text(text)
    path.chmod(mode)
    return path


def url(path: Path) -> Secret:
    """A URL that names the file, as `stithy run --keep` prints it."""
    return Secret(f"postgresql://me@/db?host=/tmp/stithy-1/0&passfile={path}")


def test_the_password_is_put_into_the_url(tmp_path: Path) -> None:
    """Whatever characters it has; the rest of the URL stays."""
    found = with_password(url(passfile(tmp_path, "# mine\n*:*:*:*:p/w@\\:\\\\?\n")))
    target = parse_url(found)
    assert target.password is not None
    assert target.password.reveal() == "p/w@:\\?"
    assert (target.host, target.database, target.user) == ("/tmp/stithy-1/0", "db", "me")
    assert "passfile" not in found.reveal()


def test_the_first_line_that_fits_counts(tmp_path: Path) -> None:
    """By host, port, database and user."""
    lines = (
        "*:*:other:*:a\n*:5433:*:*:b\n*:5432:db:you:c\n/tmp/stithy-1/0:5432:db:me:d\n*:*:*:*:e\n"
    )
    target = parse_url(with_password(url(passfile(tmp_path, lines))))
    assert target.password is not None
    assert target.password.reveal() == "d"


def test_a_url_without_a_password_file_stays_as_it_is() -> None:
    """Its password too."""
    plain = Secret("postgresql://me:secret@localhost:5432/db?sslmode=require")
    assert with_password(plain) is plain


def test_a_password_in_the_url_wins(tmp_path: Path) -> None:
    """The file is not even read."""
    given = Secret(f"postgresql://me:mine@host/db?passfile={tmp_path}/none&sslmode=require")
    assert with_password(given).reveal() == "postgresql://me:mine@host/db?sslmode=require"


def test_files_that_do_not_serve_are_told(tmp_path: Path) -> None:
    """Missing, open to others, without a line that fits."""
    with pytest.raises(UserError, match="cannot be read: No such file"):
        with_password(url(tmp_path / "none"))
    with pytest.raises(UserError, match="other users may read this password file"):
        with_password(url(passfile(tmp_path, "*:*:*:*:x\n", mode=0o644)))
    with pytest.raises(UserError, match="no password for user me"):
        with_password(url(passfile(tmp_path, "*:*:*:you:x\nnonsense\n")))
