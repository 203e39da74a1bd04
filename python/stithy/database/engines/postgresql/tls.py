"""Whether a connection is encrypted, and whom it believes: `sslmode` and `sslrootcert`, as libpq.

The hammer reads the same options by itself, see `crates/hammer/src/client/postgresql/tls.rs`.
Source: PostgreSQL's manual, "SSL Support" of libpq, "SSL Session Encryption".
"""

import socket
import ssl
from dataclasses import dataclass
from enum import Enum, auto

from stithy.errors import UserError, reason_of

SYSTEM_ROOTS = "system"
"""As `sslrootcert`: the certificates that this machine believes."""

_REQUEST = bytes.fromhex("00000008 04d2162f")
"""Asks a server for TLS; one byte answers."""


class Way(Enum):
    """One attempt to get a session."""

    PLAIN = auto()
    OFFERED = auto()
    """Encrypted if the server can."""
    DEMANDED = auto()


WAYS = {
    "disable": (Way.PLAIN,),
    "allow": (Way.PLAIN, Way.OFFERED),
    "prefer": (Way.OFFERED, Way.PLAIN),
    "require": (Way.DEMANDED,),
    "verify-ca": (Way.DEMANDED,),
    "verify-full": (Way.DEMANDED,),
}
"""What each mode tries, in this order."""


class NotOffered(Exception):
    """TLS is demanded, and the server has none."""


class NoHandshake(Exception):
    """Both ends could not agree on how to encrypt; the cause says why."""


@dataclass(frozen=True)
class Tls:
    """How connections to a server are encrypted."""

    ways: tuple[Way, ...]
    context: ssl.SSLContext

    def encrypt(self, plain: socket.socket, way: Way, host: str) -> socket.socket:
        """The connection to what the URL calls `host`, encrypted as the way says.

        Raises NotOffered, NoHandshake, OSError.
        """
        if way is Way.PLAIN:
            return plain
        plain.sendall(_REQUEST)
        answer = plain.recv(1)
        if answer == b"S":
            return self._agreed(plain, host)
        if answer != b"N":
            # An error that is not encrypted may be anyone's; the server's log has it.
            closed = "it closed the connection"
            raise ConnectionError("it does not answer as PostgreSQL does" if answer else closed)
        if way is Way.DEMANDED:
            raise NotOffered("it offers no TLS")
        return plain

    def _agreed(self, plain: socket.socket, host: str) -> socket.socket:
        try:
            return self.context.wrap_socket(plain, server_hostname=host)
        except TimeoutError:
            raise
        except ssl.SSLError as error:
            raise NoHandshake(error.reason or "no reason") from error
        except OSError as error:
            raise NoHandshake(reason_of(error)) from error


def tls(mode: str | None, root: str | None) -> Tls:
    """`root` is a file of certificates or `system`; both are None where the URL does not say.

    Raises UserError for what contradicts itself, and for a file that cannot be used.
    """
    mode = mode or ("verify-full" if root == SYSTEM_ROOTS else "prefer")
    _refuse_contradiction(mode, root)
    # libpq looks at no certificate either where a connection may go unencrypted.
    if root is None or Way.DEMANDED not in WAYS[mode]:
        return Tls(WAYS[mode], _believing())
    return Tls(WAYS[mode], _verifying(root, name=mode == "verify-full"))


def _refuse_contradiction(mode: str, root: str | None) -> None:
    problem, remedy = "", ""
    if mode not in WAYS:
        problem, remedy = f"sslmode is {mode!r}", f"give one of {', '.join(WAYS)}"
    elif root is None and mode.startswith("verify-"):
        problem = f"sslmode is {mode}, and there is no certificate to verify with"
        remedy = "name a file of root certificates with sslrootcert=, or sslrootcert=system"
    elif root == SYSTEM_ROOTS and mode != "verify-full":
        problem = f"sslmode is {mode}, which is too weak for sslrootcert=system"
        remedy = "give sslmode=verify-full"
    if problem:
        raise UserError(problem, where="database URL", remedy=remedy)


def _believing() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


def _verifying(root: str, *, name: bool) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=_file(root))
    made.check_hostname = name
    # Newer Pythons want more of a self-made certificate than libpq does.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made


def _file(root: str) -> str | None:
    """The file of certificates, looked at; None for those of the system."""
    if root == SYSTEM_ROOTS:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(root)
    except OSError as error:
        raise UserError(
            f"the root certificates cannot be read: {reason_of(error)}",
            where=root,
            remedy="name a file of certificates in PEM format with sslrootcert=",
        ) from error
    return root
