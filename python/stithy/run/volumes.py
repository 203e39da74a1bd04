"""The volumes of a run's candidates, and the directory that keeps the master copies."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from stithy.drives.control import Control
from stithy.engines.engine import UNDO_FOLDER
from stithy.errors import InfrastructureError
from stithy.hosts.host import Host
from stithy.hosts.runner import ServerUser
from stithy.plan.steps import Dataset, name_instance
from stithy.results.drives import LOG_SUFFIX
from stithy.run.cleaning import Books
from stithy.storage.consent import DATA, MASTER
from stithy.storage.copy import Contents
from stithy.storage.power import mount_volume
from stithy.storage.provider import EmulatedDrive, Role, Storage, Volume
from stithy.storage.volume import remove_own

KEEPER = "master copy"
"""Whose the directory of the master copy is, where resources name a candidate. No candidate's name
has a space."""


def name_master(dataset: Dataset) -> str:
    """The directory of its master copy: of the only one it is `master`."""
    return f"{MASTER}-{dataset.name}" if dataset.factors.factors else MASTER


SEPARATE: tuple[Role, ...] = ("log", "undo", "temp")
"""What of a database may lie on a volume of its own, in a directory of this name."""


@dataclass(frozen=True)
class Parts:
    """The directories of a database; all but `data` are None where they lie in it."""

    data: Path
    log: Path | None
    undo: Path | None
    temp: Path | None

    def list_kept(self) -> tuple[Path, ...]:
        """List those that outlive a server."""
        return tuple(filter(None, (self.data, self.log, self.undo)))

    def list_moved(self, log_folder: str | None) -> dict[str, Path]:
        """List the folders of `data` that lie elsewhere; `log_folder`: of its log, None without."""
        places = {log_folder: self.log, UNDO_FOLDER: self.undo}
        return {name: place for name, place in places.items() if name and place}


def get_parts(volume: Volume, number: int | None = None) -> Parts:
    """Where the parts of the database of the candidate with this volume lie, or are to be made.

    Of several instances each, by its `number` from 1, has folders of its own in them.
    """
    name = "" if number is None else name_instance(number)
    log, undo, temp = (
        volume.others[role].path / role / name if role in volume.others else None
        for role in SEPARATE
    )
    return Parts(volume.path / DATA / name, log, undo, temp)


def number_instances(count: int) -> tuple[int | None, ...]:
    """Number the instances on a candidate; a single one has no number."""
    return tuple(range(1, count + 1)) if count > 1 else (None,)


@dataclass(frozen=True)
class Inside:
    """The datasets that a candidate's servers have kept within themselves."""

    instances: int
    datasets: frozenset[str]


