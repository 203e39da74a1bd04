"""Whether Stithy's own connections are encrypted, and whom they believe."""

import ssl
from pathlib import Path

import pytest

from stithy.database.engines.postgresql.tls import context, with_absolute_root
from stithy.errors import UserError
from stithy.secrets import Secret


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("disable", False), ("allow", False), (None, None), ("prefer", None), ("require", True)],
)
def test_modes_that_look_at_no_certificate_are_pg8000_s_own(
    mode: str | None, expected: bool | None
) -> None:
    """False never encrypts, None does where the server can, True insists and believes anyone."""
    assert context(mode, None) is expected


def test_a_verified_certificate_is_checked_as_far_as_asked() -> None:
    """The name only with `verify-full`, which is also what `system` means."""
    for mode in ("verify-full", None):
        full = context(mode, "system")
        assert isinstance(full, ssl.SSLContext)
        assert (full.check_hostname, full.verify_mode) == (True, ssl.CERT_REQUIRED)


@pytest.mark.parametrize(
    ("mode", "root", "word"),
    [
        ("sure", None, "verify-full"),
        ("verify-full", None, "sslrootcert"),
        ("verify-ca", None, "sslrootcert"),
        ("require", "system", "verify-full"),
        ("verify-ca", "/no/such", "/no/such"),
    ],
)
def test_what_contradicts_itself_is_refused(mode: str, root: str | None, word: str) -> None:
    """Before anything is opened, with what would be right."""
    with pytest.raises(UserError, match=word):
        context(mode, root)


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    """It is named."""
    (tmp_path / "root.crt").write_text("nothing")
    with pytest.raises(UserError, match=r"root\.crt"):
        context("verify-ca", str(tmp_path / "root.crt"))


def test_a_relative_file_is_made_whole_for_the_hammer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts in another directory; everything else stays as it is written."""
    monkeypatch.chdir(tmp_path)
    url = "postgresql://me:p%40ss@h/d?sslrootcert=a%20root.crt&sslmode=verify-ca"
    whole = with_absolute_root(Secret(url)).reveal()
    assert whole == f"{url}&sslrootcert={tmp_path}/a%20root.crt"
    for same in ("postgresql://h/d", "postgresql://h/d?sslrootcert=system", whole):
        assert with_absolute_root(Secret(same)).reveal() == same
