"""Placeholder."""


def test_nothing() -> None:
    """Nothing."""
