"""What the URL of a MariaDB or MySQL database says, as the hammer reads it, too.

What the hammer cannot follow is refused before anything is connected. No message holds a part of a
URL that could be one of its password.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stithy.engines import urls
from stithy.errors import UserError, give_reason
from stithy.needs import Package
from stithy.secrets import Secret

ROLE, ADMIN, DATABASE = "stithy", "stithy_admin", "stithy"
"""Of an instance that Stithy starts: the account of users, its own, and the database under test."""

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
_GRAMMAR = urls.Grammar(
    "MariaDB or MySQL", ("mariadb", "mysql"), 3306, OPTIONS, ("user", "database"), _EXAMPLE
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
    parts = _GRAMMAR.read(url)
    options = {name: value for name, value in parts.options.items() if value or name == "tls"}
    socket = options.get("socket", "")
    if not (parts.host or socket):
        raise _GRAMMAR.refuse("the URL names neither a host nor a socket")
    if socket and parts.host not in ("", "localhost"):
        raise _GRAMMAR.refuse("the URL names a host and a socket", "take one of them out")
    given = [Secret(of) for of in (parts.word, options.get("password", "")) if of]
    given += [_read_password(options["passfile"])] if "passfile" in options else []
    return MariaDBAddress(
        host=parts.host or "localhost", port=parts.port, database=parts.database, user=parts.user,
        password=urls.choose_password(*given, password), socket=socket,
        tls=_choose_tls(options), ca=options.get("ca", ""),
        connect_timeout_s=parts.get_patience_s(_GRAMMAR, PATIENCE_S),
    )  # fmt: skip


def _choose_tls(options: Mapping[str, str]) -> str:
    """Choose how to encrypt. Raises UserError for options that contradict each other."""
    for name in ("socket", "ca", "passfile"):
        if options.get(name, "/")[0] != "/" and (name, options[name]) != ("ca", SYSTEM_ROOTS):
            raise _GRAMMAR.refuse(f"the URL's {name} is no absolute path")
    ca, socket = options.get("ca", ""), options.get("socket")
    usual = "disable" if socket else "verify-full" if ca == SYSTEM_ROOTS else "prefer"
    tls = options.get("tls", usual)
    if tls not in TLS:
        raise _GRAMMAR.refuse(f"the URL's tls is none of {', '.join(TLS)}")
    if tls.startswith("verify") and socket:
        raise _GRAMMAR.refuse("a socket has no certificate to verify", "take tls out")
    if tls.startswith("verify") and not ca:
        remedy = "name a file of root certificates with ca=, or ca=system"
        raise _GRAMMAR.refuse(f"tls is {tls}, and there is no certificate to verify with", remedy)
    if ca == SYSTEM_ROOTS and tls != "verify-full":
        raise _GRAMMAR.refuse("tls is too weak for ca=system", "give tls=verify-full")
    if ca not in ("", SYSTEM_ROOTS) and tls not in ("disable", "prefer"):
        urls.require_certificates(ca)
    return tls


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
