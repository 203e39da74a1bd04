"""The start of a session with pg8000: how the password is proven, and whether it is bound to TLS.

The hammer proves it in the same way, see `crates/hammer/src/client/postgresql/startup.rs`.
Source: PostgreSQL's manual, "SASL Authentication", and `channel_binding` of libpq.
"""

import ssl
from collections.abc import Mapping
from typing import Any

import pg8000.native  # type: ignore[import-untyped]  # it has no types

from stithy.errors import UserError

BINDINGS = ("disable", "prefer", "require")

_OK, _SASL, _SASL_CONTINUE, _SASL_FINAL = 0, 10, 11, 12
_BOUND = b"SCRAM-SHA-256-PLUS"


class NotBound(Exception):
    """Channel binding is demanded, and the server cannot do it, or did not."""


class _Unbound:
    """An encrypted connection that pg8000 does not take for one: so it binds no password to it."""

    def __init__(self, encrypted: ssl.SSLSocket) -> None:
        self.makefile, self.close = encrypted.makefile, encrypted.close


class Session(pg8000.native.Connection):  # type: ignore[misc]  # it has no types
    """pg8000's connection, which refuses a server that asks for less than the URL demands.

    That may be another one: it gets no password, nor a hash of it. Raises what pg8000 does, and
    NotBound.
    """

    def __init__(self, opened: Any, binding: str | None, how: Mapping[str, Any]) -> None:
        """`opened` is the connection's socket; `how` goes to pg8000."""
        encrypted = isinstance(opened, ssl.SSLSocket)
        self._demands_binding, self._can_bind = binding == "require", encrypted
        self._begun_bound = self._proven_bound = False
        hidden = encrypted and binding == "disable"
        super().__init__(sock=_Unbound(opened) if hidden else opened, ssl_context=False, **how)

    def handle_AUTHENTICATION_REQUEST(self, data: bytes, context: Any) -> None:  # noqa: N802 pg8000's
        """Answer the server's question for a proof; its kind is a number before the data."""
        kind = int.from_bytes(data[:4])
        if kind == _SASL:
            self._begun_bound = self._can_bind and _BOUND in data[4:].split(b"\0")
        if self._demands_binding and not self._is_bound(kind):
            raise NotBound("the server cannot bind the password to the TLS connection")
        try:
            super().handle_AUTHENTICATION_REQUEST(data, context)
        except pg8000.core.scramp.ScramException as error:
            raise pg8000.native.InterfaceError("no proof of the password") from error
        self._proven_bound = self._begun_bound and kind == _SASL_FINAL

    def _is_bound(self, kind: int) -> bool:
        if kind == _OK:
            return self._proven_bound  # the server has proven that it knows the password, too
        return self._begun_bound and kind in (_SASL, _SASL_CONTINUE, _SASL_FINAL)


def refuse_unknown_binding(binding: str | None) -> None:
    """Raise UserError for a `channel_binding` that there is not."""
    if binding is not None and binding not in BINDINGS:
        raise UserError(
            f"channel_binding is {binding!r}",
            where="database URL",
            remedy=f"give one of {', '.join(BINDINGS)}",
        )
