"""A connection to a PostgreSQL server by URL, for what Stithy itself asks: counters and settings.

It is libpq's, by psycopg: encryption, proofs of passwords, and the files and variables that hold
them are what they are for psql. Transactions of a workload never go this way.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from stithy.engines.postgresql.url import ServerAddress
from stithy.environment import forget
from stithy.errors import InfrastructureError, PreconditionError, StithyError
from stithy.secrets import Secret

APPLICATION = "stithy"
MAINTENANCE_DATABASE = "postgres"
"""Counters of all databases can be read from it, without adding to those of the one under test."""

PASSWORDS = ("PGPASSWORD", "PGPASSFILE")
"""The variables of libpq that count: what a study says of a server must not depend on a shell."""


def quote_name(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def is_corruption(error: InfrastructureError) -> bool:
    """Whether the server found data or an index corrupted, or an inner contradiction.

    Source: PostgreSQL's documentation, appendix A, class XX.
    """
    state = error.__cause__.sqlstate if isinstance(error.__cause__, psycopg.Error) else None
    return state is not None and state.startswith("XX")


class _Session(psycopg.Connection[list[Any]]):
    """A session whose every answer is waited for `patience_s`."""

    patience_s = 60.0

    def wait(self, *asked: Any, **options: Any) -> Any:
        """Wait as psycopg does. Raises its OperationalError once the patience is over."""
        return super().wait(*asked, **{"timeout": self.patience_s, **options})


class Connection:
    """An open connection; each statement is a transaction of its own."""

    def __init__(self, target: ServerAddress, session: _Session) -> None:
        """`session` commits by itself."""
        self._target = target
        self._session = session

    def run(self, sql: str, **parameters: object) -> list[list[Any]]:
        """The rows of a statement; `%(name)s` in it stands for a parameter.

        Raises InfrastructureError where the server refuses or is gone.
        """
        return self._ask(sql, parameters or None)

    @property
    def version(self) -> int:
        """That of the server, such as 150013."""
        return self._session.info.server_version

    @property
    def pid(self) -> int:
        """The server's process of the session."""
        return self._session.info.backend_pid

    @property
    def password(self) -> Secret | None:
        """The password, wherever libpq has it from; None where it has none."""
        word = self._session.info.password
        return Secret(word) if word else None

    @property
    def is_encrypted(self) -> bool:
        return bool(self._session.pgconn.ssl_in_use)

    @property
    def is_pooled(self) -> bool:
        """Whether something in between lends connections: the server itself has another process."""
        return self.run("SELECT pg_backend_pid()") != [[self.pid]]

    def prepare(self, sql: str) -> Callable[[], list[list[Any]]]:
        """A statement that is asked again and again; errors as in `run`."""
        return lambda: self._ask(sql, None, prepare=True)

    def _ask(self, sql: str, parameters: Any, *, prepare: bool = False) -> list[list[Any]]:
        try:
            with self._session.cursor() as cursor:
                cursor.execute(sql.encode(), parameters, prepare=prepare)
                return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise InfrastructureError(
                f"the server did not answer a question: {error.diag.message_primary or error}",
                where=self._target.place,
                remedy="read the server's log",
            ) from error

    def close(self) -> None:
        """Close it; one that is broken already is closed as well."""
        self._session.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(
    target: ServerAddress, *, database: str | None = None, timeout_s: float = 60.0
) -> Connection:
    """A connection to the target, or to another database of its server.

    `timeout_s` bounds each answer. Raises PreconditionError or InfrastructureError with place and
    remedy.
    """
    forget("PG", but=PASSWORDS)
    target = replace(target, database=database or target.database)
    try:
        conninfo = make_conninfo(**_list_parameters(target))
        session = _Session.connect(conninfo, autocommit=True, row_factory=lambda _: list)
    except psycopg.Error as error:
        raise _explain_not_opened(target, str(error)) from error
    session.patience_s = timeout_s
    return Connection(target, session)


def _list_parameters(target: ServerAddress) -> dict[str, str]:
    """What libpq is given; of the rest the hammer knows nothing, so it is not left to defaults."""
    given = {
        "host": target.host,
        "hostaddr": target.hostaddr,
        "port": str(target.port),
        "user": target.user,
        "dbname": target.database,
        "password": target.password.reveal() if target.password else "",
        "passfile": target.passfile,
        "options": f"-c jit=off {target.options}",
        "connect_timeout": str(target.connect_timeout_s),
        "channel_binding": target.channel_binding,
        "sslmode": target.sslmode,
        "sslrootcert": target.root,
    }
    fixed = {"application_name": APPLICATION, "gssencmode": "disable", "sslcertmode": "disable"}
    return {name: value for name, value in given.items() if value} | fixed


_PASSWORD = (
    "correct user and password: in the URL, percent-encoded; in PGPASSWORD; or in the password file"
)
_REMEDIES: tuple[tuple[str, type[StithyError], str], ...] = (
    ("unsupported startup parameter", PreconditionError,
     "name the server itself: what answers is a connection pooler, such as pgbouncer"),
    ("channel binding|SCRAM-SHA-256-PLUS", PreconditionError,
     "leave channel_binding=require out of the URL, or let the server use TLS and scram-sha-256"),
    ("password", PreconditionError, _PASSWORD),
    ("permission denied for database", PreconditionError,
     "GRANT CONNECT ON DATABASE … TO the user; counters are read from the database postgres"),
    ("the database system is", InfrastructureError, "wait until the server has started"),
    ("too many|connection slots", InfrastructureError,
     "raise max_connections, or end other connections"),
    ("database .* does not exist", PreconditionError,
     "create the database, or correct its name in the URL"),
    ("role .* does not exist", PreconditionError, "create the user, or correct it in the URL"),
    ("pg_hba.conf|FATAL: ", PreconditionError,
     "correct user and sslmode in the URL, or let pg_hba.conf admit them"),
    ("does not support SSL", PreconditionError,
     "set ssl = on in the server, or give sslmode=prefer"),
    ("certificate", PreconditionError, "correct host, sslmode or sslrootcert in the URL"),
)  # fmt: skip
"""By what libpq or the server says: there is no SQLSTATE before a session."""


def _explain_not_opened(target: ServerAddress, text: str) -> StithyError:
    """Why there is no session: libpq tries addresses and ways of encrypting in turn.

    Of those that a server refused counts the one that went beyond pg_hba.conf, else the last.
    """
    attempts = re.findall(r"failed: (.+)", text.removeprefix("connection failed: "))
    refused = [attempt for attempt in attempts if attempt.startswith("FATAL: ")]
    beyond = [attempt for attempt in refused if "pg_hba.conf" not in attempt]
    why = (beyond or refused or attempts or [text.strip()])[-1]
    kind, remedy = next(
        ((kind, remedy) for pattern, kind, remedy in _REMEDIES if re.search(pattern, why)),
        (InfrastructureError, "start the server, or correct host and port in the URL"),
    )
    what = "the database server cannot be reached"
    if why.startswith("FATAL: "):
        what = "the server refused the connection"
    why = why.removeprefix("FATAL: ").removeprefix("connection ").strip()
    return kind(f"{what}: {why}", where=target.place, remedy=remedy)
