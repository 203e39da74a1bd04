"""What a daemon says of itself, over its admin socket: no program is started for it.

The protocol: a JSON command that ends with a zero byte; the answer's length in four bytes, and the
answer. Source: src/common/admin_socket.cc of Ceph.
"""

import json
import os
import socket
import struct
from pathlib import Path
from typing import Any

TIMEOUT_S = 5.0


def ask(folder: Path, daemon: str, command: str) -> Any:
    """The answer of `osd.0` and the like. Raises OSError where it does not answer."""
    # Through the descriptor, for the address of a socket holds 107 bytes.
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(TIMEOUT_S)
            line.connect(f"/proc/self/fd/{descriptor}/{daemon}.asok")
            line.sendall(json.dumps({"prefix": command, "format": "json"}).encode() + b"\0")
            (size,) = struct.unpack(">I", _exactly(line, 4))
            return json.loads(_exactly(line, size))
    finally:
        os.close(descriptor)


def try_ask(folder: Path, daemon: str, command: str) -> Any | None:
    """The same; None where it does not answer."""
    try:
        return ask(folder, daemon, command)
    except (OSError, ValueError):
        return None


def _exactly(line: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        if not (part := line.recv(size - len(parts))):
            raise ConnectionError("the daemon closed the connection")
        parts += part
    return bytes(parts)
