"""Ceph's daemons: a monitor on this machine, an OSD for each drive on its host.

They run in the foreground in the cluster's folder, in sessions of their own, without a mark of a
run: clean-up ends them after what uses them.

What a daemon says of itself, over its admin socket: no program is started for it.
The protocol: a JSON command that ends with a zero byte; the answer's length in four bytes, and the
answer. Source: src/common/admin_socket.cc of Ceph.

The network of a cluster: a bridge, and a network namespace for each host.
The bridge carries the folder of its cluster as its alias: so the kernel itself tells whose it is,
also when the folder has gone.
"""

import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from stithy.clock import SystemClock
from stithy.cluster import layout
from stithy.cluster.layout import ClusterEntry, ask_ceph, call, find_program, read_entry
from stithy.drives.control import start_daemon
from stithy.errors import InfrastructureError
from stithy.hosts import links
from stithy.hosts.devices import connect_socket, read_text
from stithy.hosts.host import NAMESPACES, NamespaceHost
from stithy.hosts.processes import find_pids_inside, is_held, read_cmdline

PATIENCE_S, STARTED_S = 60.0, 5.0
"""Own: how long OSDs may take to serve, and the program that starts one to become it."""

HASTY_S, DAMPING_S = 0.05, 1.0
"""Own, and Ceph's own. Source: paxos_propose_interval."""


def bring_up(
    folder: Path,
    entry: ClusterEntry,
    devices: Sequence[str],
    faster: Sequence[str] = (),
    grace_s: float = layout.GRACE_S,
) -> None:
    """Raise monitor and OSDs on these devices; all OSDs are up when this returns.

    `faster`: for each OSD the device of its database and log, or none at all. `grace_s`: how long
    an OSD may be silent.
    """
    fsid = str(uuid4())
    layout.write(folder, entry, fsid, cached=bool(faster), grace_s=grace_s)
    caches: Sequence[str | None] = faster or [None] * len(devices)
    _start_monitor(folder, entry, fsid)
    uuids = [str(uuid4()) for _ in entry.osds]
    with ThreadPoolExecutor(max_workers=len(uuids) + 1) as pool:
        made = [
            pool.submit(make_osd, folder, osd, device, cache, uuid)
            for (osd, _), device, cache, uuid in zip(
                entry.osds, devices, caches, uuids, strict=True
            )
        ]
        for uuid in uuids:
            ask_ceph(folder, "osd", "new", uuid)
        for each in made:
            each.result()
    for osd, host in entry.osds:
        start_osd(folder, entry, osd, host)
    wait_for_osds(folder, len(uuids))


def start_osd(folder: Path, entry: ClusterEntry, osd: int, host: int) -> None:
    """Start one OSD on its host."""
    daemon = [find_program("ceph-osd"), "-c", layout.CONF, "-i", str(osd), "-f"]
    start_daemon(folder, daemon, NamespaceHost(entry.name_namespace(host)).runner)


def _start_monitor(folder: Path, entry: ClusterEntry, fsid: str) -> None:
    address = f"[v2:{entry.get_address(0)}:3300,v1:{entry.get_address(0)}:6789]"
    map_of_it = ["--create", "--clobber", "--fsid", fsid, "--addv", "a", address, "monmap"]
    call([find_program("monmaptool"), *map_of_it], folder)
    daemon = [find_program("ceph-mon"), "-c", layout.CONF, "-i", "a"]
    call([*daemon, "--mkfs", "--monmap", "monmap", "--keyring", "mon.keyring"], folder)
    start_daemon(folder, [*daemon, "-f"])
    set_damping(folder, HASTY_S)


def set_damping(folder: Path, interval_s: float) -> None:
    """Set how long the monitor waits after a decision for more to decide; it must have started.

    That second of Ceph's own belongs to each failure, but to nothing that makes a cluster.
    """
    clock = SystemClock()
    until_s, words = clock.monotonic_s() + PATIENCE_S, {"var": "paxos_propose_interval"}
    while try_ask(folder, MONITOR, "config set", **words, val=[str(interval_s)]) is None:
        if clock.monotonic_s() > until_s:
            raise InfrastructureError(
                f"the monitor does not answer within {PATIENCE_S:g} s", where="cluster",
                remedy=f"look into the logs in {folder}; free CPU and memory, and try again",
            )  # fmt: skip
        clock.sleep_s(0.05)


def make_osd(folder: Path, osd: int, device: str, cache: str | None, uuid: str) -> None:
    """Make an empty OSD with this identifier on a device; its keyring is there already."""
    (folder / f"osd.{osd}" / "block").symlink_to(device)
    words = ["-c", layout.CONF, "-i", str(osd), "--mkfs", "--osd-uuid", uuid]
    words += ["--bluestore-block-db-path", cache] if cache else []
    call([find_program("ceph-osd"), *words, "--no-mon-config"], folder)


