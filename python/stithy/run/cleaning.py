"""How each kind of created resource is removed: by a run's end, its failure and `clean` alike.

What killed processes left that no run in the register is to remove (drives, bridges, clusters) is
found and removed, too. What a person started and what runs that go on have made is no orphan.

Every cleanup handler is idempotent, and removes only what the register names and what still carries
the run's mark. Processes go first, then the rest in the reverse order of its creation.
"""

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stithy.agents.coordinator import end_loads
from stithy.clock import SystemClock
from stithy.cluster import daemons, layout
from stithy.cluster import image as removal
from stithy.drives import bridge, program
from stithy.drives import control as places
from stithy.drives.filesystems import is_mounted, unmount
from stithy.drives.program import find, find_serving_folder, remove, repair
from stithy.engines.engine import get_engine
from stithy.errors import StithyError, give_reason
from stithy.hosts.links import DriverLink
from stithy.hosts.processes import (
    DELETED,
    end,
    find_pids_inside,
    find_pids_of_run,
    is_alive,
    list_abandoned_folders,
)
from stithy.hosts.resources import leave_io_group, remove_group
from stithy.registry import plugins
from stithy.results.layout import RunDirectory
from stithy.run.activity import StepKind
from stithy.run.books import (
    MARKING,
    PREFIX,
    SCRATCH_PLACES,
    Journal,
    Register,
    Registered,
    Resource,
    forget,
    list_registered,
    read_journal,
    read_registered,
)
from stithy.storage.consent import remove_mark
from stithy.storage.layer import LayerKind
from stithy.storage.provider import Provider, Record
from stithy.storage.volume import remove_own, remove_tree
from stithy.wire.program import DRIVE

Facts = Mapping[str, str]


@dataclass(frozen=True)
class Left:
    """A thing that could not be removed, and why."""

    resource: Resource
    reason: str


def clean_up(
    run_id: str,
    resources: Iterable[Resource],
    removed: Callable[[int], object],
    *,
    everything: bool = True,
) -> list[Left]:
    """Remove `resources`, given in the order of their creation; returns what is left.

    `removed` hears of each one that is no more. `everything`: all processes of the run are ended
    first, not only the servers among `resources`.
    """
    ordered = list(resources)
    for resource in ordered:
        # Neither a server nor who removes files comes to an end while requests wait for ever.
        if resource.kind == "mount":
            with suppress(OSError, StithyError):  # told when it is unmounted
                _release_requests(resource.facts)
    for resource in ordered:
        if resource.kind == "server":
            _remove_server(resource.facts)
    if everything:
        end(find_pids_of_run(run_id), signal.SIGTERM)
    left = _remove_each(list(reversed(ordered)), removed)
    # What lay on a drive that has died cannot be removed from it, and is gone with its mount.
    return _remove_each([resource.resource for resource in left], removed)


def _remove_each(resources: Iterable[Resource], removed: Callable[[int], object]) -> list[Left]:
    left: list[Left] = []
    for resource in resources:
        because = _explain_hold(resource, left) or _try_removal(resource)
        if because is not None:
            left.append(Left(resource, because))
            continue
        # What is not written down, for want of room, `clean` only does once more.
        with suppress(StithyError):
            removed(resource.number)
    return left


def _explain_hold(resource: Resource, left: Iterable[Left]) -> str | None:
    if resource.kind not in MARKING:
        return None
    place = resource.facts.get("path")
    trees = [resource.resource.facts for resource in left if resource.resource.kind == "tree"]
    return next(
        (f"{tree['name']} in it is left" for tree in trees if tree["volume"] == place), None
    )


def _try_removal(resource: Resource) -> str | None:
    try:
        remove_it = CLEANUP_HANDLERS.get(resource.kind) or list_cleanup_handlers()[resource.kind]
        remove_it(resource.facts)
    except KeyError:
        return f"nothing here removes a {resource.kind}: set STITHY_PLUGINS as for the run"
    except (OSError, StithyError) as error:
        return give_reason(error)
    return None


def _remove_server(facts: Facts) -> None:
    """End a server without writing its pages: its files are removed anyway."""
    end(find_pids_inside(Path(facts["data"]), facts["program"]), signal.SIGQUIT)


def _remove_directory(facts: Facts) -> None:
    """Only when it is empty: whatever else is in it is not Stithy's."""
    with suppress(FileNotFoundError):
        Path(facts["path"]).rmdir()


def _remove_scratch(facts: Facts) -> None:
    """The name was drawn by Stithy for this run alone; anything else is not touched."""
    path = Path(facts["path"])
    if path.parent in SCRATCH_PLACES and path.name.startswith(PREFIX):
        remove_tree(path)


def _remove_mount(facts: Facts) -> None:
    """Only while a device of this run is mounted there; what would hold it back is ended first.

    After a reboot another drive may have the device's name: it is not to be touched.
    """
    if _release_requests(facts):
        unmount(Path(facts["path"]), devices=facts["device"].split())


