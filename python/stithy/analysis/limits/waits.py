"""What a wait of a session is about: the commit log, data on the device, locks, or none of these.

Source: PostgreSQL's documentation, "Wait Event Types" (`pg_stat_activity`); names differ a little
by version, so those of the log are told by how they begin.
"""

CPU, DEVICE, LOG, LOCKS, CLIENT, OTHER = "cpu", "device", "log", "locks", "client", "other"
GROUPS = (CPU, DEVICE, LOG, LOCKS, CLIENT, OTHER)

_BUFFER_IO = frozenset({"bufferio", "buffer_io"})
"""Waits for another session's read or write of the same block; of type IPC since version 14."""


def group_of(event: str) -> str:
    """The group of a wait event, such as `IO:DataFileRead`; of no event, `CPU`, it is `cpu`.

    Source: the list of wait events named above.
    """
    kind, _, name = event.partition(":")
    if kind == "CPU":
        return CPU
    if kind in ("IO", "LWLock") and name.upper().startswith("WAL"):
        return LOG
    if kind == "IO" or name.lower() in _BUFFER_IO:
        return DEVICE
    if kind in ("Lock", "LWLock", "BufferPin"):
        return LOCKS
    return CLIENT if kind == "Client" else OTHER
