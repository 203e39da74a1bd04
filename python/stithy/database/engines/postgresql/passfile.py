"""Passwords that a URL does not hold but names a file for: `?passfile=…`, in libpq's form.

`stithy run --keep` prints such URLs. psql reads the file by itself; the hammer and Stithy's own
connections get the password put in.
Source: PostgreSQL's manual, "The Password File".
"""

import csv
from pathlib import Path
from urllib.parse import quote, unquote, urlencode, urlsplit

from stithy.database.engines.postgresql.connection import Target, options_of, parse_url
from stithy.errors import UserError
from stithy.secrets import Secret, closed_text

OPTION = "passfile"


def with_password(url: Secret) -> Secret:
    """The URL with the password of its `passfile` in it; as it is where it names none.

    Raises UserError for a file that cannot be read, that others may read, or that has no password
    for what the URL names.
    """
    target = parse_url(url)
    parts = urlsplit(url.reveal())
    options = list(options_of(parts))
    named = [value for name, value in options if name == OPTION]
    if not named:
        return url
    rest = urlencode([each for each in options if each[0] != OPTION], quote_via=quote, safe="/")
    if target.password is not None:
        return Secret(parts._replace(query=rest).geturl())
    password = quote(_password(Path(named[-1]), target), safe="")
    _, _, place = parts.netloc.rpartition("@")
    where = f"{quote(target.user, safe='')}:{password}@{place}"
    # Written by hand: with an empty host, as for a socket, urlunsplit would leave out the slashes.
    return Secret(f"{parts.scheme}://{where}{parts.path}?{rest}")


def without_password(url: Secret, folder: Path) -> str:
    """The URL with a file of `folder` in place of the password; its owner alone may read it."""
    parts = urlsplit(url.reveal())
    file = folder / "pgpass"
    file.touch(mode=0o600)
    password = unquote(parts.password or "").replace("\\", "\\\\").replace(":", "\\:")
    file.write_text(f"*:*:*:*:{password}\n")
    name = f"{parts.username}@" if parts.username else ""
    return f"{parts.scheme}://{name}{parts.path}?{parts.query}&{OPTION}={file}"


def _password(path: Path, target: Target) -> str:
    """That of the first line whose host, port, database and user are those of the target."""
    named = (target.host, str(target.port), target.database, target.user)
    for line in _lines(path):
        # A backslash keeps the colon or backslash after it.
        fields = csv.reader([line], delimiter=":", escapechar="\\", quoting=csv.QUOTE_NONE)
        *said, password = next(fields)
        if len(said) == 4 and all(each in ("*", of) for each, of in zip(said, named, strict=True)):
            return password
    raise UserError(
        f"it has no password for user {target.user} of {target.place}",
        where=str(path),
        remedy="add a line host:port:database:user:password, or put the password into the URL",
    )


def _lines(path: Path) -> list[str]:
    text = closed_text(path, "correct `passfile` in the URL, or put the password into it")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
