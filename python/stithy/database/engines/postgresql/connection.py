"""A connection to a PostgreSQL server by URL, for what Stithy itself asks: counters and settings.

Transactions of a workload never go this way: they are the hammer's. Options mean what they mean to
libpq; the hammer reads the same ones by itself, see `crates/hammer/src/client/postgresql/url.rs`.
Source: PostgreSQL's manual, "Connection URIs".
"""

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

import pg8000.native  # type: ignore[import-untyped]  # it has no types

from stithy.database.engines.postgresql.startup import (
    NotBound,
    Session,
    refuse_unknown_binding,
)
from stithy.database.engines.postgresql.tls import (
    SYSTEM_ROOTS,
    NoHandshake,
    NotOffered,
    Tls,
    Way,
    tls,
)
from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError
from stithy.secrets import Secret


def with_absolute_root(url: Secret) -> Secret:
    """The URL with a whole path as `sslrootcert`: the hammer is started in another directory."""
    text = url.reveal()
    root = dict(options_of(urlsplit(text))).get("sslrootcert")
    if root is None or root == SYSTEM_ROOTS or Path(root).is_absolute():
        return url
    # The last one of a name counts.
    return Secret(f"{text}&sslrootcert={quote(str(Path(root).absolute()))}")


APPLICATION = "stithy"
MAINTENANCE_DATABASE = "postgres"
"""Counters of all databases can be read from it, without adding to those of the one under test."""

_EXAMPLE = (
    "postgresql://user:password@host:5432/database or postgresql://user@/database?host=/run/pg"
)


@dataclass(frozen=True)
class Target:
    """What a URL names; `host` is a name, an address, or the directory of a Unix socket.

    `address` is where to call instead of looking up the name; None looks it up. `options` are words
    for the server.
    """

    host: str
    port: int
    database: str
    user: str
    password: Secret | None
    sslmode: str | None = None
    sslrootcert: str | None = None
    address: str | None = None
    options: str | None = None
    connect_timeout_s: float | None = None
    channel_binding: str | None = None

    @property
    def is_socket(self) -> bool:
        """Whether `host` is the directory of a Unix socket."""
        return self.host.startswith("/")

    @property
    def place(self) -> str:
        """For messages: where it is, without the password."""
        where = (
            f"{self.host}/.s.PGSQL.{self.port}" if self.is_socket else f"{self.host}:{self.port}"
        )
        return f"{where}, database {self.database}"


def parse_url(url: Secret) -> Target:
    """The parts of `postgresql://user:password@host:port/database?host=/dir&sslmode=require`.

    Missing parts: host localhost, port 5432, user `postgres`, database the user's name. Of a part
    that is given twice the option counts. Raises UserError for what is no such URL.
    """
    try:
        parts = urlsplit(url.reveal())
        more = {name: value for name, value in options_of(parts) if value}
        port = int(more.get("port") or parts.port or 5432)
        patience_s = int(more.get("connect_timeout", "0"))
    except ValueError as error:
        raise _bad_url("its host, port or connect_timeout is none") from error
    if parts.scheme not in ("postgresql", "postgres"):
        raise _bad_url(f"it begins with {parts.scheme or 'no scheme'!r}")
    user = more.get("user") or unquote(parts.username or "postgres")
    password = more.get("password", parts.password and unquote(parts.password))
    refuse_unknown_binding(more.get("channel_binding"))
    return Target(
        host=more.get("host") or _host(parts),
        port=port,
        database=more.get("dbname") or unquote(parts.path.removeprefix("/")) or user,
        user=user,
        password=None if password is None else Secret(password),
        sslmode=more.get("sslmode"),
        sslrootcert=more.get("sslrootcert"),
        address=more.get("hostaddr"),
        options=more.get("options"),
        connect_timeout_s=patience_s if patience_s > 0 else None,
        channel_binding=more.get("channel_binding"),
    )


def options_of(parts: SplitResult) -> Iterator[tuple[str, str]]:
    """Name and value of each option of a URL; unlike in a form of the web a plus is a plus."""
    for each in parts.query.split("&"):
        name, _, value = each.partition("=")
        if name:
            yield unquote(name), unquote(value)


def _host(parts: SplitResult) -> str:
    """The host as it is written: `hostname` has small letters only, and directories have others."""
    named = unquote(parts.netloc.rpartition("@")[2].partition(":")[0])
    return named if named.startswith("/") else unquote(parts.hostname or "localhost")


def _bad_url(problem: str) -> UserError:
    return UserError(
        f"this is not the URL of a PostgreSQL database: {problem}",
        where="database URL",
        remedy=f"write it as {_EXAMPLE}",
    )