def wait_for_osds(folder: Path, count: int) -> None:
    """Return once all OSDs serve. Raises InfrastructureError, at once where one has ended."""
    clock = SystemClock()
    began_s = clock.monotonic_s()
    while down := [osd for osd in range(count) if not is_serving(folder, osd)]:
        lasted_s = clock.monotonic_s() - began_s
        dead = [] if lasted_s < STARTED_S else sorted({*down} - find_osd_pids(folder).keys())
        if dead or lasted_s > PATIENCE_S:
            what = f"osd.{dead[0]} has ended" if dead else f"within {PATIENCE_S:g} s"
            raise InfrastructureError(
                f"only {count - len(down)} of {count} OSDs came up: {what}",
                where="cluster",
                remedy=f"look into the logs in {folder}; free CPU and memory, and try again",
            )
        clock.sleep_s(0.1)


TIMEOUT_S = 5.0
IMAGE_DAEMON = "image"
"""What the way from the image to its block device is called, by the name of its socket."""


def try_ask(folder: Path, daemon: str, command: str, **words: str | list[str]) -> Any | None:
    """The answer of `osd.0` and the like; None where it does not answer.

    `words`: more of the command.
    """
    try:
        with (
            connect_socket(folder / f"{daemon}.asok", TIMEOUT_S) as line,
            line.makefile("rb") as answer,
        ):
            line.sendall(
                json.dumps({"prefix": command, "format": "json", **words}).encode() + b"\0"
            )
            return json.loads(answer.read(int.from_bytes(answer.read(4), "big")))
    except (OSError, ValueError):
        return None


def is_serving(folder: Path, osd: int) -> bool:
    """Whether an OSD says that it serves; it is asked itself, which takes no program."""
    status = try_ask(folder, f"osd.{osd}", "status")
    return status is not None and status.get("state") == "active"


def read_counters(folder: Path) -> dict[str, Any]:
    """The counters of each OSD of the cluster, by its name; None of one that does not answer."""
    entry = read_entry(folder)
    osds = [f"osd.{osd}" for osd, _ in entry.osds] if entry else []
    return {osd: try_ask(folder, osd, "perf dump") for osd in osds}


def read_image_counters(folder: Path) -> Any | None:
    """The counters of the image's client; None where it does not answer, as the kernel's own."""
    told = try_ask(folder, IMAGE_DAEMON, "perf dump")
    if not isinstance(told, dict):
        return None
    image = next((each for name, each in told.items() if name.startswith("librbd-")), None)
    return image and {**image, "active": told.get("objecter", {}).get("op_active")}


BRIDGE = re.compile(r"sc([0-9a-f]{6})")


def make(folder: Path, entry: ClusterEntry, gbit: float | None) -> None:
    """Make the bridge and a namespace for each host, with links that are no faster than `gbit`."""
    ip = find_program("ip")
    call([ip, "link", "add", entry.bridge, "type", "bridge"])
    call([ip, "link", "set", entry.bridge, "alias", str(folder)])
    call([ip, "address", "add", f"{entry.get_address(0)}/24", "dev", entry.bridge])
    call([ip, "link", "set", entry.bridge, "up"])
    for host in range(1, entry.hosts + 1):
        space, link = entry.name_namespace(host), entry.link(host)
        links.connect_namespace(space, link, entry.get_address(host), gbit)
        call([ip, "link", "set", link, "master", entry.bridge])


def set_link(entry: ClusterEntry, host: int, *, up: bool) -> None:
    """Plug a host in, or out."""
    call([find_program("ip"), "link", "set", entry.link(host), "up" if up else "down"])


def is_plugged(entry: ClusterEntry, host: int) -> bool:
    """Whether the port of one host is there and up."""
    return read_text(links.INTERFACES / entry.link(host) / "operstate") == "up"


def list_tags() -> Mapping[str, Path]:
    """The tag of each cluster whose bridge is there, with the folder that it names."""
    found = {}
    with suppress(OSError):
        for path in links.INTERFACES.iterdir():
            if (match := BRIDGE.fullmatch(path.name)) and (alias := read_text(path / "ifalias")):
                found[match[1]] = Path(alias)
    return found


def remove(tag: str) -> None:
    """Remove all of the cluster with this tag, the bridge last. Idempotent."""
    for path in links.INTERFACES.glob(f"sc{tag}p*"):
        links.remove_interface(path.name)
    for space in NAMESPACES.glob(f"stithy-{tag}-h*"):
        links.remove_namespace(space.name)
    links.remove_interface(f"sc{tag}")


OSD = "ceph-osd"


def find_osd_pids(folder: Path) -> Mapping[int, int]:
    """The process of each OSD that there is, by the OSD's number."""
    found = {}
    for pid in find_pids_inside(folder, OSD):
        words = read_cmdline(pid)
        if "-i" in words and "--mkfs" not in words:
            found[int(words[words.index("-i") + 1])] = pid
    return found


State = Literal["active", "stopped", "hung", "cut off", "starting"]
CLEAN = "Clean"
PRIMARY = "Started/Primary"


@dataclass(frozen=True)
class OsdStatus:
    """One OSD; None where it does not tell.

    `pgs`: the placement groups that it leads, `unclean` how many of them lack a copy or recover.
    `recovered`: objects that it has recovered since it started.
    """

    osd: int
    host: int
    state: State
    stored_bytes: int | None = None
    allocated_bytes: int | None = None
    size_bytes: int | None = None
    pgs: int | None = None
    unclean: int | None = None
    recovered: int | None = None


