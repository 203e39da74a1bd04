"""Passwords from libpq's password files."""

from pathlib import Path

import pytest

from stithy.database.engines.postgresql.connection import parse_url
from stithy.database.engines.postgresql.passfile import with_password
from stithy.errors import UserError
from stithy.secrets import Secret


def passfile(tmp_path: Path, text: str, mode: int = 0o600) -> Path:
    """A password file."""
    path = tmp_path / "pgpass"
    path.write_text(text)
    path.chmod(mode)
    return path


def url(path: Path) -> Secret:
    """A URL that names the file, as `stithy run --keep` prints it."""
    return Secret(f"postgresql://me@/db?host=/tmp/stithy-1/0&passfile={path}")


def test_the_password_is_put_into_the_url(tmp_path: Path) -> None:
    """Whatever characters it has; the rest of the URL stays."""
    found = with_password(url(passfile(tmp_path, "# mine\n*:*:*:*:p/w@\\:\\\\?\n")))
    target = parse_url(found)
    assert target.password is not None
    assert target.password.reveal() == "p/w@:\\?"
    assert (target.host, target.database, target.user) == ("/tmp/stithy-1/0", "db", "me")
    assert "passfile" not in found.reveal()


def test_the_first_line_that_fits_counts(tmp_path: Path) -> None:
    """By host, port, database and user."""
    lines = (
        "*:*:other:*:a\n*:5433:*:*:b\n*:5432:db:you:c\n/tmp/stithy-1/0:5432:db:me:d\n*:*:*:*:e\n"
    )
    target = parse_url(with_password(url(passfile(tmp_path, lines))))
    assert target.password is not None
    assert target.password.reveal() == "d"


def test_a_url_without_a_password_file_stays_as_it_is() -> None:
    """Its password too."""
    plain = Secret("postgresql://me:secret@localhost:5432/db?sslmode=require")
    assert with_password(plain) is plain


def test_a_password_in_the_url_wins(tmp_path: Path) -> None:
    """The file is not even read."""
    given = Secret(f"postgresql://me:mine@host/db?passfile={tmp_path}/none&sslmode=require")
    assert with_password(given).reveal() == "postgresql://me:mine@host/db?sslmode=require"


def test_files_that_do_not_serve_are_told(tmp_path: Path) -> None:
    """Missing, open to others, without a line that fits."""
    with pytest.raises(UserError, match="cannot be read: No such file"):
        with_password(url(tmp_path / "none"))
    with pytest.raises(UserError, match="other users may read this password file"):
        with_password(url(passfile(tmp_path, "*:*:*:*:x\n", mode=0o644)))
    with pytest.raises(UserError, match="no password for user me"):
        with_password(url(passfile(tmp_path, "*:*:*:you:x\nnonsense\n")))
