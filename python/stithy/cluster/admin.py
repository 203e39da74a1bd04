"""What a daemon says of itself, over its admin socket: no program is started for it.

The protocol: a JSON command that ends with a zero byte; the answer's length in four bytes, and the
answer. Source: src/common/admin_socket.cc of Ceph.
"""

import json
from pathlib import Path
from typing import Any

from stithy.cluster.layout import read_entry
from stithy.hosts.files import connected

TIMEOUT_S = 5.0
IMAGE_DAEMON = "image"
"""What the way from the image to its block device is called, by the name of its socket."""


def try_ask(folder: Path, daemon: str, command: str) -> Any | None:
    """The answer of `osd.0` and the like; None where it does not answer."""
    try:
        with connected(folder / f"{daemon}.asok", TIMEOUT_S) as line, line.makefile("rb") as answer:
            line.sendall(json.dumps({"prefix": command, "format": "json"}).encode() + b"\0")
            return json.loads(answer.read(int.from_bytes(answer.read(4), "big")))
    except (OSError, ValueError):
        return None


def serves(folder: Path, osd: int) -> bool:
    """Whether an OSD says that it serves; it is asked itself, which takes no program."""
    status = try_ask(folder, f"osd.{osd}", "status")
    return status is not None and status.get("state") == "active"


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
