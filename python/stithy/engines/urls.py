"""URLs of databases as several engines have them: what is read and written alike.

No message holds a part of a URL that could be one of its password.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from stithy.errors import UserError
from stithy.secrets import Secret


def make_url_refusal(problem: str, remedy: str) -> UserError:
    """Refuse a URL, which is not quoted."""
    return UserError(problem, where="database URL", remedy=remedy)


@dataclass(frozen=True)
class Grammar:
    """How URLs of an engine are written: as libpq's, but that no option may stand twice.

    `followed`: its options. `needed`: the parts that none may lack. `example`: how to write one.
    """

    product: str
    schemes: Sequence[str]
    port: int
    followed: Sequence[str]
    needed: Sequence[str]
    example: str

    def refuse(self, problem: str, remedy: str = "") -> UserError:
        """Refuse a URL; the remedy is how to write one, where nothing else is."""
        return make_url_refusal(problem, remedy or self.example)

    def read(self, url: Secret) -> "URLParts":
        """Read the parts of a URL, decoded, as the hammer reads them. Raises UserError."""
        scheme, _, rest = url.reveal().partition("://")
        if scheme not in self.schemes:
            raise self.refuse(f"the URL is not one of a {self.product} database")
        login, at, behind = rest.partition("@")
        if not at or "/" in login:
            login, behind = "", rest
        where, _, query = behind.partition("?")
        place, _, database = where.partition("/")
        found = _PLACE.fullmatch(place)
        if "@" in where or found is None:
            raise self.refuse("the URL cannot be read")
        user, _, word = login.partition(":")
        user, word, host = map(self.decode, (user, word, found[1] or found[2] or ""))
        port = self.decode(found[3] or "") or str(self.port)
        if not re.fullmatch(r"\+?[0-9]+", port) or not 0 < int(port) < 2**16:
            raise self.refuse("the URL's port is no number from 1 to 65535")
        parts = URLParts(
            user, word, host, int(port), self.decode(database), self._read_options(query)
        )
        for name in self.needed:
            if not vars(parts)[name]:
                raise self.refuse(f"the URL names no {name}")
        return parts

    def decode(self, text: str) -> str:
        """Decode what stands in a URL. Blanks, zeros and what is no UTF-8 cannot be read."""
        try:
            if re.search(r"\s|%(?![0-9A-Fa-f]{2})|%00", text):
                raise ValueError
            return unquote(text, errors="strict")
        except ValueError:
            raise self.refuse("the URL cannot be read") from None  # it names a part of it

    def _read_options(self, query: str) -> dict[str, str]:
        options: dict[str, str] = {}
        for part in query.removesuffix("&").split("&") if query else ():
            name, given, value = part.partition("=")
            if not given:
                raise self.refuse("the URL cannot be read")
            if (name := self.decode(name)) not in self.followed:
                problem = f"the URL has the option {name}, which is not followed"
                raise self.refuse(problem, f"leave it out; followed are {', '.join(self.followed)}")
            if name in options:
                raise self.refuse(f"the URL has the option {name} twice", "take one of them out")
            options[name] = self.decode(value)
        return options


_PLACE = re.compile(r"(?:\[([^\]]*)\]|([^:\[,][^:,]*)?)(?::([^,]*))?")


@dataclass(frozen=True)
class URLParts:
    """What stands in a URL; empty what does not, but for the port."""

    user: str
    word: str
    host: str
    port: int
    database: str
    options: Mapping[str, str]

    def get_patience_s(self, grammar: Grammar, default_s: int) -> int:
        """Give how long a connection may take, as `connect_timeout` says; default unless above 0.

        Raises UserError.
        """
        text = self.options.get("connect_timeout", "") or "0"
        if re.fullmatch(r"[-+]?[0-9]+", text) is None or not -(2**31) <= int(text) < 2**31:
            raise grammar.refuse("the URL's connect_timeout is no whole number of seconds")
        return max(0, int(text)) or default_s


def choose_password(*given: Secret | None) -> Secret | None:
    """Choose the password that is given. Raises UserError where there are two."""
    passwords = [password for password in given if password is not None]
    if len(passwords) > 1:
        problem = "the URL has a password, and another is given"
        raise make_url_refusal(problem, "take one of them out")
    return passwords[0] if passwords else None


def require_certificates(file: str) -> None:
    """Raise UserError where the file of certificates that a URL names as `ca` is not there."""
    if not Path(file).is_file():
        remedy = "name a file of certificates in PEM format with ca="
        raise UserError("there is no such file of certificates", where=file, remedy=remedy)


def write_host(host: str) -> str:
    """Write a host as a URL has it: a name, or an address."""
    return f"[{host}]" if ":" in host else quote(host)


def write_url(
    scheme: str,
    user: str,
    password: Secret | None,
    server: str,
    database: str,
    options: Mapping[str, str],
) -> Secret:
    """Write a URL; `server`: host and port as they stand in it. Options without a value are out."""
    word = "" if password is None else f":{quote(password.reveal(), safe='')}"
    given = (f"{name}={quote(value, safe='/')}" for name, value in options.items() if value)
    login, name = f"{quote(user, safe='')}{word}", quote(database, safe="")
    return Secret(f"{scheme}://{login}@{server}/{name}?{'&'.join(given)}")
