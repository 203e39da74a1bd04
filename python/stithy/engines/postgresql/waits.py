"""What sessions of PostgreSQL wait for: its types of wait events, and what each event is about.

Source: PostgreSQL's manual, "The Cumulative Statistics System", lists of wait events.
"""

from stithy.engines.declaration import WaitGroup

TYPES = {
    "CPU": "",
    "IO": "reads and writes (IO)",
    "LWLock": "internal locks of the server (LWLock)",
    "Lock": "locks of other transactions (Lock)",
    "BufferPin": "", "IPC": "", "Client": "", "Timeout": "", "Extension": "",
}  # fmt: skip
"""Reported in every sample, also when nothing waits for it; others when they occur. With what the
commonest ones are, beside the server's own names for them."""

_BUFFER_IO = frozenset({"bufferio", "buffer_io"})
"""Waits for another session's read or write of the same block; of type IPC since version 14."""


def wait_group(event: str) -> WaitGroup:
    """The group of a wait event, such as `IO:DataFileRead`; of no event, `CPU`, it is `cpu`."""
    kind, _, name = event.partition(":")
    if kind == "CPU":
        return "cpu"
    if kind in ("IO", "LWLock") and name.upper().startswith("WAL"):
        return "log"
    if kind == "IO" or name.lower() in _BUFFER_IO:
        return "device"
    if kind in ("Lock", "LWLock", "BufferPin"):
        return "locks"
    return "client" if kind == "Client" else "other"


def is_log_creation(event: str) -> bool:
    """Whether a session fills or syncs a new file of the log: WALInitWrite and WALInitSync."""
    return event.upper().startswith("IO:WALINIT")
