"""Plugs that answer by HTTP what devices have answered; some want a login."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

# Answers of devices, by the path that they are asked for.
ANSWERS: dict[str, Any] = {
    # Shelly Plus Plug S, 1.4.4
    "/rpc/Switch.GetStatus?id=0": {"id": 0, "output": True, "apower": 121.4, "voltage": 231.9,
                                   "aenergy": {"total": 6302.1, "minute_ts": 1795000000}},
    # Shelly Pro EM-50
    "/rpc/EM1.GetStatus?id=1": {"id": 1, "act_power": 88.25, "aprt_power": 101.1, "pf": 0.87},
    # Shelly Plug S, 1.14
    "/status": {"meters": [{"power": 61.09, "is_valid": True, "total": 90133}]},
    # Tasmota 13
    "/new/cm?cmnd=Status%2010": {"StatusSNS": {"Time": "2026-11-28T10:00:00", "ENERGY": {
        "Total": 26.193, "Power": 47, "Factor": 0.93}}},
    # Tasmota 8
    "/old/cm?cmnd=Status%2010": {"Command": "Error"},
    "/old/cm?cmnd=Status%208": {"StatusSNS": {"ENERGY": {"Power": 12}}},
    "/odd/cm?cmnd=Status%2010": {"StatusSNS": {"ENERGY": {"Power": "many"}}},
}  # fmt: skip
NONCE = "64ab8c0d"
WANTED = {
    "/rpc/": f'Digest qop="auth", realm="shellyplusplugs-a803", nonce="{NONCE}", algorithm=SHA-256',
    "/status": 'Basic realm="shellyplug-s-7AE0F2"',
}
WARNED = {"WARNING": "Need user=<username>&password=<password>"}


@dataclass
class FakePlug:
    """All devices at once, for all or for `admin` with a password; `let_in`: so often."""

    password: str = ""
    url: str = ""
    let_in: int = 0


@contextmanager
def plugged_in(password: str = "") -> Iterator[FakePlug]:
    """Inside, they answer on loopback."""
    fake = FakePlug(password)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = re.sub(r"\?user=.*&cmnd", "?cmnd", self.path)
            given = {key: of[0] for key, of in parse_qs(self.path.partition("?")[2]).items()}
            status, answer = 200, ANSWERS.get(asked)
            wanted = next((of for start, of in WANTED.items() if asked.startswith(start)), None)
            if fake.password and wanted is None:
                if (given.get("user"), given.get("password")) != ("admin", fake.password):
                    # Newer versions refuse by a status, too.
                    status, answer = 200 if asked.startswith("/old") else 401, WARNED
            elif fake.password and not self._is_proven():
                status = 401
            fake.let_in += status == 200 and answer is not WARNED
            self.send_response(status)
            if status == 401 and wanted is not None:
                self.send_header("WWW-Authenticate", wanted)
            self.end_headers()
            self.wfile.write(b"<html>" if answer is None else json.dumps(answer).encode())

        def _is_proven(self) -> bool:
            scheme, _, told = self.headers.get("Authorization", " ").partition(" ")
            if scheme == "Basic":
                return base64.b64decode(told).decode() == f"admin:{fake.password}"
            given = dict(re.findall(r'(\w+)="?([^",]+)"?', told))
            if (given.get("nonce"), given.get("uri")) != (NONCE, self.path):
                return False
            own = f"admin:{given['realm']}:{fake.password}", f"GET:{self.path}"
            who, what = (hashlib.sha256(text.encode()).hexdigest() for text in own)
            proof = f"{who}:{NONCE}:{given['nc']}:{given['cnonce']}:{given['qop']}:{what}"
            return bool(hashlib.sha256(proof.encode()).hexdigest() == given["response"])

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        fake.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
