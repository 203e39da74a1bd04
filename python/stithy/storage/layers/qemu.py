"""One device, seen through QEMU's storage daemon: so it can be mirrored while it is in use.

What lies above the daemon, a file system and a database, does not notice when the daemon copies the
device to another one, and goes on with that.

A conversation with the daemon: commands, answers, and events in between, one JSON object a line.
Source: docs/interop/qmp-spec.txt of QEMU.
"""

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stithy.drives import bridge
from stithy.errors import InfrastructureError, give_reason
from stithy.hosts.devices import connect_socket
from stithy.needs import DeviceNeed, ProgramNeed, Root
from stithy.storage.layer import BuildTask, LayerKeys, LayerKind

WHY = "volumes that can be mirrored"


def describe_node(device: str, name: str) -> Mapping[str, Any]:
    """Describe a device as a node of QEMU: without a cache, and discards reach it."""
    return {"driver": "host_device", "node-name": name, "filename": device, "aio": "native",
            "cache": {"direct": True}, "discard": "unmap"}  # fmt: skip


class QemuKeys(LayerKeys):
    """A device seen through QEMU's storage daemon, so that it can be mirrored while in use."""

    def limit_members(self) -> tuple[int, int | None]:
        return 1, 1

    def count_capacity_bytes(self, sizes_bytes: Sequence[int]) -> int:
        """Count all of it, in whole blocks."""
        return sum(size // bridge.BLOCK_BYTES * bridge.BLOCK_BYTES for size in sizes_bytes)

    def count_redundancy(self, count: int) -> float:
        return 1.0

    def list_cautions(self) -> tuple[str, ...]:
        """Say what it costs, in every window."""
        return (
            "each request goes through QEMU's storage daemon and nbdfuse in all windows: that adds "
            "about 0.1 ms to it, and CPU time that no limit of the database counts",
        )

    def build(self, devices: Sequence[str], task: BuildTask) -> str:
        """Make a bridge to the device, and prove that it gives back what was written."""
        folder = bridge.get_home() / f"{task.run_id}.{task.identifier}"
        task.record("bridge", {"folder": str(folder)})
        folder.mkdir(mode=0o700, parents=True)
        node = json.dumps(describe_node(devices[0], bridge.NODE))
        device = bridge.attach(folder, node, monitored=True)
        bridge.check(Path(device))
        return device


PATIENCE_S = 30.0
"""How long an answer may take: a command waits for the requests that are under way."""


@dataclass(frozen=True)
class MonitorEvent:
    """An event of QEMU with its own time: Unix seconds, to the microsecond."""

    name: str
    at_s: float
    facts: Mapping[str, Any]


@dataclass
class Monitor:
    """An open connection; events that came while an answer was awaited are kept."""

    connection: socket.socket
    where: str
    events: list[MonitorEvent] = field(default_factory=list)
    _received: bytes = b""

    def ask(self, command: str, facts: Mapping[str, Any] | None = None) -> Any:
        """Give a command; returns what it answers.

        Raises InfrastructureError where QEMU refuses it, has ended, or is silent.
        """
        line = json.dumps({"execute": command, "arguments": dict(facts or {})}).encode() + b"\n"
        try:
            self.connection.sendall(line)
        except OSError as error:
            raise self._make_error(f"it takes no command: {give_reason(error)}") from error
        while (message := self._read(PATIENCE_S)) is not None:
            if "error" in message:
                raise self._make_error(f"{command} failed: {message['error'].get('desc')}")
            if "return" in message:
                return message["return"]
        raise self._make_error(f"{command} was not answered within {PATIENCE_S:g} s")

    def take_events(self, patience_s: float) -> list[MonitorEvent]:
        """Give what came since the last time; where nothing did, wait so long for the first."""
        while self._read(0.001 if self.events else patience_s) is not None:
            pass
        self.events, taken = [], self.events
        return taken

    def _read(self, patience_s: float) -> Mapping[str, Any] | None:
        """Read one message, and keep it where it is an event; None where none comes in time."""
        self.connection.settimeout(patience_s)
        try:
            while b"\n" not in self._received:
                if not (piece := self.connection.recv(2**16)):
                    raise self._make_error("it has ended")
                self._received += piece
            line, _, self._received = self._received.partition(b"\n")
            message: Mapping[str, Any] = json.loads(line)
            if "event" in message:
                time = message["timestamp"]
                at_s = time["seconds"] + time["microseconds"] / 1e6
                self.events.append(MonitorEvent(message["event"], at_s, message.get("data", {})))
        except TimeoutError:
            return None
        except OSError as error:
            raise self._make_error(f"it has ended: {give_reason(error)}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise self._make_error(f"it answers {line[:200]!r}") from error
        return message

    def _make_error(self, problem: str) -> InfrastructureError:
        return InfrastructureError(
            f"QEMU's storage daemon: {problem}", where=self.where,
            remedy="look into errors.txt in its folder, and the kernel log (dmesg), and try again",
        )  # fmt: skip


@contextmanager
def open_monitor(path: Path) -> Iterator[Monitor]:
    """Begin a conversation at this socket. Raises InfrastructureError where nobody answers."""
    try:
        opened = connect_socket(path, PATIENCE_S)
    except OSError as error:
        raise InfrastructureError(
            f"QEMU's storage daemon cannot be reached: {give_reason(error)}", where=str(path),
            remedy="look into the kernel log (dmesg) for why it ended, and try again",
        ) from error  # fmt: skip
    with opened as connection:
        monitor = Monitor(connection, str(path))
        monitor.ask("qmp_capabilities")
        yield monitor


PLUGINS = (
    LayerKind(
        name="qemu",
        keys=QemuKeys,
        needs=(
            Root(why=WHY),
            DeviceNeed(path="/dev/fuse", module="fuse", why=WHY),
            DeviceNeed(path="/dev/loop-control", module="loop", why=WHY),
            *(ProgramNeed(name=name, package=bridge.PACKAGES[name], asked=("--version",), why=WHY)
              for name in bridge.PROGRAMS),
        ),
        handlers={"bridge": lambda facts: bridge.remove(Path(facts["folder"]))},
    ),
)  # fmt: skip