def literal(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


class Connection:
    """An open connection; each statement is a transaction of its own."""

    def __init__(self, target: Target, native: Any) -> None:
        """`native` is pg8000's connection."""
        self._target = target
        self._native = native

    def run(self, sql: str, **parameters: object) -> list[list[Any]]:
        """The rows of a statement; `:name` in it stands for a parameter.

        Raises InfrastructureError where the server refuses or is gone.
        """
        rows: list[list[Any]] = self._ask(lambda: self._native.run(sql, **parameters))
        return rows

    @property
    def version(self) -> int:
        """That of the server, such as 150013."""
        return int(self.run("SHOW server_version_num")[0][0])

    def prepare(self, sql: str) -> Callable[[], list[list[Any]]]:
        """A statement that is asked again and again; errors as in `run`."""
        statement = self._ask(lambda: self._native.prepare(sql))
        return lambda: self._ask(statement.run)

    def _ask(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except (pg8000.native.DatabaseError, pg8000.native.InterfaceError, OSError) as error:
            raise InfrastructureError(
                f"the server did not answer a question: {_said(error)[1]}",
                where=self._target.place,
                remedy="read the server's log",
            ) from error

    def close(self) -> None:
        """Close it; one that is broken already is closed as well."""
        # A server that is gone cannot be told goodbye, and nothing depends on it.
        with suppress(pg8000.native.InterfaceError, OSError):
            self._native.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_HINDRANCES = (
    pg8000.native.DatabaseError,
    pg8000.native.InterfaceError,
    NotBound,
    NotOffered,
    NoHandshake,
    OSError,
)


def connect(target: Target, *, database: str | None = None, timeout_s: float = 60.0) -> Connection:
    """A connection to the target, or to another database of its server.

    `timeout_s` bounds each answer; until there is a session the URL's `connect_timeout` does, if it
    has one. Raises UserError, PreconditionError or InfrastructureError with place and remedy.
    """
    aim = replace(target, database=database or target.database)
    encryption = None if aim.is_socket else tls(aim.sslmode, aim.sslrootcert)
    try:
        return Connection(aim, _session(aim, encryption, timeout_s))
    except _HINDRANCES as error:
        raise _not_opened(aim, error) from error


def _session(target: Target, encryption: Tls | None, timeout_s: float) -> Session:
    """By the first way that leads there; a Unix socket is never encrypted."""
    *others, last = encryption.ways if encryption else (Way.PLAIN,)
    for way in others:
        try:
            return _begun(target, encryption, way, timeout_s)
        except _HINDRANCES as error:
            if not _leads_on(error):
                raise
    return _begun(target, encryption, last, timeout_s)


def _leads_on(error: BaseException) -> bool:
    """Whether another way of encrypting may lead further, as in the hammer.

    The handshake failed, or the server admits this user in that way only.
    """
    said = _answer(error)
    return isinstance(error, NoHandshake) or (said is not None and _said(said)[0] == "28000")


def _begun(target: Target, encryption: Tls | None, way: Way, timeout_s: float) -> Session:
    """A session by one way. Raises what `_HINDRANCES` names."""
    opened = _called(target, target.connect_timeout_s or timeout_s)
    try:
        if encryption is not None:
            opened = encryption.encrypt(opened, way, target.host)
        session = Session(opened, target.channel_binding, _introduction(target))
        opened.settimeout(timeout_s)
    except BaseException:
        opened.close()
        raise
    return session


def _called(target: Target, patience_s: float) -> socket.socket:
    """An open socket, not encrypted yet."""
    if not target.is_socket:
        made = socket.create_connection((target.address or target.host, target.port), patience_s)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return made
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(patience_s)
        made.connect(f"{target.host}/.s.PGSQL.{target.port}")
    except BaseException:
        made.close()
        raise
    return made


def _introduction(target: Target) -> dict[str, Any]:
    """What pg8000 tells the server."""
    options = {"options": target.options} if target.options else {}
    return {
        "user": target.user,
        "database": target.database,
        # Without a password pg8000 would stumble over a server that asks for one.
        "password": target.password.reveal() if target.password else "",
        "application_name": APPLICATION,
        "startup_params": {"jit": "off", **options},
    }


_REMEDIES = {
    "28P01": "correct the user's name or password in the URL",
    "28000": "correct user and sslmode in the URL, or let pg_hba.conf admit them",
    "3D000": "create the database, or correct its name in the URL",
    "53300": "raise max_connections, or end other connections",
    "57P03": "wait until the server has started",
}


def _said(error: BaseException) -> tuple[str, str]:
    """SQLSTATE and text of what the server said; an empty state where it was not the server."""
    if error.args and isinstance(fields := error.args[0], dict):
        return str(fields.get("C", "")), str(fields.get("M", error))
    return "", str(error.__cause__ or error)


def _answer(error: BaseException | None) -> BaseException | None:
    """What the server said, or did not prove, where that was before the connection broke."""
    while error is not None:
        if type(error) in (pg8000.native.DatabaseError, NotBound):
            return error
        error = error.__cause__ or error.__context__
    return None


def _not_opened(target: Target, error: Exception) -> StithyError:
    """Why there is no session, in the class that the hammer has for it."""
    said = _answer(error)
    if isinstance(said, NotBound):
        return PreconditionError(
            str(said),
            where=target.place,
            remedy="leave channel_binding=require out of the URL, or let the server use TLS and "
            "scram-sha-256",
        )
    return _unreachable(target, error) if said is None else _refused(target, said)


def _refused(target: Target, error: BaseException) -> StithyError:
    """What the server answered, as an error; a server that starts or stops may be asked again."""
    state, text = _said(error)
    kind = InfrastructureError if state.startswith(("57", "53")) else PreconditionError
    remedy = _REMEDIES.get(state, "read the server's log")
    return kind(f"the server refused the connection: {text}", where=target.place, remedy=remedy)


def _unreachable(target: Target, error: Exception) -> StithyError:
    """Why no PostgreSQL answered."""
    kind: type[StithyError] = InfrastructureError
    remedy = "start the server, or correct host and port in the URL"
    cause = error.__cause__ or error
    if isinstance(cause, TimeoutError):
        why = "no answer in time"
    elif isinstance(cause, ssl.SSLCertVerificationError):
        kind, remedy = PreconditionError, "correct host, sslmode or sslrootcert in the URL"
        why = f"its certificate is not trusted: {cause.verify_message}"
    else:
        why = _said(error)[1]
        if isinstance(error, NotOffered):
            kind, remedy = PreconditionError, "set ssl = on in the server, or give sslmode=prefer"
    return kind(f"the database server cannot be reached: {why}", where=target.place, remedy=remedy)
