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

from stithy.cluster.layout import read_entry

TIMEOUT_S = 5.0
IMAGE_DAEMON = "image"
"""What the way from the image to its block device is called, by the name of its socket."""


def ask(folder: Path, daemon: str, command: str) -> Any:
    """The answer of `osd.0` and the like. Raises OSError where it does not answer."""
    # Through the descriptor, for the address of a socket holds 107 bytes.
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(TIMEOUT_S)
            line.connect(f"/proc/self/fd/{descriptor}/{daemon}.asok")
            line.sendall(json.dumps({"prefix": command, "format": "json"}).encode() + b"\0")
            (size_bytes,) = struct.unpack(">I", _exactly(line, 4))
            return json.loads(_exactly(line, size_bytes))
    finally:
        os.close(descriptor)


def try_ask(folder: Path, daemon: str, command: str) -> Any | None:
    """The same; None where it does not answer."""
    try:
        return ask(folder, daemon, command)
    except (OSError, ValueError):
        return None


def readings(folder: Path) -> dict[str, Any]:
    """The counters of each OSD of the cluster, by its name; None of one that does not answer."""
    entry = read_entry(folder)
    osds = [f"osd.{osd}" for osd, _ in entry.osds] if entry else []
    return {osd: try_ask(folder, osd, "perf dump") for osd in osds}


def image_counters(folder: Path) -> Any | None:
    """The counters of the image's client; None where it does not answer, as the kernel's own."""
    told = try_ask(folder, IMAGE_DAEMON, "perf dump")
    if not isinstance(told, dict):
        return None
    image = next((each for name, each in told.items() if name.startswith("librbd-")), None)
    return image and {**image, "active": told.get("objecter", {}).get("op_active")}


def _exactly(line: socket.socket, size_bytes: int) -> bytes:
    parts = bytearray()
    while len(parts) < size_bytes:
        if not (part := line.recv(size_bytes - len(parts))):
            raise ConnectionError("the daemon closed the connection")
        parts += part
    return bytes(parts)
