"""URLs of PostgreSQL databases: what they name, where passwords come from, what a failure says."""

import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.url import PATIENCE_S, parse_url
from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError
from stithy.secrets import Secret, mask_passwords, read_given_secret
from support.listening import CLEAR, NOWHERE, listening, refusal

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(user=TEXT, password=TEXT, database=TEXT)
def test_whatever_a_url_names_the_hammer_gets(user: str, password: str, database: str) -> None:
    """Percent-encoded, and nothing of the password in what people read."""
    url = f"postgresql://{quote(user, safe='')}@h:7/{quote(database, safe='')}?options=-cx%3D%20y"
    target = parse_url(Secret(url), Secret(password))
    assert (target.user, target.database, target.options) == (user, database, "-cx= y")
    again = parse_url(target.url)
    assert again.password is not None
    assert again.password.reveal() == password
    assert replace(again, password=None) == replace(target, password=None)
    assert "password=***" in repr(target)


def test_places_are_told_apart() -> None:
    """By the socket's directory, too; and a file of certificates has a whole path."""
    for text, place in (
        ("me@h/d", "h:5432, database d"),
        ("me@[::1]:7/d", "::1:7, database d"),
        ("me@/d?host=/run/a", "/run/a/.s.PGSQL.5432, database d"),
        ("me@%2Frun%2Fb:7", "/run/b/.s.PGSQL.7, database me"),
    ):
        assert parse_url(Secret(f"postgresql://{text}")).place == place
    here = Path(__file__)
    for root, file in ((here, here), (here.relative_to(Path.cwd()), here)):
        url = Secret(f"postgresql://me@h/d?sslmode=verify-ca&sslrootcert={root}")
        assert parse_url(url).root == str(file)
    assert mask_passwords("x postgresql://u:a@b/c@h/d?password=a&b") == (
        f"x postgresql://u:{'*' * 5}@h/d?password={'*' * 3}"
    )
    with pytest.raises(UserError, match="another is given"):
        parse_url(Secret("postgresql://me:word@h/d"), Secret("word"))


def test_a_password_comes_from_where_libpq_looks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """URL, variable, file, in this order. Others of libpq count only by name."""
    file = tmp_path / "pgpass"
    file.touch(mode=0o600)
    file.write_text("localhost:*:other:me:no\nlocalhost:*:d:me:of\\:file\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in (("PGHOSTADDR", "127.0.0.9"), ("PGOPTIONS", "-cx=y"), ("PGSERVICE", "no"),
                        ("PGSSLMODE", "verify-full"), ("PGPASSWORD", "of-variable")):  # fmt: skip
        monkeypatch.setenv(name, value)
    with listening(CLEAR + NOWHERE) as there:
        at = f"localhost:{there.port}/d?hostaddr=127.0.0.1"
        for url, word in (
            (f"me:of-url@{at}", b"of-url"),
            (f"me@{at}&passfile={file}", b"of-variable"),
            (f"me@{at}&passfile={file}", b"of:file"),
        ):
            if word == b"of:file":
                monkeypatch.delenv("PGPASSWORD")
            with pytest.raises(PreconditionError, match="nowhere"):
                connect(parse_url(Secret(f"postgresql://{url}")))
            start, answer = there.last()
            assert b"p\0\0\0" in answer
            assert word + b"\0" in answer
            assert b"-cx=y" not in start
    named = read_given_secret("PGOPTIONS", None)
    assert named is not None
    assert named.reveal() == "-cx=y"


@pytest.mark.parametrize(("says", "kind", "remedy"), [
    (CLEAR, PreconditionError, "in PGPASSWORD"),
    (refusal("28P01", "password authentication failed"), PreconditionError, "percent-enc"),
    (refusal("28000", "no pg_hba.conf entry"), PreconditionError, "sslmode"),
    (refusal("57P03", "the database system is starting up"), InfrastructureError, "wait"),
    (refusal("53300", "sorry, too many clients already"), InfrastructureError, "raise max"),
    (refusal("42501", "permission denied for database"), PreconditionError, "GRANT CONNECT"),
    (refusal("08P01", "unsupported startup parameter: options"), PreconditionError, "pgbouncer"),
    (b"SSH-2.0\r\n", InfrastructureError, "correct host and port"),
])  # fmt: skip
def test_a_refusal_has_its_remedy(
    says: bytes, kind: type[StithyError], remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what the server says, as libpq keeps nothing else of it."""
    monkeypatch.delenv("PGPASSWORD", raising=False)
    with listening(says) as there, pytest.raises(kind, match="connection|reached") as caught:
        connect(parse_url(Secret(f"postgresql://me@127.0.0.1:{there.port}/d")))
    assert type(caught.value) is kind
    assert remedy in caught.value.remedy
    assert "\n" not in str(caught.value)


def test_a_silent_server_is_given_up_after_the_time_of_the_url(tmp_path: Path) -> None:
    """And one that is not there at once."""
    with listening(b"") as there:
        target = parse_url(Secret(f"postgresql://me@127.0.0.1:{there.port}/d?connect_timeout=2"))
        began_s = time.monotonic()
        with pytest.raises(InfrastructureError, match="timeout expired"):
            connect(target)
        assert 2 <= time.monotonic() - began_s < PATIENCE_S, "that of a URL that says nothing"
    with pytest.raises(InfrastructureError, match="No such file or directory"):
        connect(parse_url(Secret(f"postgresql://me@/d?host={tmp_path}")))