@dataclass
class Volumes:
    """What provides the volumes, and what is known of those that were made.

    `keeper` gives the directory of the master copies. `made`: volumes by candidate. `masters`:
    contents of the master copies, by dataset. `held`: by candidate, the dataset that its database
    was made of. `inside`: what each candidate's servers have kept. `restore_s`: how long the last
    restore of each candidate took. `recorded`: directories that are in the books, by owner and
    name. `lost`: by candidate what a fault has taken for good; its volume is made anew before its
    database is restored. `moved`: the candidates whose file system lies on the drive of the role
    `target`, which is not mounted by itself any more, or on a spare, or that a fault may have left
    broken; they are made anew, too.
    """

    books: Books
    host: Host
    providers: Mapping[str, Storage]
    keeper: Storage
    made: dict[str, Volume] = field(default_factory=dict)
    masters: dict[str, Contents] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    inside: dict[str, Inside] = field(default_factory=dict)
    restore_s: dict[str, float] = field(default_factory=dict)
    recorded: set[tuple[str, str]] = field(default_factory=set)
    lost: dict[str, str] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    _kept: Path | None = None

    def of(self, candidate: str) -> Volume:
        """The volume of a candidate, which its provision step made."""
        return self.made[candidate]

    @property
    def drives(self) -> list[EmulatedDrive]:
        """The emulated drives of all volumes that were made."""
        return [drive for volume in self.made.values() for drive in volume.drives]

    @property
    def clusters(self) -> list[Path]:
        """The folders of the clusters of all volumes that were made."""
        return [folder for volume in self.made.values() for folder in volume.clusters]

    def provision(self, candidate: str) -> Volume:
        """Make the volume of a candidate; what comes to be is in the books first."""
        provider, books = self.providers[candidate], self.books
        volume = provider.provision(books.run_id, books.recorder(candidate))
        self.made[candidate] = volume
        return volume

    def mount_again(self, candidate: str) -> tuple[str, ...]:
        """Mount all of a volume after a power cut, maybe by another device; what was repaired."""
        record = self.books.recorder(candidate)
        self.made[candidate], repairs = mount_volume(self.of(candidate), record)
        return repairs

    def remove_volume(self, candidate: str) -> None:
        """Remove what was made for one candidate. Raises InfrastructureError for what is left."""
        if left := self.books.remove_all(candidate=candidate):
            raise InfrastructureError(
                f"{left[0].resource.kind} could not be removed: {left[0].reason}",
                where=f"candidate {candidate}",
                remedy="fix that, then run `stithy clean`",
            )

    def remake(self, candidate: str) -> None:
        """Make a volume anew, empty; what was kept within it is gone, logs of drives stay."""
        self.remove_volume(candidate)
        _set_logs_aside(self.of(candidate).drives)
        self.recorded -= {entry for entry in self.recorded if entry[0] == candidate}
        self.inside.pop(candidate, None)
        for drive in self.provision(candidate).drives:
            Control(drive.control).snapshot(drive.name)
        self.lost.pop(candidate, None)
        self.moved.discard(candidate)

    @property
    def masters_place(self) -> Path:
        """The directory of the master copies, whether it was made yet or not."""
        return self.place_of(KEEPER)

    def place_of(self, owner: str) -> Path:
        """The directory of a candidate that has one, or of the master copies."""
        place = (self.keeper if owner == KEEPER else self.providers[owner]).place()
        assert place is not None  # the caller knows that it has one
        return place

    def provision_keeper(self) -> Path:
        """Make the directory that keeps the master copies, once a session."""
        if self._kept is None:
            recorder = self.books.recorder(KEEPER)
            self._kept = self.keeper.provision(self.books.run_id, recorder).path
        return self._kept

    def make_tree(self, candidate: str, name: str, role: Role = "data") -> Path:
        """An empty directory on a candidate's volume, as `make_in`."""
        return self.make_in(self.of(candidate).get_part(role).path, candidate, name)

    def make_in(self, place: Path, owner: str, name: str) -> Path:
        """An empty directory of the server's user; an older one of the same name is removed."""
        self.remove(place, name)
        # Written down once a run: its handler removes whatever comes to be there.
        if (owner, name) not in self.recorded:
            facts = {"volume": str(place), "name": name, "run_id": self.books.run_id}
            self.books.recorder(owner)("tree", facts)
            self.recorded.add((owner, name))
        path = place / name
        path.mkdir(mode=0o700)
        own(path, self.host.user)
        return path

    def remove(self, place: Path, name: str) -> None:
        """Remove a directory of the run with all that it holds; one that is not the run's stays."""
        remove_own(place, [name], self.books.run_id)

    def release(self) -> None:
        """Let go of what providers hold, after everything was removed."""
        for provider in (*self.providers.values(), self.keeper):
            provider.release()


def _set_logs_aside(drives: Iterable[EmulatedDrive]) -> None:
    """Move the latency logs of drives that have gone: those of the new ones have the same names."""
    for drive in drives:
        name = drive.log_stem.name + LOG_SUFFIX
        log, number = drive.log_stem.with_name(name), 1
        while (place := log.parent / f"before-{number}" / name).exists():
            number += 1
        place.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            log.rename(place)


def own(path: Path, user: ServerUser | None) -> None:
    """Give a fresh file or directory to the server's user."""
    if user is not None:
        os.chown(path, user.uid, user.gid)
