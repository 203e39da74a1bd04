"""A connection to a SQL Server by URL, for what Stithy itself asks of it.

Transactions of a workload never go this way.
"""

import logging
import socket
import ssl
import struct
from collections.abc import Sequence
from typing import Any

import pytds

from stithy.engines.sqlserver.given import SQLServerAddress
from stithy.errors import InfrastructureError, PreconditionError, StithyError, give_reason

MASTER = "master"
PRELOGIN, HEADER = 0x12, struct.Struct(">BBHHBB")
ENCRYPTION, END = 1, 0xFF
OFF, ON, NOT_SUPPORTED, REQUIRED = 0, 1, 2, 3
PACKET_MOST, CHUNK = 4096, 65536


class UnencryptedError(Exception):
    """The server offers no encryption, and the URL asks for it."""


def make_context(target: SQLServerAddress) -> ssl.SSLContext:
    """Give how the server's certificate is verified."""
    context = ssl.create_default_context(cafile=target.ca or None)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # those that servers make for themselves
    if target.trusts_any or not (target.encrypts or target.ca):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    # What follows the handshake of a later version would have to be in packets, too.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def find_encryption(message: bytes | bytearray) -> int:
    """Find where a PRELOGIN message, without its header, has its byte of encryption."""
    at = 0
    while at + 5 <= len(message) and message[at] != END:
        token, offset, length = struct.unpack_from(">BHH", message, at)
        if token == ENCRYPTION and length and offset < len(message):
            return int(offset)
        at += 5
    raise ssl.SSLError("the server's answer to the first message cannot be read")