def _release_requests(facts: Facts) -> bool:
    """End what would hold requests of a mount back for ever; whether it is there."""
    devices = facts["device"].split()
    if not is_mounted(Path(facts["path"]), *devices):
        return False
    for folder in {each for device in devices if (each := find_serving_folder(device)) is not None}:
        repair(folder)
    for cluster in {
        each for device in devices if (each := removal.find_serving_folder(device)) is not None
    }:
        removal.release_requests(cluster)
    return True


def _remove_image(facts: Facts) -> None:
    """The name was drawn by Stithy for this run alone; anything else is not touched."""
    path = Path(facts["path"])
    if path.name.startswith(PREFIX) and path.suffix == ".img" and not path.is_symlink():
        path.unlink(missing_ok=True)


CLEANUP_HANDLERS: Mapping[str, Callable[[Facts], None]] = {
    "directory": _remove_directory,
    "mark": lambda facts: remove_mark(Path(facts["path"]), facts["run_id"]),
    "tree": lambda facts: remove_own(Path(facts["volume"]), [facts["name"]], facts["run_id"]),
    "scratch": _remove_scratch,
    "cgroup": lambda facts: remove_group(Path(facts["path"])),
    "io-group": lambda facts: leave_io_group(Path(facts["path"])),
    "link": lambda facts: DriverLink(facts["tag"], 0.0).remove(),
    "server": _remove_server,
    "shared-memory": lambda facts: get_engine(facts["engine"]).forget(facts),
    "mount": _remove_mount,
    "drive": lambda facts: remove(Path(facts["folder"])),
    "image": _remove_image,
    "agents": lambda facts: None,  # asked by `end_at_agents`: nothing of theirs is here
}
"""One handler for each kind of resource that is nobody's alone."""


def list_cleanup_handlers() -> Mapping[str, Callable[[Facts], None]]:
    """One handler for each kind of resource, those of plug-ins among them."""
    found = dict(CLEANUP_HANDLERS)
    for provider in plugins(Provider).values():
        found |= provider.handlers
    for layer in plugins(LayerKind).values():
        found |= layer.handlers
    for kind in plugins(StepKind).values():
        found |= kind.handlers
    return found


def end_at_agents(run_id: str, resources: Iterable[Resource]) -> list[Left]:
    """Let agents end what they still drive for a run that has died; returns who was not reached.

    Nobody need be asked again: load without a lease ends by itself.
    """
    return [
        Left(resource, because)
        for resource in resources
        if resource.kind == "agents" and (because := end_loads(resource.facts, run_id)) is not None
    ]


@dataclass(frozen=True)
class Cleaned:
    """What became of one run: how many things were removed, and what could not be.

    `running`: it goes on, so nothing was touched.
    """

    run: Registered
    removed: int
    left: tuple[Left, ...]
    running: bool = False


def clean(directory: Path | None = None) -> Sequence[Cleaned]:
    """Clean all runs of this user that have ended, or only that of one run directory.

    A directory that was moved is known by the runs that its journals name.
    """
    runs = [run for run in list_registered() if not is_serving(run)]
    if directory is not None:
        own = RunDirectory(directory.resolve())
        inside, ids = own.sensitivity, set(_read_run_ids(own))
        runs = [
            run
            for run in runs
            if run.directory == own.root or inside in run.directory.parents or run.run_id in ids
        ]
    return [
        Cleaned(run, 0, (), running=True) if is_going_on(run) else clean_run(run) for run in runs
    ]


def _read_run_ids(own: RunDirectory) -> Iterator[str]:
    for corner in (own, *own.corners().values()):
        with suppress(OSError):
            for entry in read_journal(corner.journal):
                if entry.event == "run-started":
                    yield entry.facts["run_id"]


def is_serving(run: Registered) -> bool:
    """Whether it is a cluster that a person started, is whole, and has not died since."""
    folders = [
        Path(resource.facts["folder"]) for resource in run.resources if resource.kind == "cluster"
    ]
    return run.by_hand and run.kept and any(map(removal.is_alive, folders))


def is_going_on(run: Registered) -> bool:
    """A kept run has ended, even while the process that ran it still writes its report."""
    return is_alive(run.owner) and not run.kept


def clean_run(
    run: Registered, keeps: Callable[[Resource], bool] = lambda resource: False
) -> Cleaned:
    """Unmake what one run left but for what is kept; its entry goes with all else. Idempotent."""
    going = [resource for resource in run.resources if not keeps(resource)]
    unreached = end_at_agents(run.run_id, going)
    journal = Journal(run.path, SystemClock())
    try:
        left = clean_up(run.run_id, going, lambda number: journal.write("removed", number=number))
    finally:
        journal.close()
    # Whoever resumed it meanwhile writes into that file.
    is_over = not ((now := read_registered(run.path)) and is_going_on(now))
    if is_over and not left and len(going) == len(run.resources):
        forget(run.path)
    left = [*unreached, *left]
    return Cleaned(run, len(going) - len(left), tuple(left))


def find_run(run_id: str) -> Registered | None:
    """The ended run of this id in the register."""
    return next(
        (run for run in list_registered() if run.run_id == run_id and not is_going_on(run)), None
    )


