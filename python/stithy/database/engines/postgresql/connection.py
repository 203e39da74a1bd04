"""A connection to a PostgreSQL server by URL, for what Stithy itself asks: counters and settings.

Transactions of a workload never go this way: they are the hammer's. Encryption follows `sslmode`
and `sslrootcert` as libpq has them; the hammer reads the same options by itself, see
`crates/hammer/src/client/postgresql/tls.rs`.
Source: PostgreSQL's manual, "SSL Support" of libpq.
"""

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, parse_qsl, quote, unquote, urlsplit

import pg8000.native  # type: ignore[import-untyped]  # it has no types; only this file uses it

from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError
from stithy.secrets import Secret

TLS_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
SYSTEM_ROOTS = "system"
"""As `sslrootcert`: the certificates that this machine believes."""


def tls_context(mode: str | None, root: str | None) -> ssl.SSLContext | bool | None:
    """What pg8000 gets: False never encrypts, None does where the server can, a context insists.

    `root` is a file of certificates or `system`; both are None where the URL does not say.
    Raises UserError for what contradicts itself, and for a file that cannot be used.
    """
    mode = mode or ("verify-full" if root == SYSTEM_ROOTS else "prefer")
    _refuse_contradiction(mode, root)
    if mode in ("disable", "allow"):
        return False
    if mode == "prefer":
        return None
    return True if root is None else _verifying(root, name=mode == "verify-full")


def with_absolute_root(url: Secret) -> Secret:
    """The URL with a whole path as `sslrootcert`: the hammer is started in another directory."""
    text = url.reveal()
    options = parse_qsl(urlsplit(text).query, keep_blank_values=True)
    roots = [value for name, value in options if name == "sslrootcert"]
    if not roots or roots[-1] == SYSTEM_ROOTS or Path(roots[-1]).is_absolute():
        return url
    # The last one of a name counts.
    return Secret(f"{text}&sslrootcert={quote(str(Path(roots[-1]).absolute()))}")


def _refuse_contradiction(mode: str, root: str | None) -> None:
    problem, remedy = "", ""
    if mode not in TLS_MODES:
        problem, remedy = f"sslmode is {mode!r}", f"give one of {', '.join(TLS_MODES)}"
    elif root is None and mode.startswith("verify-"):
        problem = f"sslmode is {mode}, and there is no certificate to verify with"
        remedy = "name a file of root certificates with sslrootcert=, or sslrootcert=system"
    elif root == SYSTEM_ROOTS and mode != "verify-full":
        problem = f"sslmode is {mode}, which is too weak for sslrootcert=system"
        remedy = "give sslmode=verify-full"
    if problem:
        raise UserError(problem, where="database URL", remedy=remedy)


def _verifying(root: str, *, name: bool) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=_file(root))
    made.check_hostname = name
    # Newer Pythons want more of a self-made certificate than libpq does.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made


def _file(root: str) -> str | None:
    """The file of certificates, looked at; None for those of the system."""
    if root == SYSTEM_ROOTS:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(root)
    except OSError as error:
        raise UserError(
            f"the root certificates cannot be read: {error.strerror or error}",
            where=root,
            remedy="name a file of certificates in PEM format with sslrootcert=",
        ) from error
    return root


APPLICATION = "stithy"
MAINTENANCE_DATABASE = "postgres"
"""Counters of all databases can be read from it, without adding to those of the one under test."""

_EXAMPLE = (
    "postgresql://user:password@host:5432/database or postgresql://user@/database?host=/run/pg"
)


@dataclass(frozen=True)
class Target:
    """What a URL names; `host` is a name, an address, or the directory of a Unix socket.

    `address` is where to call instead of looking up the name; None looks it up.
    """

    host: str
    port: int
    database: str
    user: str
    password: Secret | None
    sslmode: str | None = None
    sslrootcert: str | None = None
    address: str | None = None

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

    Missing parts: host localhost, port 5432, user `postgres`, database the user's name.
    Raises UserError for what is no such URL.
    """
    try:
        parts = urlsplit(url.reveal())
        more = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        port = parts.port or int(more.get("port", "5432"))
    except ValueError as error:
        raise _bad_url(_without_password(str(error))) from error
    if parts.scheme not in ("postgresql", "postgres"):
        raise _bad_url(f"it begins with {parts.scheme or 'no scheme'!r}")
    user = unquote(parts.username or more.get("user", "postgres"))
    return Target(
        host=more.get("host") or _host(parts),
        port=port,
        database=unquote(parts.path.removeprefix("/")) or more.get("dbname", user),
        user=user,
        password=None if parts.password is None else Secret(unquote(parts.password)),
        sslmode=more.get("sslmode"),
        sslrootcert=more.get("sslrootcert"),
        address=more.get("hostaddr"),
    )


def _host(parts: SplitResult) -> str:
    """The host as it is written: `hostname` has small letters only, and directories have others."""
    named = unquote(parts.netloc.rpartition("@")[2].partition(":")[0])
    return named if named.startswith("/") else unquote(parts.hostname or "localhost")


def _without_password(text: str) -> str:
    """What urllib says is wrong, unless it quotes the URL's part that may hold a password."""
    return "it cannot be read" if "netloc" in text else text


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


