"""What the URL of a PostgreSQL database says, as libpq's own parser reads it.

The hammer follows the options that are listed here and no others; what it cannot follow is refused
before anything is connected. No message holds a part of a URL that could be one of its password.
Source: PostgreSQL's manual, "Connection URIs".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from os.path import expanduser
from pathlib import Path

from stithy.engines.urls import choose_password, make_url_refusal, write_url
from stithy.errors import UserError
from stithy.needs import Package
from stithy.secrets import Secret

OPTIONS = (
    *("host", "hostaddr", "port", "user", "password", "dbname", "passfile", "options"),
    *("connect_timeout", "channel_binding", "sslmode", "sslrootcert"),
)
CHOICES = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "channel_binding": ("disable", "prefer", "require"),
}
SYSTEM_ROOTS = "system"
"""As `sslrootcert`: the certificates that this machine believes."""

_ROOT_FILES = (
    *("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"),
    *("/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"),
)
"""Where systems keep them: Debian, Fedora, openSUSE, Alpine."""

PATIENCE_S = 10
"""How long a server may take until there is a session, where its URL does not say it."""

_EXAMPLE = (
    "write it as postgresql://me@host:5432/database or postgresql://me@/database?host=/run/pg, and "
    "percent-encode all but letters and digits: me:p@ss/w@host is me:p%40ss%2Fw@host"
)


@dataclass(frozen=True)
class ServerAddress:
    """What a URL names; `host` is a name, an address, or the directory of a Unix socket.

    `hostaddr` is where to call instead of looking up the name. `options` are words for the server.
    """

    host: str
    hostaddr: str
    port: int
    database: str
    user: str
    password: Secret | None
    passfile: str
    options: str
    connect_timeout_s: int
    channel_binding: str
    sslmode: str
    sslrootcert: str

    @property
    def place(self) -> str:
        """For messages: where it is, without the password."""
        is_socket = self.host.startswith("/")
        where = f"{self.host}/.s.PGSQL.{self.port}" if is_socket else f"{self.host}:{self.port}"
        return f"{where}, database {self.database}"

    @property
    def root(self) -> str:
        """The file of certificates to verify with, as libpq finds it; empty where nothing is.

        Raises UserError where it has to be there and is not.
        """
        if self.sslmode not in ("require", "verify-ca", "verify-full"):
            return ""
        usual = Path(expanduser("~/.postgresql/root.crt"))
        root = self.sslrootcert or (str(usual) if usual.is_file() else "")
        if root == SYSTEM_ROOTS:
            root = next((file for file in _ROOT_FILES if Path(file).is_file()), _ROOT_FILES[0])
        if not root and self.sslmode != "require":
            raise _make_refusal(
                f"sslmode is {self.sslmode}, and there is no certificate to verify with",
                "name a file of root certificates with sslrootcert=, or sslrootcert=system",
            )
        if root and not Path(root).is_file():
            remedy = "name a file of certificates in PEM format with sslrootcert="
            raise UserError("there is no such file of root certificates", where=root, remedy=remedy)
        return root and str(Path(root).absolute())

    @property
    def url(self) -> Secret:
        """The URL for the hammer: everything by name, and nothing that has to be found."""
        options = {
            "host": self.host,
            "port": str(self.port),
            "hostaddr": self.hostaddr,
            "options": self.options,
            "connect_timeout": str(self.connect_timeout_s),
            "channel_binding": self.channel_binding,
            "sslmode": self.sslmode,
            "sslrootcert": self.root,
        }
        return write_url("postgresql", self.user, self.password, "", self.database, options)


def parse_url(url: Secret, password: Secret | None = None) -> ServerAddress:
    """What the URL names; `password` is one that is given beside it.

    Raises UserError for what is no such URL, and for what the hammer cannot follow; does not look
    at the machine.
    """
    text = url.reveal()
    given = _parse(text)
    _refuse_unfollowed(text, given)
    word = Secret(given["password"]) if given.get("password") else None
    chosen = choose_password(word, password)
    is_system = given.get("sslrootcert") == SYSTEM_ROOTS
    sslmode = given.get("sslmode", "verify-full" if is_system else "prefer")
    if is_system and sslmode != "verify-full":
        problem = f"sslmode is {sslmode}, which is too weak for sslrootcert=system"
        raise _make_refusal(problem, "give sslmode=verify-full")
    return ServerAddress(
        host=given["host"],
        hostaddr=given.get("hostaddr", ""),
        port=int(given.get("port") or 5432),
        database=given.get("dbname") or given["user"],
        user=given["user"],
        password=chosen,
        passfile=given.get("passfile", ""),
        options=given.get("options", ""),
        connect_timeout_s=max(0, int(given.get("connect_timeout") or 0)) or PATIENCE_S,
        channel_binding=given.get("channel_binding", "prefer"),
        sslmode=sslmode,
        sslrootcert=given.get("sslrootcert", ""),
    )


def _parse(text: str) -> dict[str, str]:
    from psycopg import ProgrammingError  # the plug-in is loaded by each command: 150 ms
    from psycopg.conninfo import conninfo_to_dict

    if not text.startswith(("postgresql://", "postgres://")):
        raise _make_refusal("the URL is not one of a PostgreSQL database")
    try:
        if re.search(r"\s", text):
            raise ProgrammingError
        return {name: str(value) for name, value in conninfo_to_dict(text).items()}
    except UnicodeDecodeError:
        raise _make_refusal("the URL cannot be read") from None
    except ProgrammingError as error:
        # libpq quotes what it stumbles over, and that may be a piece of the password.
        if "invalid URI query parameter" in str(error):
            raise _make_refusal("the URL has an option that is not followed", _LEAVE) from None
        raise _make_refusal("the URL cannot be read") from None


def _refuse_unfollowed(text: str, given: Mapping[str, str]) -> None:
    """Refuse what is most likely meant otherwise, is looked up elsewhere, or is tried in turn."""
    rest = text.partition("://")[2]
    login = re.match(r"[^@/]*@", rest)
    if "@" in rest[login.end() if login else 0 :].partition("?")[0]:
        raise _make_refusal("the URL has an @ after the one before the host")
    if unfollowed := [name for name in given if name not in OPTIONS]:
        raise _make_refusal(
            f"the URL has the option {unfollowed[0]}, which is not followed", _LEAVE
        )
    if any("," in given.get(name, "") for name in ("host", "hostaddr", "port")):
        raise _make_refusal("the URL names more than one host; one server is driven at a time")
    if not given.get("host"):
        raise _make_refusal("the URL names neither a host nor a socket directory")
    if not given.get("user"):
        raise _make_refusal("the URL names no user")
    try:
        ip_address(given.get("hostaddr") or "::")
    except ValueError:
        raise _make_refusal("the URL's hostaddr is no address") from None
    if not _is_whole(given.get("port") or "5432", range(1, 2**16)):
        raise _make_refusal("the URL's port is no number from 1 to 65535")
    if not _is_whole(given.get("connect_timeout") or "0", range(-(2**31), 2**31)):
        raise _make_refusal("the URL's connect_timeout is no whole number of seconds")
    for name, choices in CHOICES.items():
        if given.get(name, choices[0]) not in choices:
            raise _make_refusal(f"the URL's {name} is none of {', '.join(choices)}")


def _is_whole(text: str, allowed: range) -> bool:
    return re.fullmatch(r"[-+]?[0-9]+", text) is not None and int(text) in allowed


_LEAVE = f"leave it out; followed are {', '.join(OPTIONS)}"


def _make_refusal(problem: str, remedy: str = _EXAMPLE) -> UserError:
    return make_url_refusal(problem, remedy)


CLIENT = Package("postgresql-client", "postgresql")
"""What brings PostgreSQL's own client programs."""


def list_client_words(url: Secret) -> list[str]:
    """The words by which a program finds the server; a password is asked of nobody."""
    target = parse_url(url)
    return ["--no-password", f"--host={target.host}", f"--username={target.user}"]


def make_client_environment(url: Secret) -> Mapping[str, str]:
    """Its password, and messages in English."""
    password = parse_url(url).password
    return {"PGPASSWORD": password.reveal() if password else "", "LC_ALL": "C"}