@dataclass(frozen=True)
class Books:
    """The books of one run: all that it creates is in both of them first."""

    run_id: str
    register: Register
    journal: Journal

    def record(self, kind: str, facts: Mapping[str, str]) -> Resource:
        """Write down, durably and in both, what is about to be created."""
        self.journal.write("creating", kind=kind, facts=dict(facts))
        return Resource(self.register.register_creation(kind, facts), kind, facts)

    def recorder(self, candidate: str) -> Record:
        """`record` for what belongs to one candidate."""
        return lambda kind, facts: self.record(kind, {**facts, "candidate": candidate})

    def remove(self, resource: Resource) -> None:
        """Remove one resource now, and write that down."""

        def removed(number: int) -> None:
            self.register.removed(number)
            self.journal.write("removed", kind=resource.kind, facts=dict(resource.facts))

        clean_up(self.run_id, [resource], removed, everything=False)

    def remove_all(self, *, candidate: str) -> list[Left]:
        """Remove what is registered of one candidate. Returns what is left."""
        resources = [
            resource
            for resource in self._registered
            if resource.facts.get("candidate") == candidate
        ]
        return clean_up(self.run_id, resources, self.register.removed, everything=False)

    def end(self, keeps: Callable[[Resource], bool] = lambda resource: False) -> list[Left]:
        """Remove all but what is kept for a later session, and close the register.

        Its entry goes with the last thing that it names. Returns what is left.
        """
        registered = self._registered
        going = [resource for resource in registered if not keeps(resource)]
        left = clean_up(self.run_id, going, self.register.removed)
        self.register.close(remove=not left and len(going) == len(registered))
        return left

    @property
    def _registered(self) -> tuple[Resource, ...]:
        found = read_registered(self.register.path)
        return found.resources if found else ()

    @contextmanager
    def resource(self, kind: str, facts: Mapping[str, str]) -> Iterator[None]:
        """A resource that exists inside only; recorded before, removed after."""
        made = self.record(kind, facts)
        try:
            yield
        finally:
            self.remove(made)


@dataclass(frozen=True)
class Orphan:
    """What belongs to a folder of which nobody knows any more; `name` is what people call it."""

    kind: Literal["drive", "bridge", "cluster"]
    name: str
    folder: Path


@dataclass(frozen=True)
class OrphanCleaned:
    """What became of one; `left` is why it could not be removed."""

    orphan: Orphan
    left: str | None


def list_orphans() -> Sequence[Orphan]:
    """All of them, drives last: what else there is lies on them. Nothing is changed."""
    # Folders first: those of a run that begins meanwhile are in the register by then.
    clusters, bridges, drives = layout.list_folders(), bridge.list_bridges(), places.list_folders()
    known = {run.run_id for run in list_registered()}
    lost = [folder for folder in bridges if folder.name.partition(".")[0] not in known]
    return [
        *_find_clusters(clusters, known),
        *(Orphan("bridge", folder.name, folder) for folder in lost),
        *_find_drives(drives, known),
    ]


def _find_clusters(folders: Sequence[Path], known: set[str]) -> Iterator[Orphan]:
    for folder in folders:
        entry = layout.read_entry(folder)
        if entry is None or entry.run_id not in known:
            yield Orphan("cluster", entry.name if entry else folder.name, folder)
    for folder in dict.fromkeys(daemons.list_tags().values()):
        if _is_gone(folder):
            yield Orphan("cluster", folder.name, folder)


def _is_gone(folder: Path) -> bool:
    """Whether nothing is there; what another user has closed to this one is theirs."""
    try:
        folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _find_drives(folders: Sequence[Path], known: set[str]) -> Iterator[Orphan]:
    for folder in folders:
        entry = places.read_entry(folder)
        if entry is None or entry.is_starting or entry.run_id in known:
            continue
        if entry.run_id is not None or find(folder) is None:
            yield Orphan("drive", ", ".join(entry.drives), folder)
    for folder in list_abandoned_folders(DRIVE):
        yield Orphan("drive", folder.name, folder)


def _remove_drive(folder: Path) -> None:
    program.remove(folder)
    end(find_pids_inside(Path(f"{folder}{DELETED}"), DRIVE), signal.SIGTERM)


REMOVE: dict[str, Callable[[Path], None]] = {
    "drive": _remove_drive, "bridge": bridge.remove, "cluster": removal.remove,
}  # fmt: skip


def clean_orphans() -> Sequence[OrphanCleaned]:
    """Remove them all; to be called after the runs, whose own drives are gone by then."""
    cleaned = []
    for orphan in list_orphans():
        left = None
        try:
            REMOVE[orphan.kind](orphan.folder)
        except (OSError, StithyError) as error:
            left = give_reason(error)
        cleaned.append(OrphanCleaned(orphan, left))
    return cleaned


def list_dead_runs() -> Sequence[Registered]:
    """Runs of the register that go on no more and left something, and nobody asked to keep it."""
    return [
        run
        for run in list_registered()
        if not is_going_on(run) and not is_serving(run) and (run.by_hand or not run.kept)
    ]