def connect(target: Target, *, database: str | None = None, timeout_s: float = 60.0) -> Connection:
    """A connection to the target, or to another database of its server.

    `timeout_s` bounds each answer. Raises UserError, PreconditionError or InfrastructureError with
    place and remedy.
    """
    aim = replace(target, database=database or target.database)
    try:
        native = pg8000.native.Connection(
            aim.user,
            database=aim.database,
            # Without a password pg8000 would stumble over a server that asks for one.
            password=aim.password.reveal() if aim.password else "",
            timeout=timeout_s,
            application_name=APPLICATION,
            startup_params={"jit": "off"},
            **_way(aim, timeout_s),
        )
    except (pg8000.native.DatabaseError, pg8000.native.InterfaceError, OSError) as error:
        refusal = _refusal(error)
        raise _refused(aim, refusal) if refusal else _unreachable(aim, error) from error
    return Connection(aim, native)


def _way(target: Target, timeout_s: float) -> dict[str, Any]:
    """How pg8000 is told to get there. Raises UserError, and OSError for an address."""
    if target.is_socket:
        return {"unix_sock": f"{target.host}/.s.PGSQL.{target.port}", "ssl_context": False}
    way = {
        "host": target.host,
        "port": target.port,
        "ssl_context": tls_context(target.sslmode, target.sslrootcert),
    }
    if target.address is not None:
        way["sock"] = socket.create_connection((target.address, target.port), timeout_s)
    return way


_REMEDIES = {
    "28P01": "correct the user's name or password in the URL",
    "28000": "correct the user in the URL, or let pg_hba.conf admit it",
    "3D000": "create the database, or correct its name in the URL",
    "53300": "raise max_connections, or end other connections",
    "57P03": "wait until the server has started",
}


def _said(error: BaseException) -> tuple[str, str]:
    """SQLSTATE and text of what the server said; an empty state where it was not the server."""
    if error.args and isinstance(fields := error.args[0], dict):
        return str(fields.get("C", "")), str(fields.get("M", error))
    return "", str(error.__cause__ or error)


def _refusal(error: BaseException | None) -> BaseException | None:
    """What the server said, where it said something before the connection broke."""
    while error is not None:
        if type(error) is pg8000.native.DatabaseError:
            return error
        error = error.__cause__ or error.__context__
    return None


def _refused(target: Target, error: BaseException) -> StithyError:
    """What the server answered, as an error; a server that starts or stops may be asked again."""
    state, text = _said(error)
    kind = InfrastructureError if state.startswith(("57", "53")) else PreconditionError
    remedy = _REMEDIES.get(state, "read the server's log")
    return kind(f"the server refused the connection: {text}", where=target.place, remedy=remedy)


def _unreachable(target: Target, error: Exception) -> StithyError:
    """Why no PostgreSQL answered, in the class that the hammer has for it."""
    kind: type[StithyError] = InfrastructureError
    remedy = "start the server, or correct host and port in the URL"
    cause = error.__cause__ or error
    if isinstance(cause, TimeoutError):
        why = "no answer in time"
    elif isinstance(cause, ssl.SSLCertVerificationError):
        kind, remedy = PreconditionError, "correct host, sslmode or sslrootcert in the URL"
        why = f"its certificate is not trusted: {cause.verify_message}"
    elif "refuses SSL" in (why := _said(error)[1]):
        kind, remedy = PreconditionError, "set ssl = on in the server, or give sslmode=prefer"
        why = "it offers no TLS"
    return kind(f"the database server cannot be reached: {why}", where=target.place, remedy=remedy)
