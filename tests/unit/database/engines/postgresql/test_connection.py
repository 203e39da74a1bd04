"""URLs of PostgreSQL databases, and what is said when one cannot be reached."""

import socket
from pathlib import Path

import pytest

from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.errors import InfrastructureError, UserError
from stithy.secrets import Secret


def test_a_url_is_taken_apart() -> None:
    """Percent signs are undone, the password stays a Secret."""
    target = parse_url(Secret("postgresql://me:p%40ss@db.example:5433/shop?sslmode=require"))
    assert (target.host, target.port, target.database) == ("db.example", 5433, "shop")
    assert (target.user, target.sslmode) == ("me", "require")
    assert target.password is not None
    assert target.password.reveal() == "p@ss"
    assert "p@ss" not in repr(target) + target.place


def test_a_socket_is_named_by_its_directory() -> None:
    """As libpq does; the port is part of the socket's name."""
    target = parse_url(Secret("postgresql://me@/shop?host=/run/pg&port=5433"))
    assert target.is_socket
    assert target.place == "/run/pg/.s.PGSQL.5433, database shop"
    assert target.password is None


def test_a_socket_s_directory_keeps_its_capital_letters() -> None:
    """It may also stand, encoded, where a host does."""
    assert parse_url(Secret("postgresql://me@%2Ftmp%2FPg/shop")).host == "/tmp/Pg"
    assert parse_url(Secret("postgresql://me@[::1]:5433/shop")).host == "::1"


def test_a_problem_of_the_url_shows_no_password() -> None:
    """urllib quotes what it cannot read."""
    with pytest.raises(UserError) as caught:
        parse_url(Secret("postgresql://me:hu\u2100sh@db/shop"))
    assert "sh@" not in str(caught.value)


def test_missing_parts_have_defaults() -> None:
    """The database is called as the user is."""
    target = parse_url(Secret("postgres://localhost"))
    assert (target.host, target.port, target.user, target.database) == (
        "localhost", 5432, "postgres", "postgres",
    )  # fmt: skip


@pytest.mark.parametrize(
    "url",
    ["mysql://a/b", "shop", "postgresql://a:99999/b", "postgresql://[", "postgresql://a/b?port=x"],
)
def test_what_is_no_url_of_postgresql_is_refused_with_an_example(url: str) -> None:
    """The person sees what would be right."""
    with pytest.raises(UserError, match="write it as postgresql://user:password@host"):
        parse_url(Secret(url))


def test_a_refused_connection_names_the_place_and_not_the_password() -> None:
    """A port on which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(InfrastructureError) as caught:
            connect(parse_url(Secret(f"postgresql://me:hush@127.0.0.1:{port}/shop")))
    assert f"127.0.0.1:{port}, database shop" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_missing_socket_is_told_as_such(tmp_path: Path) -> None:
    """A server that is not started has none."""
    with pytest.raises(InfrastructureError, match="No such file or directory"):
        connect(parse_url(Secret(f"postgresql://me@/shop?host={tmp_path}")))
