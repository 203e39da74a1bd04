"""Ways from an image to a block device by the kernel's own clients: krbd, or nbd with librbd.

Each is used only where the kernel has it by now: no module is loaded. A mapped device is found
again by the name of its image, which no other image has.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stithy.cluster.tools import Access, tool
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.runner import Command, LocalRunner

ANSWER_S = 30.0


@dataclass(frozen=True)
class Kernel:
    """A client of the kernel, by the name that `rbd device` has for it.

    `sign` is there where the kernel has it; `limits`: whether limits of the image hold on this way.
    """

    kind: str
    sign: Path
    programs: tuple[str, ...]
    limits: bool

    def why_not(self) -> str | None:
        """Why it cannot be used here; None where it can."""
        if not self.sign.exists():
            return f"the kernel has no {self.kind} now: {self.sign} is not there"
        for name in self.programs:
            try:
                tool(name)
            except PreconditionError as error:
                return error.text
        return None


KERNELS = (
    Kernel("krbd", Path("/sys/bus/rbd"), ("rbd",), limits=False),
    Kernel("nbd", Path("/sys/module/nbd"), ("rbd", "rbd-nbd"), limits=True),
)
"""In the order in which they are tried."""


def mapped(pool: str, image: str, access: Access, folder: Path, *, limited: bool) -> str | None:
    """The block device of an image by the first client that maps it; None where none does."""
    for each in KERNELS:
        if each.why_not() is not None or (limited and not each.limits):
            continue
        words = access.rbd("device", "map", "--device-type", each.kind, f"{pool}/{image}")
        if (device := _said(words, folder)) and os.path.exists(device):
            return device
    return None


def unmap(image: str) -> None:
    """Take every device of this image away, without waiting for its cluster. Idempotent."""
    for kind, device in devices(image):
        words = [tool("rbd"), "device", "unmap", "--device-type", kind, "-o", "force", device]
        _said(words if kind == "krbd" else [*words[:5], device], None)


def devices(image: str) -> Iterator[tuple[str, str]]:
    """The devices of an image, with the client of each."""
    for each in KERNELS:
        if each.why_not() is not None:
            continue
        words = [tool("rbd"), "device", "list", "--device-type", each.kind, "--format", "json"]
        for row in _rows(_said(words, None)):
            # The two clients call it otherwise.
            if image in (row.get("name"), row.get("image")):
                yield each.kind, str(row["device"])


def _rows(text: str | None) -> list[dict[str, Any]]:
    with suppress(ValueError):
        found = json.loads(text or "[]")
        return list(found.values()) if isinstance(found, dict) else list(found)
    return []


def _said(words: list[str], folder: Path | None) -> str | None:
    """What a program wrote, stripped; None where it failed or did not end."""
    try:
        finished = LocalRunner().run(Command(argv=words, directory=folder), timeout_s=ANSWER_S)
    except InfrastructureError:
        return None
    return finished.stdout.strip() if finished.code == 0 else None
