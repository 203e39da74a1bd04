"""Stithy's own connections to a real PostgreSQL with TLS: ways, bindings, options of the URL."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.errors import PreconditionError, StithyError
from stithy.secrets import Secret
from support.offers import PATIENCE_S, QUOTED, Offer, offer

pytestmark = pytest.mark.needs_postgresql

CERTIFICATE = Path(__file__).resolve().parents[2] / "data" / "tls" / "server.pem"
ENCRYPTED = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
RULES = """
hostssl all only_plain all reject
hostnossl all only_encrypted all reject
hostssl all clear all password
hostssl all trusted all trust
"""


@pytest.fixture(scope="module")
def there() -> Iterator[Offer]:
    """With users whom it admits in one way only, or without a bound password."""
    with offer(CERTIFICATE) as made:
        for line in RULES.split("\n"):
            if line:
                role = f"CREATE ROLE {line.split()[2]} LOGIN PASSWORD 'it''s a ''secret''/?'"
                made.ask("postgres", role, "stithy")
        rules = made.data / "pg_hba.conf"
        rules.write_text(RULES + rules.read_text())
        made.ask("postgres", "SELECT pg_reload_conf()", "stithy")
        until_s = time.monotonic() + PATIENCE_S
        while _encrypted(made, "only_encrypted", "sslmode=disable") is not None:
            assert time.monotonic() < until_s, "the server does not read its rules again"
            time.sleep(0.05)
        yield made


def _value(there: Offer, user: str, options: str, sql: str) -> object:
    url = there.url("postgres", user).replace("@127.0.0.1", f":{QUOTED}@localhost")
    # By name for the certificate, and at the address that the server listens on.
    with connect(parse_url(Secret(f"{url}?hostaddr=127.0.0.1&{options}"))) as session:
        [[found]] = session.run(sql)
    return found


def _encrypted(there: Offer, user: str, options: str) -> object:
    """Whether the connection is; None where the server refuses it."""
    try:
        return _value(there, user, options, ENCRYPTED)
    except StithyError:
        return None


@pytest.mark.parametrize(
    ("user", "options", "encrypted"),
    [
        ("bench", "sslmode=disable", False),
        ("bench", "sslmode=allow", False),
        ("bench", "", True),
        ("bench", "sslmode=require", True),
        ("bench", f"sslmode=verify-full&sslrootcert={CERTIFICATE}", True),
        ("only_encrypted", "sslmode=allow", True),
        ("only_encrypted", "sslmode=disable", None),
        ("only_plain", "sslmode=prefer", False),
        ("only_plain", "sslmode=require", None),
        *(("bench", f"sslmode=require&channel_binding={each}", True)
          for each in ("disable", "prefer", "require")),
    ],
)  # fmt: skip
def test_each_mode_encrypts_as_it_says(
    there: Offer, user: str, options: str, encrypted: bool | None
) -> None:
    """As the hammer does: crates/hammer/tests/hammer/tls.rs. A password is bound or not."""
    assert _encrypted(there, user, options) is encrypted


def test_a_binding_that_is_demanded_is_made_or_the_server_refused(there: Offer) -> None:
    """It would take the password in clear, or none at all; without the demand both are admitted."""
    for user in ("clear", "trusted"):
        assert _encrypted(there, user, "") is True
        with pytest.raises(PreconditionError, match="cannot bind the password"):
            _value(there, user, "channel_binding=require", ENCRYPTED)
    with pytest.raises(PreconditionError, match="cannot bind the password"):
        _value(there, "bench", "sslmode=disable&channel_binding=require", ENCRYPTED)


def test_options_and_the_password_of_the_url_count(there: Offer) -> None:
    """The password wins over that before the host; a session has the settings of the options."""
    options = f"options=-csearch_path%3Delsewhere&password={QUOTED}"
    with pytest.raises(PreconditionError, match="password authentication failed"):
        _value(there, "bench", "password=wrong", "SHOW search_path")
    assert _value(there, "bench", options, "SHOW search_path") == "elsewhere"
