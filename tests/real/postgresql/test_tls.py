"""Stithy's own connections to a real PostgreSQL with TLS: what a URL says reaches libpq."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.url import parse_url
from stithy.errors import InfrastructureError, PreconditionError
from stithy.secrets import Secret
from support.offers import QUOTED, WORD, Offer, offer

pytestmark = pytest.mark.needs_postgresql

TLS = Path(__file__).resolve().parents[2] / "data" / "tls"
ROOT = f"sslrootcert={TLS}/server.pem"
ENCRYPTED = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"


@pytest.fixture(scope="module")
def there() -> Iterator[Offer]:
    """A server with a certificate for localhost, which asks for a password."""
    with offer(TLS / "server.pem") as made:
        yield made


def _value(there: Offer, options: str, sql: str) -> object:
    # By name for the certificate, and at the address that the server listens on.
    url = there.url("postgres").replace("@127.0.0.1", f":{QUOTED}@localhost")
    with connect(parse_url(Secret(f"{url}?hostaddr=127.0.0.1&{options}"))) as session:
        [[value]] = session.run(sql)
    return value


def test_a_connection_is_encrypted_and_believed_as_the_url_says(there: Offer) -> None:
    """The hammer's are, too: crates/hammer/tests/hammer/tls.rs."""
    for options, encrypted in (
        ("sslmode=disable", False), ("", True), ("channel_binding=require", True),
        (f"sslmode=verify-full&{ROOT}", True), (f"sslmode=require&{ROOT}", True),
    ):  # fmt: skip
        assert _value(there, options, ENCRYPTED) is encrypted, options
    for options, remedy in (
        ("sslmode=verify-full&sslrootcert=system", "sslrootcert"),
        (f"sslmode=require&sslrootcert={TLS}/other.pem", "sslrootcert"),
        ("sslmode=disable&channel_binding=require", "scram-sha-256"),
    ):
        with pytest.raises(PreconditionError) as caught:
            _value(there, options, ENCRYPTED)
        assert remedy in caught.value.remedy
    assert _value(there, "options=-csearch_path%3Delsewhere", "SHOW search_path") == "elsewhere"


def test_an_answer_that_does_not_come_is_given_up(there: Offer) -> None:
    """The connection is of no use then, and is closed without waiting for it."""
    target = parse_url(Secret(there.url("postgres")), Secret(WORD))
    began_s = time.monotonic()
    with (
        pytest.raises(InfrastructureError, match="did not answer.*timeout expired"),
        connect(target, timeout_s=0.5) as session,
    ):
        session.run("SELECT pg_sleep(60)")
    assert time.monotonic() - began_s < 30
