"""Who may reach a scheduler."""

from pathlib import Path

import pytest

from stithy.agents.site import find_site
from stithy.errors import UserError
from support.agent_hosts import make_certificate


def test_a_site_is_an_address_with_a_scheme(tmp_path: Path) -> None:
    """Loopback needs no certificate; with one every address does."""
    pem = make_certificate(tmp_path)
    assert find_site("localhost:1", None).address == "tcp://localhost:1"
    far = find_site("10.0.0.1:8786", pem)
    assert (far.address, far.host, far.port) == ("tls://10.0.0.1:8786", "10.0.0.1", 8786)
    assert find_site("[::1]:9", None).host == "::1"


@pytest.mark.parametrize(
    ("address", "because"),
    [
        ("10.0.0.1:8786", "asks nobody for a certificate"),
        ("0.0.0.0:8786", "asks nobody for a certificate"),
        ("tcp://lab:8786", "asks nobody for a certificate"),
        ("lab", "not the address"),
        ("http://lab:1", "not the address"),
    ],
)
def test_what_anybody_could_reach_is_refused(address: str, because: str) -> None:
    """Whoever reaches a scheduler may start programs, and passwords travel by it."""
    with pytest.raises(UserError, match=because):
        find_site(address, None)


def test_others_may_not_read_the_key_and_it_is_there(tmp_path: Path) -> None:
    """As of password files; OpenSSL names no file, and says that its library failed."""
    make_certificate(tmp_path)
    for end, because in (("pem", "read this key"), ("crt", "no private key"), ("key", "no cert")):
        path = tmp_path / f"agents.{end}"
        path.chmod(0o644 if end == "pem" else 0o600)
        with pytest.raises(UserError, match=because):
            find_site("10.0.0.1:8786", path)
