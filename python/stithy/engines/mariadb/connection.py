"""A connection to a MariaDB or MySQL server by URL, for what Stithy itself asks of it.

Transactions of a workload never go this way.
"""

import re
import socket
import ssl
from collections.abc import Sequence
from typing import Any, NamedTuple

import pymysql

from stithy.engines.mariadb.url import SYSTEM_ROOTS, MariaDBAddress
from stithy.errors import (
    InfrastructureError,
    PreconditionError,
    StithyError,
    UserError,
    give_reason,
)


def quote_name(name: str) -> str:
    """Write a name as SQL has it."""
    return "`" + name.replace("`", "``") + "`"


def quote_text(text: str) -> str:
    """Write a text as SQL has it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


class OtherSession(NamedTuple):
    """One of the server's other sessions: whose it is, and what it does now."""

    user: str
    database: str
    command: str
    state: str

    @property
    def is_active(self) -> bool:
        """Whether a statement of a user is at work."""
        return self.command in ("Query", "Execute")


class ControlSession:
    """An open connection; each statement is a transaction of its own."""

    def __init__(self, target: MariaDBAddress, session: Any) -> None:
        """`session` commits by itself. `version`: the server's, such as `10.11.19-MariaDB`.

        `columns`: the names of those of the last answer.
        """
        self._target = target
        self._session = session
        self.columns: list[str] = []
        self.version = str(session.get_server_info())

    def run(self, sql: str, *parameters: object) -> list[Sequence[Any]]:
        """Give the rows of a statement; `%s` in it stands for a parameter.

        Raises InfrastructureError where the server refuses or is gone.
        """
        try:
            with self._session.cursor() as cursor:
                cursor.execute(sql, parameters or None)
                self.columns = [name for name, *_ in cursor.description or ()]
                return list(cursor.fetchall())
        except (pymysql.Error, OSError) as error:
            raise InfrastructureError(
                f"the server did not answer a question: {_read_text(error)}",
                where=self._target.place,
                remedy="read the server's log",
            ) from error

    def read_status(self) -> dict[str, str]:
        """Read all counters of the server, by their names in lower case."""
        return {str(name).lower(): str(value) for name, value in self.run("SHOW GLOBAL STATUS")}

    def read_variables(self) -> dict[str, str]:
        """Read all settings in force."""
        return {str(name): str(value) for name, value in self.run("SHOW GLOBAL VARIABLES")}

    def list_sessions(self) -> list[OtherSession]:
        """List the other sessions in its database; a query of them would write to a disk."""
        return [
            OtherSession(str(user), str(database), str(command), str(state or ""))
            for number, user, _, database, command, _, state, *_ in self.run("SHOW PROCESSLIST")
            if number != self._session.thread_id() and database == self._target.database
        ]

    @property
    def is_encrypted(self) -> bool:
        """Whether it uses TLS."""
        return bool(self.run("SHOW SESSION STATUS LIKE 'Ssl_cipher'")[0][1])

    def close(self) -> None:
        """Close it; one that is broken already is closed as well."""
        try:
            self._session.close()
        except pymysql.Error:
            pass

    def __enter__(self) -> "ControlSession":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


OLDEST = (10, 6)
"""Versions of MariaDB before are no longer maintained, and lack JSON_TABLE."""


def parse_version(text: str) -> tuple[int, ...]:
    """Read the numbers of a version; those of MariaDB have its name behind them.

    >>> parse_version("5.5.5-10.11.19-MariaDB-0+deb12u1")
    (10, 11, 19)
    """
    numbers = re.search(r"\d+\.\d+\.\d+", text.removeprefix("5.5.5-"))
    return tuple(map(int, numbers[0].split("."))) if numbers else ()


def is_mariadb(version: str) -> bool:
    """Whether a version is one of MariaDB's, and none of MySQL's."""
    return "mariadb" in version.lower()


