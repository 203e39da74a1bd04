"""A Prometheus exporter that answers what a test gives it."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class FakeExporter:
    """Its page, which it may make anew each time, and status; `tokens`: what it was sent."""

    page: str | Callable[[], str]
    url: str = ""
    status: int = 200
    kind: str = "text/plain; version=0.0.4"
    now_s: float = 1_000_000.0
    tokens: list[str | None] = field(default_factory=list)


@contextmanager
def exporting(
    page: str | Callable[[], str], certificate: Path | None = None
) -> Iterator[FakeExporter]:
    """Inside, it answers on loopback; by TLS where it has a certificate."""
    fake = FakeExporter(page)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fake.tokens.append(self.headers.get("Authorization"))
            page = fake.page
            body = (page if isinstance(page, str) else page()).encode()
            self.send_response_only(fake.status)
            self.send_header("Date", formatdate(fake.now_s, usegmt=True))
            self.send_header("Content-Type", fake.kind)
            self.send_header("Location", f"{fake.url}/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is told of requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}/metrics"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        fake.url = f"https://localhost:{server.server_address[1]}/metrics"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
