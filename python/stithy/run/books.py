"""The journal of a run and the register of all runs: one JSON object a line, synced beforehand.

A torn last line, from a crash in the middle of a write, is left out when reading. The register has
a file for each run in the user's state directory: the run, each resource that is about to be
created, each that was removed. `stithy clean` needs nothing else, so a run directory may be moved
or deleted at any time. The run's private scratch directory is made here.
"""

import errno
import json
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stithy.clock import Clock
from stithy.environment import state_home
from stithy.errors import InfrastructureError, PreconditionError, give_reason
from stithy.hosts.devices import write_private
from stithy.hosts.processes import ProcessIdentity, get_identity, parse_identity
from stithy.hosts.runner import ServerUser
from stithy.results.layout import sync_directory
from stithy.secrets import Secret


@dataclass(frozen=True)
class JournalEntry:
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
                    f"the journal could not be written: {give_reason(error)}",
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


def read_journal(path: Path) -> list[JournalEntry]:
    """All whole entries, in order; none for a missing file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    entries = []
    for line in lines:
        with suppress(ValueError, TypeError):  # torn by a crash
            entries.append(JournalEntry(**json.loads(line)))
    return entries


@dataclass(frozen=True)
class Resource:
    """A thing that was made, or was about to be; `number` is its place in the register."""

    number: int
    kind: str
    facts: Mapping[str, str]


MARKING = frozenset({"mark", "directory"})
"""The kinds by which a volume is known: they go last of what is on it."""


@dataclass(frozen=True)
class Registered:
    """A run as the register knows it; `resources` are those not yet removed, in order.

    `owner` is the process that runs it, or did last: a run may be resumed. `by_hand`: no run, but
    something that a person started, to be kept until they end it.
    """

    run_id: str
    path: Path
    directory: Path
    owner: ProcessIdentity
    kept: bool
    resources: tuple[Resource, ...]
    by_hand: bool = False

    @property
    def what(self) -> str:
        """What people call it: its directory, or the name that it was given by hand."""
        return self.run_id.replace("-", " ", 1) if self.by_hand else str(self.directory)


class Register:
    """The open register of one run."""

    def __init__(
        self, run_id: str, directory: Path, clock: Clock, *, by_hand: bool = False
    ) -> None:
        """Enter the run, or its next session: what is known of it stays known.

        Raises PreconditionError where nothing can be written.
        """
        entry = _make_entry_path(run_id)
        try:
            entry.parent.mkdir(parents=True, exist_ok=True)
            self._journal = Journal(entry, clock)
            owner = get_identity().list_facts()
            more = {"by_hand": True} if by_hand else {}
            self._journal.write("run", run_id=run_id, directory=str(directory), owner=owner, **more)
        except (OSError, InfrastructureError) as error:
            raise PreconditionError(
                f"runs cannot be registered here: {give_reason(error)}",
                where=str(entry.parent),
                remedy="make it writable, or name another directory in STITHY_STATE",
            ) from error

    @property
    def path(self) -> Path:
        return self._journal.path

    def register_creation(self, kind: str, facts: Mapping[str, str]) -> int:
        """Enter what is about to be made; returns its number."""
        return self._journal.write("creating", kind=kind, facts=dict(facts))

    def removed(self, number: int) -> None:
        """Enter that it is no more."""
        self._journal.write("removed", number=number)

    def keep(self) -> None:
        """Enter that all of it stays until `stithy clean`."""
        self._journal.write("kept")

    def keep_password(self, password: Secret) -> None:
        """Keep the password of the run's servers: a later session may meet what they left.

        Only its user may read it, and it goes with the entry. Where it cannot be written there is
        none, and a later session begins anew.
        """
        with suppress(OSError):
            write_private(_make_password_path(self.path), password.reveal())

    def close(self, *, remove: bool) -> None:
        """Give up the file; `remove` it when nothing is left."""
        self._journal.close()
        if remove:
            forget(self.path)


def read_password(run_id: str) -> Secret | None:
    """The password of a run's servers; None where it is not known."""
    try:
        return (
            Secret(text)
            if (text := _make_password_path(_make_entry_path(run_id)).read_text())
            else None
        )
    except OSError:
        return None


def forget(path: Path) -> None:
    """Remove the entry of a run, its file last. Idempotent."""
    _make_password_path(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _make_entry_path(run_id: str) -> Path:
    return state_home() / "runs" / f"{run_id}.jsonl"


def _make_password_path(entry: Path) -> Path:
    return entry.with_suffix(".password")


def read_registered(path: Path) -> Registered | None:
    """The run of one file; None where the file does not even tell which run it is."""
    entries = read_journal(path)
    if not entries or entries[0].event != "run":
        return None
    last = next(entry for entry in reversed(entries) if entry.event == "run")
    gone = {entry.facts["number"] for entry in entries if entry.event == "removed"}
    resources = tuple(
        Resource(entry.sequence, entry.facts["kind"], entry.facts["facts"])
        for entry in entries
        if entry.event == "creating" and entry.sequence not in gone
    )
    return Registered(
        run_id=last.facts["run_id"],
        path=path,
        directory=Path(last.facts["directory"]),
        owner=parse_identity(last.facts["owner"]),
        kept=any(entry.event == "kept" for entry in entries[last.sequence :]),
        resources=resources,
        by_hand=bool(last.facts.get("by_hand")),
    )


def list_registered() -> list[Registered]:
    """All runs of this user's register, oldest first."""
    files = sorted((state_home() / "runs").glob("*.jsonl"))
    return [found for path in files if (found := read_registered(path)) is not None]


SCRATCH_PLACES = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
PREFIX = "stithy-"


def make_scratch(record: Callable[[str, dict[str, str]], object], user: ServerUser | None) -> Path:
    """A fresh directory of the server's user alone; recorded before it is made."""
    for place in SCRATCH_PLACES:
        if os.access(place, os.W_OK | os.X_OK):
            path = place / f"{PREFIX}{secrets.token_hex(4)}"
            record("scratch", {"path": str(path)})
            path.mkdir(mode=0o700)
            if user:
                os.chown(path, user.uid, user.gid)
            return path
    raise PreconditionError(
        "no directory for sockets can be made",
        where=", ".join(str(place) for place in SCRATCH_PLACES),
        remedy="make one of them writable for this user",
    )
