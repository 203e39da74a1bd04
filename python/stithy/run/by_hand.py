"""Clusters that a person raises without a study: entered like a run, kept until they are ended.

All that is made of them stands in the register before, so that whoever is killed leaves nothing
that `stithy clean` would not find. Its entry goes when the cluster is down.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stithy.clock import SystemClock
from stithy.cluster import image, layout
from stithy.cluster.layout import ClusterEntry
from stithy.drives.bridge import DEVICE, list_loops
from stithy.drives.control import Control
from stithy.drives.program import CONTROL
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.hosts.runner import LocalRunner
from stithy.names import find_closest
from stithy.run.books import Register, Registered, list_registered, make_scratch, read_registered
from stithy.run.cleaning import Left, clean_up, is_going_on, is_serving
from stithy.storage.provider import ROLES, Role, Site
from stithy.storage.providers.ceph.keys import CephKeys
from stithy.storage.providers.ceph.laboratory import LaboratoryStorage
from stithy.wire.drive.messages import DriveUp

MARK = "cluster-"
"""Before its name in the register; ids of runs are hexadecimal."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
SEED = 1


@dataclass(frozen=True)
class Cluster:
    """A cluster that a person started; None of `path` and `entry`: it was killed before.

    `path`: the mounted file system, or the block device. `drives`: the folder of their program.
    """

    name: str
    registered: Registered
    folder: Path | None
    entry: ClusterEntry | None
    path: Path | None
    drives: Path | None

    @property
    def is_whole(self) -> bool:
        """Whether it came up, and has not died since."""
        return is_serving(self.registered)

    @property
    def alive(self) -> tuple[Path, ClusterEntry]:
        """Its folder and entry. Raises PreconditionError where it is not whole."""
        if self.folder is None or self.entry is None or not self.is_whole:
            remedy = f"remove its rest with `stithy cluster down {self.name}`"
            raise PreconditionError("the cluster was killed", where=self.name, remedy=remedy)
        return self.folder, self.entry

    @property
    def drive_control(self) -> tuple[Control, Sequence[DriveUp]]:
        """The control of its drives, and the drives. Raises where they do not answer."""
        control = Control((self.drives or Path()) / CONTROL)
        return control, control.list()


def raise_by_hand(name: str, keys: CephKeys, needed_bytes: Mapping[Role, int]) -> Cluster:
    """Raise a cluster, and keep it when this process ends. Raises what its provider raises."""
    if not NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot be the name of a cluster", where="--name",
            remedy="use at most 32 lower-case letters, digits and hyphens",
        )  # fmt: skip
    if any(cluster.name == name for cluster in list_clusters()):
        raise UserError(
            "a cluster of this name is already up, or was killed",
            where=name,
            remedy=f"remove it with `stithy cluster down {name}`, or give another name",
        )
    needed = dict.fromkeys(ROLES, 0) | dict(needed_bytes)
    site = Site(LocalRunner(), needed, Path(), dict.fromkeys(ROLES, SEED))
    LaboratoryStorage(keys, name, site).check()
    register = Register(f"{MARK}{name}", layout.get_home(), SystemClock(), by_hand=True)
    try:
        site = replace(site, logs=make_scratch(register.register_creation, None))
        LaboratoryStorage(keys, name, site).provision(f"{MARK}{name}", register.register_creation)
        register.keep()
        register.close(remove=False)
    except BaseException:
        left = _remove_now(register)
        register.close(remove=not left)
        raise
    return find_cluster(name)


def _remove_now(register: Register) -> Sequence[Left]:
    found = read_registered(register.path)
    resources = found.resources if found else ()
    return clean_up(found.run_id if found else "", resources, register.removed)


def list_clusters() -> Sequence[Cluster]:
    """All clusters that a person of this user started, also killed ones, by name."""
    found = []
    for run in list_registered():
        if run.by_hand:
            facts = {resource.kind: resource.facts for resource in run.resources}
            folder = Path(facts["cluster"]["folder"]) if "cluster" in facts else None
            point = Path(facts["mount"]["path"]) if "mount" in facts else _find_device(folder)
            drives = Path(facts["drive"]["folder"]) if "drive" in facts else None
            entry = layout.read_entry(folder) if folder else None
            name = run.run_id.removeprefix(MARK)
            found.append(Cluster(name, run, folder, entry, point, drives))
    return sorted(found, key=lambda each: each.name)


def _find_device(folder: Path | None) -> Path | None:
    if folder is None or (entry := layout.read_entry(folder)) is None:
        return None
    found = [
        *list_loops(folder / DEVICE),
        *(device for _, device in image.list_devices(entry.image)),
    ]
    return Path(found[0]) if found else None


def find_cluster(name: str | None) -> Cluster:
    """The cluster of this name; None: the only one. Raises UserError with the nearest."""
    every = list_clusters()
    names = [run.name for run in every]
    if name is None and len(every) == 1:
        return every[0]
    if name in names:
        return every[names.index(name)]
    near = find_closest(name, names) if name else None
    if near is not None:
        remedy = f"did you mean {near}?"
    else:
        remedy = f"give one of {', '.join(names)}" if names else "raise one: stithy cluster up"
    problem = "no cluster of this name is up" if name else f"{len(names) or 'no'} clusters are up"
    raise UserError(problem, where=name or "stithy cluster", remedy=remedy)


def take_down(cluster: Cluster) -> None:
    """Remove all that belongs to it; its data are lost. Raises where something is left."""
    if is_going_on(cluster.registered):
        raise UserError(
            "it is just being raised", where=cluster.name, remedy="wait until that has ended"
        )
    # Entered anew: from now on it is not kept any more, whoever is killed meanwhile.
    register = Register(
        cluster.registered.run_id, cluster.registered.directory, SystemClock(), by_hand=True
    )
    left = _remove_now(register)
    register.close(remove=not left)
    if left:
        first = left[0]
        raise InfrastructureError(
            f"{first.resource.kind} is left: {first.reason}",
            where=cluster.name,
            remedy="end what uses the volume, and take the cluster down again",
        )
