"""The address at which a run tells its live numbers, to whoever asks on this machine.

It is open to every program here and has no password, so it tells no secret, takes no command, and
is on loopback only. From elsewhere `ssh -L` leads to it.
"""

import ipaddress
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from stithy.errors import PreconditionError, UserError
from stithy.openmetrics import CONTENT_TYPE

PATH = "/metrics"
PLAIN_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What a program reads that does not ask for OpenMetrics; of these numbers it is the same text."""
PATIENCE_S = 5.0
"""A program that connects and says nothing is not waited for any longer."""
EXAMPLE = "127.0.0.1:9464"


@dataclass(frozen=True)
class Address:
    """A host of this machine and a port; port 0 is any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        """As it stands in an address of the web."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """The address that a person wrote: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`.

    Raises UserError for anything else, and for every address that is not on loopback.
    """
    host, _, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535):
        raise _wrong(text, "this is no address with a port")
    try:
        known = ipaddress.ip_address(host)
    except ValueError:
        raise _wrong(text, "its host is no number") from None
    if not known.is_loopback:
        remedy = f"name {EXAMPLE}, and let `ssh -L` or a proxy of your own lead to it"
        problem = "other machines could read it there, without a password"
        raise UserError(problem, where=f"--metrics {text}", remedy=remedy)
    return Address(host, int(port))


def _wrong(text: str, problem: str) -> UserError:
    return UserError(problem, where=f"--metrics {text}", remedy=f"write it as {EXAMPLE}")


@contextmanager
def endpoint(address: Address, text: Callable[[], str]) -> Iterator[str]:
    """Inside, whoever asks at the address gets `text`; gives the address of the page.

    Raises PreconditionError where the port cannot be had.
    """
    server = _server(address, text)
    thread = threading.Thread(target=server.serve_forever, name="live numbers", daemon=True)
    thread.start()
    try:
        yield f"http://{Address(address.host, server.server_address[1])}{PATH}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _server(address: Address, text: Callable[[], str]) -> ThreadingHTTPServer:
    kind = _Server6 if ":" in address.host else _Server
    try:
        return kind((address.host, address.port), _handler(text))
    except OSError as error:
        raise PreconditionError(
            f"nothing can be told there: {os.strerror(error.errno or 0).lower()}",
            where=f"--metrics {address}",
            remedy="name another port, or end what has this one (`ss -ltnp` says what)",
        ) from error


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a program that is slow to read does not hold up the end of the run

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that went away before it had its answer is nothing to tell of."""


class _Server6(_Server):
    address_family = socket.AF_INET6


def _handler(text: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers one program."""

        timeout = PATIENCE_S

        def do_GET(self) -> None:
            """Tell the numbers, or that there is nothing else."""
            if self.path.partition("?")[0] != PATH:
                self._answer(404, PLAIN_TYPE, f"the numbers are at {PATH}\n")
                return
            wants = "application/openmetrics-text" in self.headers.get("Accept", "")
            self._answer(200, CONTENT_TYPE if wants else PLAIN_TYPE, text())

        def _answer(self, status: int, kind: str, told: str) -> None:
            body = told.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def version_string(self) -> str:
            """Who answers, without the versions that a stranger need not know."""
            return "stithy"

        def log_message(self, format: str, *args: object) -> None:
            """Who asks, and how often, is no talk for the terminal."""

    return Handler
