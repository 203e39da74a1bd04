"""The power of a volume: of all that it stands on, or of one host of its cluster and the database.

What stands on drives goes with them (`drives.power_cut`): the OSDs of a laboratory cluster, and the
way to its image, which is where the database is. The monitor is on none of the hosts, and goes on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from stithy.cluster import image
from stithy.cluster.daemons import find_osd_pids, set_link, wait_for_osds
from stithy.cluster.faults import repair_cluster
from stithy.cluster.layout import ClusterEntry, list_devices, read_entry
from stithy.drives.power_cut import CutRule, DriveCut, MountedDrive, Pids, cut_power, mount_again
from stithy.storage.emulation import list_mounted_drives
from stithy.storage.provider import Record, Volume
from stithy.wire.drive.jobs import PowerOn

DrivesByDevice = Sequence[tuple[str, MountedDrive]]
"""Drives, each with its own device: under a cluster, another one is mounted."""


def list_laboratories(volume: Volume) -> Iterator[tuple[Path, ClusterEntry]]:
    """List the clusters under a volume whose hosts are here, each with its folder."""
    for folder in volume.clusters:
        entry = read_entry(folder)
        assert entry is not None  # it serves the volume
        if not entry.access:
            yield folder, entry


def cut_volume(
    volume: Volume, rule: CutRule, pids: Pids | None, *, host: int | None = None,
    linger_s: float = 0.0,
) -> tuple[DriveCut, ...]:  # fmt: skip
    """Cut the power of all drives, or those of a host, and of the database; see `cut_power`.

    `pids`: the database's; None where it is on none of these hosts, and goes on. `host` falls
    silent before, so that nobody hears its connections being closed; the other hosts keep their
    power.
    """
    return cut_machines(
        list(list_laboratories(volume)), _list_by_device(volume), rule, pids, host=host,
        linger_s=linger_s,
    )  # fmt: skip


def cut_machines(
    clusters: Sequence[tuple[Path, ClusterEntry]], drives: DrivesByDevice, rule: CutRule,
    pids: Pids | None, *, host: int | None = None, linger_s: float = 0.0,
) -> tuple[DriveCut, ...]:  # fmt: skip
    """Do what `cut_volume` does to a volume, to clusters and drives by themselves."""
    dying = [(folder, osd) for folder, entry in clusters
             for osd, of in entry.osds if host in (None, of)]  # fmt: skip
    lost = _select_drives(clusters, drives, host)

    def list_pids() -> Iterator[int]:
        yield from pids() if pids else ()
        running = {folder: find_osd_pids(folder) for folder, _ in clusters}
        yield from (running[folder][osd] for folder, osd in dying if osd in running[folder])

    def release() -> None:
        for folder, entry in clusters if pids else ():
            image.cut_image_off(folder, entry)

    if host is not None:
        for _, entry in clusters:
            set_link(entry, host, up=False)
    held = [drive for _, drive in drives if drive not in lost]
    return cut_power(lost, rule, list_pids, linger_s=linger_s, held=held, release=release,
                     leaves=pids is not None)  # fmt: skip


def list_drives_of(volume: Volume, host: int | None) -> list[MountedDrive]:
    """List the drives of a host; None: all that there are."""
    return _select_drives(list(list_laboratories(volume)), _list_by_device(volume), host)


def _list_by_device(volume: Volume) -> DrivesByDevice:
    mounted = list_mounted_drives(volume)
    return list(zip((drive.device for drive in volume.drives), mounted, strict=True))


def _select_drives(
    clusters: Sequence[tuple[Path, ClusterEntry]], drives: DrivesByDevice, host: int | None
) -> list[MountedDrive]:
    devices = {device for folder, entry in clusters for osd, of in entry.osds if of == host
               for device in list_devices(folder, osd)}  # fmt: skip
    return [mounted for device, mounted in drives if host is None or device in devices]


def power_on(volume: Volume, host: int | None = None) -> None:
    """Give back the power of what was cut; InfrastructureError where an OSD does not serve."""
    for drive in list_drives_of(volume, host):
        drive.control.set_fault(drive.name, PowerOn())
    for folder, entry in list_laboratories(volume):
        repair_cluster(folder, entry)
        wait_for_osds(folder, len(entry.osds))


def mount_volume(volume: Volume, record: Record) -> tuple[Volume, tuple[str, ...]]:
    """Mount all file systems again, images through new clients: the volume, and what was repaired.

    An image may be another device than before.
    """
    parts = dict(volume.by_role)
    for role, part in volume.by_role.items():
        clusters = list(list_laboratories(replace(part, others={}))) if part.cluster else []
        if clusters:
            device = image.attach_again(*clusters[0])
            if (name := Path(device).name) != part.devices[0]:
                record("mount", {"path": str(part.path), "device": device})
            parts[role] = replace(part, devices=(name,))
    fresh = replace(parts.pop("data"), others=parts)
    return fresh, mount_again(list_mounted_drives(fresh))
