"""The journal: one JSON object a line, appended and synced before the thing it tells of is done.

A torn last line, from a crash in the middle of a write, is left out when reading.
"""

import errno
import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stithy.clock import Clock
from stithy.errors import InfrastructureError, reason_of
from stithy.results.layout import sync_directory


@dataclass(frozen=True)
class Entry:
    """One line. `sequence` counts from 0; `monotonic_s` never goes back within one process."""

    sequence: int
    at_s: float
    monotonic_s: float
    event: str
    facts: Mapping[str, Any]


class Journal:
    """An open journal. Several threads may write: each entry is whole, with its own number."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Goes on after the last whole line of an existing file; a new one comes with its first."""
        self.path = path
        self._clock = clock
        self._next = len(read_journal(path))
        self._lock = threading.Lock()
        self._fd: int | None = None

    def write(self, event: str, **facts: Any) -> int:
        """Append one entry, durably; returns its sequence number.

        Raises InfrastructureError where the file system refuses.
        """
        with self._lock:
            line = {
                "sequence": self._next,
                "at_s": self._clock.now_s(),
                "monotonic_s": self._clock.monotonic_s(),
                "event": event,
                "facts": facts,
            }
            try:
                self._append((json.dumps(line, ensure_ascii=False) + "\n").encode())
            except OSError as error:
                raise InfrastructureError(
                    f"the journal could not be written: {reason_of(error)}",
                    where=str(self.path),
                    remedy="make room on that file system",
                ) from error
            self._next += 1
            return self._next - 1

    def close(self) -> None:
        """Give up the file. Idempotent."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _append(self, line: bytes) -> None:
        if self._fd is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self.path, flags, 0o644)
            sync_directory(self.path.parent)
            # What is appended to a last line without an end would be lost with it.
            content = self.path.read_bytes()
            if content and not content.endswith(b"\n"):
                line = b"\n" + line
        _write_whole(self._fd, line)


def _write_whole(fd: int, line: bytes) -> None:
    """All of the line or none: a full disk may take a part, and the next line must not join it."""
    before_bytes = os.fstat(fd).st_size
    try:
        if os.write(fd, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(fd)
    except OSError:
        with suppress(OSError):
            os.ftruncate(fd, before_bytes)
        raise


def read_journal(path: Path) -> list[Entry]:
    """All whole entries, in order; none for a missing file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [entry for line in lines if (entry := _entry(line)) is not None]


def _entry(line: str) -> Entry | None:
    try:
        return Entry(**json.loads(line))
    except (ValueError, TypeError):
        return None  # torn by a crash