class TLSTransport:
    """A socket as python-tds uses one, with TLS of Python's own library below TDS.

    Its handshake lies in TDS packets. python-tds would need pyOpenSSL for it: it speaks plainly to
    this, which negotiates with the server in its place.
    Source: [MS-TDS], sections 2.2.6.5 (PRELOGIN) and 3.2.5.1.
    """

    def __init__(self, sock: socket.socket, target: SQLServerAddress) -> None:
        self._raw, self._target = sock, target
        self._tls: ssl.SSLObject | None = None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._ready = bytearray()
        self._is_new, self._only_login = True, False

    @property
    def is_encrypted(self) -> bool:
        return self._tls is not None

    def settimeout(self, timeout: float | None) -> None:
        """Leave the socket's own, which `connect` sets."""

    def gettimeout(self) -> float | None:
        """As of a socket."""
        return self._raw.gettimeout()

    def setsockopt(self, *option: int) -> None:
        """As of a socket."""
        self._raw.setsockopt(*option)

    def close(self) -> None:
        """As of a socket."""
        self._raw.close()

    def sendall(self, data: bytes, flags: int = 0) -> None:
        """Send; the first message is the one that asks for encryption."""
        if self._is_new:
            self._is_new = False
            self._settle_encryption(bytearray(data))
        elif self._tls is None:
            self._raw.sendall(data)
        else:
            self._tls.write(bytes(data))
            self._raw.sendall(self._outgoing.read())
            if self._only_login and data[1] & 1:  # the last packet of the login
                self._tls = None

    def recv_into(self, buffer: bytearray | memoryview, size_bytes: int = 0, flags: int = 0) -> int:
        """Receive into a buffer."""
        data = self.recv(size_bytes or len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def recv(self, size_bytes: int) -> bytes:
        """Receive what is there, at least a byte unless the server has closed."""
        if self._ready:
            data = bytes(self._ready[:size_bytes])
            del self._ready[:size_bytes]
            return data
        if self._tls is None:
            return self._raw.recv(size_bytes)
        while True:
            try:
                return self._tls.read(size_bytes)
            except ssl.SSLWantReadError:
                if not (data := self._raw.recv(CHUNK)):
                    return b""
                self._incoming.write(data)

    def _settle_encryption(self, packet: bytearray) -> None:
        """Ask for encryption, shake hands where the server agrees, and hand its answer on."""
        wanted = ON if self._target.encrypts else OFF
        packet[HEADER.size + find_encryption(packet[HEADER.size :])] = wanted
        self._raw.sendall(packet)
        header, body = self._read_packet()
        at = find_encryption(body)
        agreed, body[at] = body[at], NOT_SUPPORTED
        if wanted == ON and agreed not in (ON, REQUIRED):
            raise UnencryptedError
        if agreed != NOT_SUPPORTED:
            self._complete_handshake()
            self._only_login = agreed == OFF
        self._ready += header + body

    def _complete_handshake(self) -> None:
        self._tls = make_context(self._target).wrap_bio(
            self._incoming, self._outgoing, server_hostname=self._target.host
        )
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._send_handshake()
                self._incoming.write(self._read_packet()[1])
            else:
                return self._send_handshake()

    def _send_handshake(self) -> None:
        while data := self._outgoing.read(PACKET_MOST - HEADER.size):
            is_last = self._outgoing.pending == 0
            head = HEADER.pack(PRELOGIN, is_last, HEADER.size + len(data), 0, 0, 0)
            self._raw.sendall(head + data)

    def _read_packet(self) -> tuple[bytes, bytearray]:
        header = self._read_exactly(HEADER.size)
        return bytes(header), self._read_exactly(HEADER.unpack(header)[2] - HEADER.size)

    def _read_exactly(self, size_bytes: int) -> bytearray:
        data = bytearray()
        while len(data) < size_bytes:
            if not (more := self._raw.recv(size_bytes - len(data))):
                # Not a ConnectionError, which python-tds would wait for to go away.
                raise ssl.SSLError("the server closed the connection at its beginning")
            data += more
        return data


class ServerError(InfrastructureError):
    """What the server refuses, in its words; `number` is its own, 0 where it is gone."""

    number = 0
    words = ""


class SQLServerSession:
    """An open connection; each statement is a transaction of its own."""

    def __init__(self, target: SQLServerAddress, session: Any, transport: TLSTransport) -> None:
        """`session` commits by itself, and speaks through the transport."""
        self._target, self._session, self._transport = target, session, transport

    def run(self, sql: str, *parameters: object) -> list[Sequence[Any]]:
        """Give the rows of a statement's first result; `%s` in it stands for a parameter.

        All is read to its end: what is left unread would be cancelled, such as a backup. Raises
        ServerError where the server refuses or is gone.
        """
        rows: list[Sequence[Any]] = []
        try:
            with self._session.cursor() as cursor:
                cursor.execute(sql, parameters or None)
                while True:
                    if cursor.description and not rows:
                        rows = list(cursor.fetchall())
                    if not cursor.nextset():
                        break
                errors = [error for _, error in cursor.messages or () if error.severity > 10]
            if errors:
                raise errors[0]
        except (pytds.Error, OSError) as error:
            text, number = _read_error(error)
            refused = ServerError(
                f"the server did not answer a question: {text}", where=self._target.place,
                remedy="read the server's log",
            )  # fmt: skip
            refused.number, refused.words = number, text
            raise refused from error
        return rows

    @property
    def is_encrypted(self) -> bool:
        return self._transport.is_encrypted

    def close(self) -> None:
        """Close it; one that is broken already is closed as well."""
        try:
            self._session.close()
        except (pytds.Error, OSError):
            pass

    def __enter__(self) -> "SQLServerSession":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read_error(error: Exception) -> tuple[str, int]:
    if isinstance(error, pytds.DatabaseError):
        return str(error.args[0]), int(error.number)
    has_reason = isinstance(error, OSError) and error.strerror
    return give_reason(error) if has_reason else str(error) or "no answer", 0


logging.getLogger("pytds").setLevel(logging.ERROR)  # it warns of attempts longer than this
NO_WAIT_S = 0.001
"""How long python-tds tries again after an error; it would wait for some that do not go away."""


def connect(
    target: SQLServerAddress, *, database: str = "", timeout_s: float = 60.0
) -> SQLServerSession:
    """Connect to the target, or to another database of its server.

    `timeout_s` bounds each answer. Raises PreconditionError or InfrastructureError.
    """
    sock: socket.socket | None = None
    try:
        sock = socket.create_connection((target.host, target.port), target.connect_s)
        transport = TLSTransport(sock, target)
        session = pytds.connect(
            dsn=target.host, port=target.port, database=database or target.database,
            user=target.user, password=target.password.reveal() if target.password else "",
            login_timeout=NO_WAIT_S, autocommit=True, appname="stithy",
            disable_connect_retry=True, sock=transport,
        )  # fmt: skip
        sock.settimeout(timeout_s)
    except (pytds.Error, OSError, UnencryptedError) as error:
        if sock is not None:
            sock.close()
        if isinstance(error, TimeoutError) and isinstance(error.__cause__, Exception):
            error = error.__cause__  # what python-tds would have tried again
        raise _explain_not_opened(target, error) from error
    return SQLServerSession(target, session, transport)


_REMEDIES = {
    18456: "correct user and password: in the URL, percent-encoded, or where the password is given;"
    " the server's log says why, by the state of error 18456",
    18452: "name a SQL Server login: Windows logins are not supported",
    18486: "unlock the login: ALTER LOGIN … UNLOCK",
    18487: "give the login a new password",
    18488: "give the login a new password",
    4060: "correct the database's name, or let the user enter it: CREATE USER … FOR LOGIN …",
    911: "correct the database's name",
    916: "let the user enter the database: CREATE USER … FOR LOGIN …",
}
"""By the server's number."""


def _explain_not_opened(target: SQLServerAddress, error: Exception) -> StithyError:
    place = target.place
    if isinstance(error, UnencryptedError):
        remedy = "let it have a certificate, or give encrypt=false: then nothing is encrypted"
        return PreconditionError("the server offers no encryption", where=place, remedy=remedy)
    if isinstance(error, ssl.SSLCertVerificationError):
        return PreconditionError(
            f"the server's certificate is not trusted: {error.verify_message}",
            where=place,
            remedy="name the file of its root with ca=, correct the host, or trust any certificate "
            "with trustServerCertificate=true, where nobody can come between",
        )
    text, number = _read_error(error)
    if number in _REMEDIES:
        problem = f"the server refused the connection: {text}"
        return PreconditionError(problem, where=place, remedy=_REMEDIES[number])
    problem = f"the database server cannot be reached: {text}"
    remedy = "start the server, or correct host and port in the URL"
    return InfrastructureError(problem, where=place, remedy=remedy)