def connect(
    target: MariaDBAddress, *, timeout_s: float = 60.0, elsewhere: bool = False
) -> ControlSession:
    """Connect to the target; `elsewhere`: to its server without its database.

    `timeout_s` bounds each answer. Raises PreconditionError or InfrastructureError.
    """
    password = target.password.reveal().encode() if target.password else b""
    session = pymysql.connect(
        user=target.user, password=password, host=target.host, port=target.port,
        database=None if elsewhere else target.database, charset="utf8mb4", autocommit=True,
        connect_timeout=target.connect_timeout_s, read_timeout=timeout_s, write_timeout=timeout_s,
        program_name="stithy", init_command="SET time_zone = '+00:00'", defer_connect=True,
        **_choose_tls(target),
    )  # fmt: skip
    session._secure = bool(target.socket)  # so that a password may be sent through it
    try:
        session.connect(_open_socket(target) if target.socket else None)
    except (pymysql.Error, OSError, RuntimeError) as error:
        raise _explain_not_opened(target, error) from error
    return ControlSession(target, session)


def _open_socket(target: MariaDBAddress) -> socket.socket:
    """Open a socket, which PyMySQL would not close where nobody listens."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.settimeout(target.connect_timeout_s)
        opened.connect(target.socket)
    except OSError:
        opened.close()
        raise
    return opened


def _choose_tls(target: MariaDBAddress) -> dict[str, Any]:
    if target.tls == "disable" or target.socket:
        return {"ssl_disabled": True}
    if target.tls == "prefer":
        return {}  # where the server offers it, as its own clients do
    roots = None if target.ca in ("", SYSTEM_ROOTS) else target.ca
    try:
        context = ssl.create_default_context(cafile=roots)
    except ssl.SSLError as error:
        remedy = "name a file of certificates in PEM format with ca="
        raise UserError(
            "no certificate can be read from it", where=target.ca, remedy=remedy
        ) from error
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # those that servers make for themselves
    context.check_hostname = target.tls == "verify-full"
    if target.tls == "require" and not target.ca:
        context.verify_mode = ssl.CERT_NONE
    return {"ssl": context}


_LOGIN = "correct user and password: in the URL, percent-encoded, or where the password is given"
_REMEDIES = {
    1040: (InfrastructureError, "raise max_connections, or end other connections"),
    1044: (PreconditionError, "GRANT ALL ON the database TO the user"),
    1045: (PreconditionError, _LOGIN),
    1049: (PreconditionError, "create the database, or correct its name in the URL"),
    1203: (InfrastructureError, "raise max_user_connections, or end other connections"),
    1698: (PreconditionError, _LOGIN),
    2026: (PreconditionError, "set ssl_cert and ssl_key in the server, or give tls=prefer"),
}
"""By the server's code."""


def _read_text(error: BaseException) -> str:
    if isinstance(error, OSError):
        return give_reason(error)
    if isinstance(cause := error.__context__, ssl.SSLCertVerificationError):
        return cause.verify_message.rstrip(".")
    if isinstance(cause, OSError):
        return give_reason(cause)
    code, *texts = (*error.args, "")
    return str(texts[0] if isinstance(code, int) and texts[0] else error)


def _explain_not_opened(target: MariaDBAddress, error: BaseException) -> StithyError:
    code, text = error.args[0] if error.args else 0, _read_text(error)
    place = "the socket" if target.socket else "host and port"
    start = (InfrastructureError, f"start the server, or correct {place} in the URL")
    kind, remedy = _REMEDIES.get(code, start)
    what = "the server refused the connection"
    if isinstance(error.__context__, ssl.SSLCertVerificationError):
        what = "the server's certificate is not trusted"
        kind, remedy = PreconditionError, "correct host, tls or ca in the URL"
    elif "cryptography" in text or isinstance(error, RuntimeError):
        text = "the password could be read on its way: the account needs TLS or a socket"
        kind, remedy = PreconditionError, "give tls=require, or let the server use TLS"
    elif code not in _REMEDIES:
        what = "the database server cannot be reached"
    return kind(f"{what}: {text}", where=target.place, remedy=remedy)