@dataclass(frozen=True)
class Status:
    """All OSDs, and what follows."""

    osds: tuple[OsdStatus, ...]

    groups: int
    """How many placement groups the pools of the volume have."""

    is_marked: bool
    """Whether the monitor holds an OSD for down or out."""

    @property
    def orphans(self) -> int | None:
        """How many placement groups no OSD leads; None where an OSD does not tell.

        Negative where OSDs do not agree yet who leads.
        """
        led = [osd.pgs for osd in self.osds if osd.pgs is not None]
        return self.groups - sum(led) if len(led) == len(self.osds) else None

    @property
    def has_orphans(self) -> bool:
        """Whether all OSDs serve, and agree that nobody leads a placement group."""
        is_serving = all(osd.state == "active" for osd in self.osds)
        return is_serving and self.orphans is not None and self.orphans > 0

    @property
    def health(self) -> str:
        """`healthy`, `recovering` or `degraded`, in words of what is not as it should be."""
        serving = sum(osd.state == "active" for osd in self.osds)
        if serving < len(self.osds):
            return f"degraded: {serving} of {len(self.osds)} OSDs serve"
        if any(each.unclean is None for each in self.osds):
            return "not known: an OSD does not tell its placement groups"
        if unclean := sum(each.unclean or 0 for each in self.osds):
            total = sum(each.pgs or 0 for each in self.osds)
            return f"recovering: {unclean} of {total} placement groups are not clean"
        if self.is_marked:
            return "degraded: the monitor holds an OSD for down or out"
        if self.orphans:
            lacking = max(0, self.orphans)
            return f"degraded: no OSD leads {lacking} of {self.groups} placement groups"
        return HEALTHY


HEALTHY, HEALTH_S = "healthy", 600.0
"""Own: how long a cluster may take to have all copies again."""


def wait_for_health(
    read: Callable[[], str], pause: Callable[[], None], good: Container[str] = (HEALTHY,)
) -> str:
    """Return the health of a cluster once it is good. Raises InfrastructureError after a limit.

    It is read twice: OSDs may not have heard of the last map when they are asked first.
    """
    clock = SystemClock()
    until_s = clock.monotonic_s() + HEALTH_S
    before, health = "", read()
    while health != before or health not in good:
        if clock.monotonic_s() > until_s:
            raise InfrastructureError(
                f"the cluster is not whole after {HEALTH_S:g} s: {health}", where="cluster",
                remedy="give it less data, faster drives or more CPUs",
            )  # fmt: skip
        pause()
        before, health = health, read()
    return health


def read_status(folder: Path, entry: ClusterEntry) -> Status:
    """Ask every OSD; one that is held or cut off is not asked."""
    pids = find_osd_pids(folder)
    osds = tuple(_read_osd(folder, entry, osd, host, pids) for osd, host in entry.osds)
    return Status(osds, entry.groups, has_noticed(folder, entry))


def read_health(folder: Path, entry: ClusterEntry) -> str:
    """Say how a cluster is, by what its OSDs say."""
    return read_status(folder, entry).health


def has_noticed(folder: Path, entry: ClusterEntry) -> bool:
    """Whether the monitor has marked an OSD down or out."""
    told = try_ask(folder, MONITOR, "perf dump", logger="cluster") or {}
    counted = told.get("cluster", {})
    return any(counted.get(name, len(entry.osds)) < len(entry.osds) for name in UP_AND_IN)


MONITOR = "mon.a"
UP_AND_IN = ("num_osd_up", "num_osd_in")
"""Among the monitor's counters. Source: l_cluster_num_osd_up in src/mon/Monitor.cc of Ceph."""


def _read_osd(folder: Path, entry: ClusterEntry, osd: int, host: int, pids: Any) -> OsdStatus:
    if osd not in pids:
        return OsdStatus(osd, host, "stopped")
    if is_held(pids[osd]):
        return OsdStatus(osd, host, "hung")
    name = f"osd.{osd}"
    books, groups = (try_ask(folder, name, word) for word in ("perf dump", PG_HISTORY))
    told = try_ask(folder, name, "status") or {}
    state: State = "active" if told.get("state") == "active" else "starting"
    if not is_plugged(entry, host):
        state = "cut off"
    store, counters = ((books or {}).get(part, {}) for part in ("bluestore", "osd"))
    size = counters.get("stat_bytes")
    leads = unclean = None
    if isinstance(groups, dict):
        states = [str(each.get("currently", "")) for each in groups.get("pgs", ())]
        led = [state for state in states if state.startswith(PRIMARY)]
        leads, unclean = len(led), sum(not each.endswith(CLEAN) for each in led)
    return OsdStatus(
        osd, host, state, store.get("bluestore_stored"), store.get("bluestore_allocated"),
        int(size) if size else None, leads, unclean, counters.get("recovery_ops"),
    )  # fmt: skip


PG_HISTORY = "dump_pgstate_history"
