"""What the URL of a MariaDB or MySQL database says, as the hammer reads it, too.

What the hammer cannot follow is refused before anything is connected. No message holds a part of a
URL that could be one of its password.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from stithy.engines import urls
from stithy.errors import UserError, give_reason
from stithy.needs import Package
from stithy.secrets import Secret

ROLE, ADMIN, DATABASE = "stithy", "stithy_admin", "stithy"
"""Of an instance that Stithy starts: the account of users, its own, and the database under test."""

SCHEMES = ("mariadb", "mysql")
SYSTEM_ROOTS = "system"
"""As `ca`: the certificates that this machine believes."""

OPTIONS = ("socket", "password", "passfile", "connect_timeout", "tls", "ca")
TLS = ("disable", "prefer", "require", "verify-ca", "verify-full")
PATIENCE_S = 10
"""Where a URL does not say how long a connection may take; the hammer's is the same."""

_EXAMPLE = (
    "write it as mariadb://me@host:3306/database or mariadb://me@localhost/database?socket=/path, "
    "and percent-encode all but letters and digits: me:p@ss/w@host is me:p%40ss%2Fw@host"
)


@dataclass(frozen=True)
class MariaDBAddress:
    """What a URL names; `socket` is empty where it is reached by its host.

    `tls` `prefer`: as the server offers it, not verified. `ca`: the certificates to verify with.
    """

    host: str
    port: int
    database: str
    user: str
    password: Secret | None
    socket: str
    tls: str
    ca: str
    connect_timeout_s: int

    @property
    def place(self) -> str:
        """For messages: where it is, without the password."""
        return f"{self.socket or f'{self.host}:{self.port}'}, database {self.database}"

    @property
    def url(self) -> Secret:
        """The URL for the hammer: nothing in it has to be found."""
        options = {
            "socket": self.socket, "connect_timeout": str(self.connect_timeout_s),
            "tls": self.tls, "ca": self.ca,
        }  # fmt: skip
        server = f"{urls.write_host(self.host)}:{self.port}"
        return urls.write_url("mariadb", self.user, self.password, server, self.database, options)


def parse_url(url: Secret, password: Secret | None = None) -> MariaDBAddress:
    """Give what the URL names; `password` is one that is given beside it.

    Raises UserError for what is no such URL, and for what the hammer cannot follow; a file with the
    password is read.
    """
    text = url.reveal()
    scheme, _, rest = text.partition("://")
    if scheme not in SCHEMES:
        raise _make_refusal("the URL is not one of a MariaDB or MySQL database")
    where, _, query = rest.partition("?")
    login, at, place = where.rpartition("@")
    host_port, _, database = place.partition("/")
    if re.search(r"\s|#", text) or not at or "@" in login or "/" in login or "/" in database:
        raise _make_refusal("the URL cannot be read")
    user, _, word = login.partition(":")
    if not user:
        raise _make_refusal("the URL names no user")
    if not database:
        raise _make_refusal("the URL names no database")
    options = _read_options(query)
    host, port = _parse_host(host_port)
    socket = options.get("socket", "")
    if not (host or socket):
        raise _make_refusal("the URL names neither a host nor a socket")
    if socket and host not in ("", "localhost"):
        raise _make_refusal("the URL names a host and a socket", "take one of them out")
    given = [Secret(of) for of in (unquote(word), options.get("password", "")) if of]
    given += [_read_password(options["passfile"])] if options.get("passfile") else []
    return MariaDBAddress(
        host=host or "localhost", port=port, database=unquote(database), user=unquote(user),
        password=urls.choose_password(*given, password), socket=socket,
        tls=options.get("tls", "disable" if socket else "prefer"), ca=options.get("ca", ""),
        connect_timeout_s=max(0, int(options.get("connect_timeout") or 0)) or PATIENCE_S,
    )  # fmt: skip


def _parse_host(text: str) -> tuple[str, int]:
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\],]*)(?::([0-9]{1,5}))?", text)
    if found is None or not 0 < int(found[2] or "3306") < 2**16:
        raise _make_refusal("the URL's host or port cannot be read")
    return unquote(found[1]).strip("[]"), int(found[2] or "3306")


def _read_options(query: str) -> Mapping[str, str]:
    options = urls.parse_options(query, OPTIONS)
    for name in ("socket", "ca", "passfile"):
        if options.get(name, "/")[:1] != "/" and (name, options[name]) != ("ca", SYSTEM_ROOTS):
            raise _make_refusal(f"the URL's {name} is no absolute path")
    if re.fullmatch(r"|[-+]?[0-9]{1,9}", options.get("connect_timeout", "")) is None:
        raise _make_refusal("the URL's connect_timeout is no whole number of seconds")
    if "tls" in options and options["tls"] not in TLS:
        raise _make_refusal(f"the URL's tls is none of {', '.join(TLS)}")
    if options.get("tls", "").startswith("verify") and options.get("socket"):
        raise _make_refusal("a socket has no certificate to verify", "take tls out")
    tls, ca = options.get("tls", ""), options.get("ca", "")
    if tls in ("verify-ca", "verify-full") and not ca:
        remedy = "name a file of root certificates with ca=, or ca=system"
        raise _make_refusal(f"tls is {tls}, and there is no certificate to verify with", remedy)
    if ca == SYSTEM_ROOTS and tls != "verify-full":
        raise _make_refusal("tls is too weak for ca=system", "give tls=verify-full")
    if ca not in ("", SYSTEM_ROOTS):
        urls.require_certificates(ca)
    return options


def write_password(password: Secret) -> str:
    """Write a password as a file of options of the client programs."""
    word = password.reveal().replace("\\", "\\\\").replace('"', '\\"')
    return f'[client]\npassword="{word}"\n'


def _read_password(path: str) -> Secret:
    """Read what `write_password` wrote."""
    try:
        found = re.search(r'^password="(.*)"$', Path(path).read_text(), re.MULTILINE)
    except OSError as error:
        problem = f"the file with the password cannot be read: {give_reason(error)}"
        remedy = "name one that this user may read with passfile="
        raise UserError(problem, where=path, remedy=remedy) from error
    if found is None:
        problem, remedy = "the file has no password", 'write [client] and password="…" into it'
        raise UserError(problem, where=path, remedy=remedy)
    return Secret(re.sub(r"\\(.)", r"\1", found[1]))


def _make_refusal(problem: str, remedy: str = _EXAMPLE) -> UserError:
    return urls.make_url_refusal(problem, remedy)


CLIENT = Package("mariadb-client", "mariadb")
"""What brings MariaDB's own client programs."""


def list_client_words(url: Secret) -> list[str]:
    """Give the words by which a program finds an instance that Stithy started, as its own account.

    The first keeps it from reading files of options.
    """
    return ["--no-defaults", f"--socket={parse_url(url).socket}", f"--user={ADMIN}"]


def make_client_environment(url: Secret) -> Mapping[str, str]:
    """Give its password, and messages in English."""
    password = parse_url(url).password
    return {"MYSQL_PWD": password.reveal() if password else "", "LC_ALL": "C"}
