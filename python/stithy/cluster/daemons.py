"""Ceph's daemons: a monitor on this machine, an OSD for each drive on its host.

They run in the foreground in the cluster's folder, in sessions of their own, without a mark of a
run: clean-up ends them after what uses them.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

from stithy.clock import SystemClock
from stithy.cluster import admin, configuration
from stithy.cluster.layout import Entry
from stithy.cluster.tools import call, ceph, tool
from stithy.errors import InfrastructureError
from stithy.hosts.host import Host, LocalHost, NamespaceHost
from stithy.hosts.runner import Command, Running

PATIENCE_S = 60.0
HERE = LocalHost()

_STARTED: list[Running] = []
"""Daemons that this process started: kept, so that none becomes a zombie unseen."""


def start(folder: Path, words: Sequence[str], host: Host = HERE) -> Running:
    """Start a program that outlives its starter; what it says goes into the folder."""
    command = Command(argv=words, directory=folder, detached=True)
    running = host.runner.start(command, stderr=folder / "errors.txt")
    _STARTED.append(running)
    return running


def reap() -> None:
    """Forget those that have ended."""
    _STARTED[:] = [each for each in _STARTED if each.poll() is None]


def bring_up(
    folder: Path, entry: Entry, devices: Sequence[str], faster: Sequence[str] = ()
) -> None:
    """Raise monitor and OSDs on these devices; all OSDs are up when this returns.

    `faster`: for each OSD the device of its database and log, or none at all.
    """
    fsid = str(uuid4())
    configuration.write(folder, entry, fsid, cached=bool(faster))
    caches: Sequence[str | None] = faster or [None] * len(devices)
    _start_monitor(folder, entry, fsid)
    uuids = [str(uuid4()) for _ in entry.osds]
    with ThreadPoolExecutor(max_workers=len(uuids) + 1) as pool:
        made = [
            pool.submit(_make_osd, folder, osd, device, cache, uuid)
            for (osd, _), device, cache, uuid in zip(
                entry.osds, devices, caches, uuids, strict=True
            )
        ]
        for uuid in uuids:
            ceph(folder, "osd", "new", uuid)
        for each in made:
            each.result()
    for osd, host in entry.osds:
        start_osd(folder, entry, osd, host)
    _wait(folder, len(uuids))


def start_osd(folder: Path, entry: Entry, osd: int, host: int) -> None:
    """Start one OSD on its host."""
    daemon = [tool("ceph-osd"), "-c", configuration.CONF, "-i", str(osd), "-f"]
    start(folder, daemon, NamespaceHost(entry.namespace(host)))


def _start_monitor(folder: Path, entry: Entry, fsid: str) -> None:
    address = f"[v2:{entry.address(0)}:3300,v1:{entry.address(0)}:6789]"
    map_of_it = ["--create", "--clobber", "--fsid", fsid, "--addv", "a", address, "monmap"]
    call([tool("monmaptool"), *map_of_it], folder)
    daemon = [tool("ceph-mon"), "-c", configuration.CONF, "-i", "a"]
    call([*daemon, "--mkfs", "--monmap", "monmap", "--keyring", "mon.keyring"], folder)
    start(folder, [*daemon, "-f"])


def _make_osd(folder: Path, osd: int, device: str, cache: str | None, uuid: str) -> None:
    (folder / f"osd.{osd}" / "block").symlink_to(device)
    words = ["-c", configuration.CONF, "-i", str(osd), "--mkfs", "--osd-uuid", uuid]
    words += ["--bluestore-block-db-path", cache] if cache else []
    call([tool("ceph-osd"), *words, "--no-mon-config"], folder)


def _wait(folder: Path, count: int) -> None:
    clock = SystemClock()
    until_s = clock.monotonic_s() + PATIENCE_S
    while (up := sum(admin.serves(folder, osd) for osd in range(count))) < count:
        if clock.monotonic_s() > until_s:
            raise InfrastructureError(
                f"only {up} of {count} OSDs came up within {PATIENCE_S:g} s",
                where="cluster",
                remedy=f"look into the logs in {folder}; free CPU and memory, and try again",
            )
        clock.sleep_s(0.2)
