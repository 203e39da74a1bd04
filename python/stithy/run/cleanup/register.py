"""The register: which runs have left what on this machine, whatever became of their results.

One file a run in the user's state directory, in the journal's form: the run, then each resource
that is about to be created, each that was removed. `stithy clean` needs nothing else, so a run
directory may be moved or deleted at any time. The run's private scratch directory is made here.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stithy.clock import Clock
from stithy.environment import state_home
from stithy.errors import InfrastructureError, PreconditionError, reason_of
from stithy.hosts.processes import ProcessIdentity, identity_from, own_identity
from stithy.hosts.runner import ServerUser
from stithy.run.journal import Journal, read_journal
from stithy.secrets import Secret


@dataclass(frozen=True)
class Resource:
    """A thing that was made, or was about to be; `number` is its place in the register."""

    number: int
    kind: str
    facts: Mapping[str, str]


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
        entry = _entry(run_id)
        try:
            entry.parent.mkdir(parents=True, exist_ok=True)
            self._journal = Journal(entry, clock)
            owner = own_identity().facts()
            more = {"by_hand": True} if by_hand else {}
            self._journal.write("run", run_id=run_id, directory=str(directory), owner=owner, **more)
        except (OSError, InfrastructureError) as error:
            raise PreconditionError(
                f"runs cannot be registered here: {reason_of(error)}",
                where=str(entry.parent),
                remedy="make it writable, or name another directory in STITHY_STATE",
            ) from error

    @property
    def path(self) -> Path:
        """The run's file."""
        return self._journal.path

    def creating(self, kind: str, facts: Mapping[str, str]) -> int:
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
            fd = os.open(_password(self.path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(fd, "w") as file:
                file.write(password.reveal())
                file.flush()
                os.fsync(file.fileno())

    def close(self, *, remove: bool) -> None:
        """Give up the file; `remove` it when nothing is left."""
        self._journal.close()
        if remove:
            forget(self.path)


def kept_password(run_id: str) -> Secret | None:
    """The password of a run's servers; None where it is not known."""
    try:
        return Secret(text) if (text := _password(_entry(run_id)).read_text()) else None
    except OSError:
        return None


def forget(path: Path) -> None:
    """Remove the entry of a run, its file last. Idempotent."""
    _password(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _entry(run_id: str) -> Path:
    return state_home() / "runs" / f"{run_id}.jsonl"


def _password(entry: Path) -> Path:
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
        owner=identity_from(last.facts["owner"]),
        kept=any(entry.event == "kept" for entry in entries[last.sequence :]),
        resources=resources,
        by_hand=bool(last.facts.get("by_hand")),
    )


def all_registered() -> list[Registered]:
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
