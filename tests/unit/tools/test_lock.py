"""Cutting one package out of a lock."""

from lock import only

LOCK = "a==1 \\\n    --hash=sha256:1\nab==2 \\\n    --hash=sha256:2\n    --hash=sha256:3\nb==4\n"


def test_a_package_keeps_its_hashes() -> None:
    """Every line from its name to the next."""
    assert only("ab", LOCK) == "ab==2 \\\n    --hash=sha256:2\n    --hash=sha256:3\n"


def test_a_package_that_is_not_there_gives_nothing() -> None:
    """Names are compared whole."""
    assert only("abc", LOCK) == ""
