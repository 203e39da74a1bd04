"""Passwords that can be used but neither printed nor written to results by accident."""

import re
import secrets as _secrets
import stat
from os.path import expanduser
from pathlib import Path
from shlex import quote

from stithy.environment import read_variable
from stithy.errors import UserError, give_reason

VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""What an environment variable may be called that a study names."""


class Secret:
    """A value that shows itself as `***` everywhere but through `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one place that must hand it on."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    def __reduce__(self) -> str:
        raise TypeError("a Secret is never serialised")


def generate_password() -> Secret:
    """A fresh password of 192 random bits, safe in URLs."""
    return Secret(_secrets.token_urlsafe(24))


def mask_passwords(text: str) -> str:
    """The text with a star for each character of a password in a URL.

    >>> masked("url: postgresql://me:word@host/db, and on")
    'url: postgresql://me:****@host/db, and on'
    >>> masked("postgresql://me@host/db?password=word&sslmode=require")
    'postgresql://me@host/db?password=********************'
    """
    text = re.sub(r"(?<=://)([^\s:/@]*:)(\S*)(?=@)", lambda of: of[1] + "*" * len(of[2]), text)
    return re.sub(r"""([?&]password=)([^\s"']*)""", lambda of: of[1] + "*" * len(of[2]), text)


def read_given_secret(
    name: str | None, file: str | None, key: str = "password_file"
) -> Secret | None:
    """The secret that a variable or a file holds, for one that a person names; None for neither.

    `key`: the key of the study that names the file.

    Raises UserError where it is not there, or others may read it.
    """
    if name is not None:
        if value := read_variable(name):
            return Secret(value)
        raise UserError("this variable is not set", where=name, remedy=f"export {name}=…")
    if file is not None:
        path = Path(expanduser(file))
        return Secret(read_closed_text(path, f"correct `{key}` in the study").rstrip("\r\n"))
    return None


def read_closed_text(path: Path, remedy: str, what: str = "password file") -> str:
    """Read a secret file, which its owner alone may read. Raises UserError."""
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UserError(
                f"other users may read this {what}",
                where=str(path),
                remedy=f"close it: chmod 600 {quote(str(path))}",
            )
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problem = f"the {what} is not UTF-8"
        raise UserError(problem, where=str(path), remedy=remedy) from error
    except OSError as error:
        problem = f"the {what} cannot be read: {give_reason(error)}"
        raise UserError(problem, where=str(path), remedy=remedy) from error
