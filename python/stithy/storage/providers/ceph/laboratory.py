"""A laboratory cluster as storage: raised on emulated drives, and taken away again.

Everything of it but the drives lies in one folder, by which clean-up finds it.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cluster import daemons, image, layout
from stithy.cluster.daemons import read_counters
from stithy.cluster.faults import Packets
from stithy.cluster.image import KERNELS, Kernel
from stithy.cluster.layout import PACKAGES, find_program
from stithy.drives import bridge, filesystems
from stithy.errors import PreconditionError
from stithy.hosts import links
from stithy.needs import (
    DeviceNeed,
    Driver,
    Judgement,
    Machine,
    Need,
    Networking,
    OwnProgram,
    Package,
    ProgramNeed,
    Root,
)
from stithy.storage import provider
from stithy.storage.emulation import AskedDrive, bring_up, list_profile_times_s, suspend_pacing
from stithy.storage.formatted import MadeAnew, VolumeSpec, build_volume, need_rights
from stithy.storage.provider import Array, EmulatedDrive, Record, Room, Site, Volume
from stithy.storage.providers.ceph.keys import CephKeys
from stithy.storage.space import Space, drop_figures, give_back, measure_space
from stithy.storage.volume import measure_room
from stithy.units import format_duration, format_size

if TYPE_CHECKING:
    from stithy.drives.profiles import DriveProfileFile

THROUGH_PROGRAMS = "QEMU, nbdfuse and a loop device"


@dataclass(frozen=True, kw_only=True)
class UnlessKernel(Need):
    """A need of an image where no client of the kernel can be used.

    `limited`: limits of the image must hold, which they do not on all ways.
    """

    need: Need
    limited: bool = False

    def judge(self, machine: Machine) -> Judgement:
        """That of the need, or that the kernel does without."""
        for kernel in _fit(self.limited):
            if machine.names(str(kernel.sign)) and all(map(machine.program, kernel.programs)):
                what = self.need.judge(machine).what
                return Judgement(what, "there", f"not needed: images go by {kernel.kind}")
        return self.need.judge(machine)


def make_unless_kernel(needs: Sequence[Need], *, limited: bool = False) -> tuple[Need, ...]:
    """These needs, where no client of the kernel can be used."""
    return tuple(UnlessKernel(need=need, why=need.why, limited=limited) for need in needs)


def describe_access(*, limited: bool) -> str:
    """How an image goes on this machine now, and why a client that is there is not used."""
    reasons = []
    for kernel in _fit(limited):
        if (why := kernel.explain_unusable()) is None:
            return kernel.kind
        if kernel.sign.exists():
            reasons.append(f"{kernel.kind}: {why}")
    return f"{THROUGH_PROGRAMS} ({'; '.join(reasons)})" if reasons else THROUGH_PROGRAMS


def describe_unlimited_access() -> str | None:
    """How images without a limit go, where those with one go otherwise on this machine now."""
    free, limited = (
        next((kernel.kind for kernel in _fit(kept) if kernel.explain_unusable() is None), None)
        for kept in (False, True)
    )
    return free if free != limited else None


def _fit(limited: bool) -> list[Kernel]:
    return [kernel for kernel in KERNELS if kernel.limits or not limited]


RIGHTS: tuple[Need, ...] = (
    Root(why="network namespaces, FUSE, loop devices and mounting"),
    DeviceNeed(path="/dev/fuse", module="fuse", why="the way to drives and to the image"),
    DeviceNeed(path="/dev/loop-control", module="loop", why="their block devices"),
)
WHY = {
    "ceph-mon": "the monitor of a cluster",
    "ceph-osd": "the drives' daemons of a cluster",
    "ceph": "administration of a cluster",
    "rbd": "the image of a cluster",
    "qemu-storage-daemon": "the image of a cluster",
    "nbdfuse": "the image of a cluster",
    "ip": "the network of a cluster",
    "nsenter": "the hosts of a cluster",
}
LIMITED = "clusters with `network_gbit`"


def list_programs(*names: str) -> tuple[Need, ...]:
    """These programs as needs."""
    return tuple(
        ProgramNeed(name=name, package=PACKAGES[name], why=WHY.get(name, LIMITED)) for name in names
    )


PROGRAMS = list_programs(*(name for name in WHY if name not in bridge.PROGRAMS))
QEMU_RBD = Driver(
    name="rbd in QEMU",
    program="qemu-storage-daemon",
    asked=("--blockdev", "driver=rbd,node-name=n,pool=p,image=i,conf=/proc/none"),
    lacking=("Unknown driver", "does not accept value"),
    package=Package("qemu-block-extra", "qemu-block-rbd"),
    why="the image of a cluster",
)
BRIDGE = (*list_programs(*bridge.PROGRAMS), QEMU_RBD)
"""Of the way from the image to its block device, where the kernel has none."""

HOSTS = Networking(
    what="hosts as network namespaces",
    tried=(
        ("ip", "link", "add", "stithy", "type", "bridge"),
        ("ip", "link", "add", "stithy", "type", "veth", "peer", "name", "stithy-peer"),
    ),
    options="CONFIG_BRIDGE and CONFIG_VETH",
    why="the hosts of a cluster",
)
LIMITS = replace(links.LIMITS, why=LIMITED, optional=True)
DROPPING = "faults of a cluster's network"
FILTERS: tuple[Need, ...] = (
    ProgramNeed(name="iptables", package=PACKAGES["iptables"], why=DROPPING, optional=True),
    Networking(
        what="dropped packets (statistic)",
        tried=tuple(
            ("iptables", *rule)
            for rule in Packets(share=0.5).list_rules(layout.ClusterEntry("", None, "", "", 0, 0))
        ),
        options="CONFIG_IP_NF_FILTER and CONFIG_NETFILTER_XT_MATCH_STATISTIC",
        why=DROPPING,
        optional=True,
    ),
)
NEEDS: tuple[Need, ...] = (
    *RIGHTS,
    *PROGRAMS,
    *make_unless_kernel(BRIDGE),
    HOSTS,
    ProgramNeed(name="tc", package=PACKAGES["tc"], why=LIMITED, optional=True),
    LIMITS,
    *FILTERS,
    OwnProgram(name="stithy-drive", why="the drives under a cluster"),
    *filesystems.list_needs(usual="ext4"),
)
INSTEAD = "or use directories (`path`) or drives (`drive`) as candidates"


def need_room(keys: CephKeys, needed_bytes: int, where: str) -> None:
    """Raise where the volume is too small for what lies on it."""
    usable = provider.count_usable_bytes(keys.filesystem, keys.count_volume_bytes(needed_bytes))
    if usable < needed_bytes:
        enough = provider.count_device_bytes(keys.filesystem, needed_bytes)
        raise PreconditionError(
            f"the volume holds about {format_size(usable)}, and its data may need "
            f"{format_size(needed_bytes)}",
            where=where,
            remedy=f"leave out `size`, or give at least {format_size(enough)}",
        )


class LaboratoryStorage(MadeAnew):
    """The cluster of one candidate."""

    def __init__(self, keys: CephKeys, candidate: str, site: Site) -> None:
        super().__init__(candidate, site)
        self._keys = keys
        self._profiles: dict[str, DriveProfileFile] = {}

    def check(self) -> None:
        through = make_unless_kernel(BRIDGE, limited=self._limited)
        needed = (*RIGHTS, *PROGRAMS, *through, HOSTS)
        need_rights(needed, "clusters of Ceph", self._where, INSTEAD)
        if self._keys.network_gbit is not None:
            limits = (list_programs("tc")[0], LIMITS)
            need_rights(limits, LIMITED, self._where, "or leave out `network_gbit`")
        layout.check_home()
        VolumeSpec((), self._keys.filesystem).check(self._where)
        for name, size_bytes in self._keys.count_bytes_by_drive(self._needed).items():
            self._check_capacity(name, size_bytes)
        need_room(self._keys, self._needed, self._where)

    def _check_capacity(self, name: str, size_bytes: int) -> None:
        capacity = self._find_profile(name).facts.capacity_bytes
        if size_bytes > capacity:
            raise PreconditionError(
                f"each drive must hold {format_size(size_bytes)}, and "
                f"{self._keys.name_profile(name)} has {format_size(capacity)}",
                where=self._where,
                remedy="use more hosts or drives, a smaller `size` or `scale`, or less data",
            )

    def list_rooms(self) -> tuple[Room, ...]:
        size = sum(self._keys.count_bytes_by_drive(self._needed).values())
        if self._keys.backing is not None:
            return (replace(measure_room(self._keys.backing), takes_bytes=size),)
        name = f"drives of {self._candidate}"
        return (Room(name, None, True, self._place / "data", takes_bytes=size),)

    def list_cautions(self) -> tuple[str, ...]:
        hosts = "1 host" if self._keys.hosts == 1 else f"{self._keys.hosts} hosts"
        said = [
            f"{self._keys.policy.policy} on {hosts}, all on this machine: its CPUs carry hosts, "
            "drives and database together",
            f"its image goes by {describe_access(limited=self._limited)}",
        ]
        said += ["its limit also slows loading and restoring data down"] if self._limited else []
        if self._limited and (other := describe_unlimited_access()) is not None:
            said.append(
                f"candidates without `iops_limit` go by {other}, which does not keep it: compare "
                "only candidates that all have a limit, or none"
            )
        return tuple(f"{self._candidate}: {text}" for text in said)

    @property
    def _limited(self) -> bool:
        return self._keys.policy.iops_limit is not None

    def describe_identity(self) -> str | None:
        from stithy.cluster.layout import call

        with suppress(PreconditionError):
            return " ".join(call([find_program("ceph-osd"), "--version"]).split()[:3])
        return None

    def list_profile_times_s(self) -> dict[tuple[str, str], float]:
        return list_profile_times_s(map(self._find_profile, self._keys.names))

    def provision(self, run_id: str, record: Record) -> Volume:
        """Bring drives up, raise the cluster on them, and mount a file system on its image."""
        drives = self._bring_up(run_id, record)
        with suspend_pacing(drives):
            device = self._raise(run_id, record, drives)
            self._make_place(run_id, record)
            thick = self._keys.policy.policy.thick
            asked = VolumeSpec((device,), self._keys.filesystem, whole=thick)
            volume = build_volume(asked, self._place / "data", run_id, record, self._site.runner)
        # Only from now on: the self-test and making a file system would take minutes.
        folder, iops = self._get_folder(run_id), self._keys.policy.policy.iops_limit
        if iops is not None and (entry := layout.read_entry(folder)) is not None:
            image.limit(folder, entry, iops)
        return replace(
            volume,
            emulated=drives,
            cluster=folder,
            system=self._describe_cluster(drives),
        )

    def _describe_cluster(self, drives: tuple[EmulatedDrive, ...]) -> Array:
        keys = self._keys
        facts = {"hosts": "of 1 host" if keys.hosts == 1 else f"of {keys.hosts} hosts"}
        facts["policy"] = str(keys.policy.policy)
        facts |= {"cache": keys.cache.drive} if keys.cache else {}
        if (grace_s := keys.heartbeat_grace_s) != layout.GRACE_S:
            facts["grace"] = format_duration(grace_s)
        limit = keys.link_gbit
        facts |= {"links": f"{limit:g} Gbit/s" if limit is not None else "not limited"}
        members = [Path(drive.device).name for drive in drives[: len(keys.osd_names)]]
        return Array("Ceph", facts, tuple(members), keys.policy.policy.redundancy)

    def measure_space(self, volume: Volume) -> Space:
        """From the OSDs' own books: `rbd du` counts whole objects that were only touched.

        What files have left is given back before: it would count for the policy. A thick image
        keeps it.
        """
        assert volume.cluster is not None  # provision gives it
        if not self._keys.policy.policy.thick:
            give_back(volume.mount_point, self._site.runner)
        own = measure_space(volume, self._site.runner, devices_bytes=[self._volume_bytes])
        redundancy = self._keys.policy.policy.redundancy
        own = replace(own, redundancy=redundancy, below=self._keys.policy.compression != "none",
                      provisioned_bytes=round(self._volume_bytes * redundancy))  # fmt: skip
        books = read_counters(volume.cluster)
        if None in books.values():
            of_drives = ("stored_bytes", "physical_bytes", "allocated_bytes")
            return drop_figures(own, "an OSD does not answer", *of_drives)
        taken = sum(book["bluestore"]["bluestore_allocated"] for book in books.values() if book)
        return replace(own, stored_bytes=round(taken / redundancy), physical_bytes=taken,
                       allocated_bytes=taken)  # fmt: skip

    def _find_profile(self, name: str) -> "DriveProfileFile":
        asked = self._keys.name_profile(name)
        if asked not in self._profiles:
            from stithy.drives.profiles import find_profile

            self._profiles[asked] = find_profile(asked, scale=self._keys.scale)
        return self._profiles[asked]

    @property
    def _label(self) -> str:
        """A name that no other source of the candidate has, such as drives for its log."""
        return f"{self._candidate}.ceph-{self._site.role}"

    @property
    def _needed(self) -> int:
        return self._site.needed_bytes["data"]

    @property
    def _volume_bytes(self) -> int:
        return self._keys.count_volume_bytes(self._needed)

    def _get_folder(self, run_id: str) -> Path:
        return layout.get_folder(self._label, run_id)

    def _raise(self, run_id: str, record: Record, drives: tuple[EmulatedDrive, ...]) -> str:
        """Raise the cluster in its folder; the block device of its image.

        An OSD on each drive of the data; its database and log lie on the one of the cache, where
        there is one. A way to the image that gives back other bytes than were written is refused.
        """
        keys, folder, policy = self._keys, self._get_folder(run_id), self._keys.policy.policy
        record("cluster", {"folder": str(folder)})
        entry = layout.make_entry(self._candidate, run_id, keys.hosts, keys.drives_per_host, policy)
        layout.make(folder, entry)
        devices, count = [drive.device for drive in drives], len(keys.osd_names)
        daemons.make(folder, entry, keys.link_gbit)
        grace_s = keys.heartbeat_grace_s
        daemons.bring_up(folder, entry, devices[:count], devices[count:], grace_s)
        image.make(folder, entry, policy, self._volume_bytes)
        daemons.set_damping(folder, daemons.DAMPING_S)
        device = image.attach(folder, entry)
        bridge.check(Path(device))
        return device

    def _bring_up(self, run_id: str, record: Record) -> tuple[EmulatedDrive, ...]:
        role, sizes_bytes = self._site.role, self._keys.count_bytes_by_drive(self._needed)
        asked = [
            AskedDrive(
                name=f"{role}{name.removeprefix('data')}",
                role=role,
                profile=self._find_profile(name),
                size_bytes=size_bytes,
                scale=self._keys.scale,
                seed=self._site.seeds["data"] + number,
                backing=self._keys.backing,
            )
            for number, (name, size_bytes) in enumerate(sizes_bytes.items())
        ]
        return bring_up(asked, self._label, self._label, self._site, run_id, record)
