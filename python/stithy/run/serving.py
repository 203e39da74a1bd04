"""What of a run is served by HTTP while it lives: where, to how many at once, and to whom.

Only what is read is answered: GET and HEAD. Whoever names this machine otherwise than by an
address or by its own name is refused, so that no page of the web reads it through a browser.
"""

import ipaddress
import re
import secrets
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

from stithy.errors import PreconditionError, UserError, give_reason
from stithy.secrets import Secret

TEXT_TYPE = "text/plain; charset=utf-8"
PATIENCE_S = 5.0
"""A program that connects and says nothing, or reads nothing, is not waited for any longer."""
PIECE_BYTES = 1 << 16
CONNECTIONS_MOST = 64
"""Own: at once, of all programs; one more is closed unanswered."""


@dataclass(frozen=True)
class Address:
    """A host of this machine and a port; port 0 is any that is free.

    `option`: by which a person gave it, for messages.
    """

    host: str
    port: int
    option: str = "--metrics"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether no other machine reaches it."""
        return ipaddress.ip_address(self.host).is_loopback


def parse_address(text: str, option: str = "--metrics", example: str = "127.0.0.1:9464") -> Address:
    """The address that a person wrote: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`.

    Raises UserError for anything else.
    """
    host, _, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    problem = None
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535):
        problem = "this is not an address with a port"
    elif not _is_address(host):
        problem = "its host is not an IP address"
    if problem is not None:
        raise UserError(problem, where=f"{option} {text}", remedy=f"write it as {example}")
    return Address(host, int(port), option)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class LiveServer(ThreadingHTTPServer):
    """Answers at most so many programs at once; one that is slow to read holds up no end."""

    daemon_threads = True
    request_queue_size = 16

    def __init__(self, address: Address, handler: type[BaseHTTPRequestHandler]) -> None:
        """Take the port. Raises PreconditionError where it cannot be had."""
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._room = threading.BoundedSemaphore(CONNECTIONS_MOST)
        try:
            super().__init__((address.host, address.port), handler)
        except OSError as error:
            raise PreconditionError(
                f"this address cannot be used: {give_reason(error)}",
                where=f"{address.option} {address}",
                remedy="name another port, or end the program that uses this one "
                "(`ss -ltnp` names it)",
            ) from error

    def server_bind(self) -> None:
        """Take the port, and ask no name server for the name of the host."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket],
                        client_address: object) -> None:  # fmt: skip
        """Answer in a thread of its own while there is room."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: socket.socket | tuple[bytes, socket.socket],
                               client_address: object) -> None:  # fmt: skip
        """Answer, and make room again."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Leave a program that went away before it had its answer. Raises whatever else it was."""
        if (error := sys.exception()) is not None and not isinstance(error, OSError):
            raise error


class LiveHandler(BaseHTTPRequestHandler):
    """Answers one program; a class derived from it says what is at which path."""

    timeout = PATIENCE_S
    token: Secret | None = None
    headers_of_all: Mapping[str, str] = {
        "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
    }  # fmt: skip

    def do_GET(self) -> None:
        """Answer what is at the path."""
        if not self._refuse():
            self.tell(self.path.partition("?")[0])

    def do_HEAD(self) -> None:
        """Answer the head of it."""
        self.do_GET()

    def tell(self, path: str) -> None:
        """Answer what is at a path."""
        raise NotImplementedError

    def answer(self, status: int, kind: str, body: bytes, **more: str) -> None:
        """Send a whole answer; `more` are headers, `_` for `-`."""
        self.begin(status, kind, Content_Length=str(len(body)), **more)
        for begin in range(0, len(body) if self.command != "HEAD" else 0, PIECE_BYTES):
            self.wfile.write(body[begin : begin + PIECE_BYTES])  # patience is for each

    def begin(self, status: int, kind: str, **more: str) -> None:
        """Send the head of an answer."""
        self.send_response(status)
        named = {name.replace("_", "-"): text for name, text in more.items()}
        for name, text in {"Content-Type": kind, **self.headers_of_all, **named}.items():
            self.send_header(name, text)
        self.end_headers()

    def _refuse(self) -> bool:
        """Refuse who names another host, comes from another page, or has no token; True then."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin", "")
        is_foreign = bool(origin) and origin.partition("://")[2] != host
        if is_foreign or not _is_own_name(host, self.token):
            self.answer(403, TEXT_TYPE, b"ask for it by the address that the command printed\n")
        elif self.token is None or self._has_token(self.token):
            return False
        elif _matches(self.path.partition("?token=")[2], self.token):
            # The token leaves the address bar: a cookie has it from now on.
            kept = f"{self._cookie}={self.token.reveal()}; HttpOnly; SameSite=Lax; Path=/"
            self.answer(303, TEXT_TYPE, b"", Location="/", Set_Cookie=kept)
        else:
            why = b"open the address with the token that the command printed\n"
            self.answer(401, TEXT_TYPE, why, WWW_Authenticate="Bearer")
        return True

    def _has_token(self, token: Secret) -> bool:
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        try:
            kept = SimpleCookie(self.headers.get("Cookie", "")).get(self._cookie)
        except CookieError:
            kept = None
        return _matches(bearer, token) or (kept is not None and _matches(kept.value, token))

    @property
    def _cookie(self) -> str:
        # Cookies know no ports: two runs on a host must not end each other's.
        assert isinstance(self.server, LiveServer)  # it is what made this
        return f"stithy-{self.server.server_port}"

    def version_string(self) -> str:
        """Who answers, without the versions that a stranger need not know."""
        return "stithy"

    def log_message(self, format: str, *args: object) -> None:
        """Who asks, and how often, is no talk for the terminal."""


def _matches(given: str, token: Secret) -> bool:
    return secrets.compare_digest(given.encode(), token.reveal().encode())


def _is_own_name(host: str, token: Secret | None) -> bool:
    """Whether a browser that was led here by a foreign name would not have said this one."""
    name = re.sub(r":[0-9]*$", "", host).strip("[]").lower()
    known = {"localhost", socket.gethostname().lower()} if token else {"localhost"}
    return name in known or _is_address(name)


@contextmanager
def serve(server: LiveServer, name: str) -> Iterator[Address]:
    """Inside, the server answers in a thread of that name; gives its address with its port."""
    thread = threading.Thread(target=server.serve_forever, name=name, daemon=True)
    thread.start()
    try:
        yield Address(str(server.server_address[0]), server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
