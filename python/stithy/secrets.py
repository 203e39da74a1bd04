"""Passwords that can be used but neither printed nor written to results by accident."""

import secrets as _secrets


class Secret:
    """A value that shows itself as `***` everywhere but through `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        """Wrap `value`."""
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one place that must hand it on."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    def __reduce__(self) -> str:
        raise TypeError("a Secret is never serialised")


def generate_password() -> Secret:
    """A fresh password of 192 random bits, safe in URLs."""
    return Secret(_secrets.token_urlsafe(24))
