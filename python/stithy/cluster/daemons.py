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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from stithy.clock import SystemClock
from stithy.cluster import tools
from stithy.cluster.layout import Entry, read_entry
from stithy.cluster.tools import call, ceph, tool
from stithy.errors import InfrastructureError
from stithy.hosts.devices import connected, text_of
from stithy.hosts.host import NAMESPACES, Host, LocalHost, NamespaceHost
from stithy.hosts.runner import Command, LocalRunner, Running

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
    tools.write(folder, entry, fsid, cached=bool(faster))
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
    daemon = [tool("ceph-osd"), "-c", tools.CONF, "-i", str(osd), "-f"]
    start(folder, daemon, NamespaceHost(entry.namespace(host)))


def _start_monitor(folder: Path, entry: Entry, fsid: str) -> None:
    address = f"[v2:{entry.address(0)}:3300,v1:{entry.address(0)}:6789]"
    map_of_it = ["--create", "--clobber", "--fsid", fsid, "--addv", "a", address, "monmap"]
    call([tool("monmaptool"), *map_of_it], folder)
    daemon = [tool("ceph-mon"), "-c", tools.CONF, "-i", "a"]
    call([*daemon, "--mkfs", "--monmap", "monmap", "--keyring", "mon.keyring"], folder)
    start(folder, [*daemon, "-f"])


def _make_osd(folder: Path, osd: int, device: str, cache: str | None, uuid: str) -> None:
    (folder / f"osd.{osd}" / "block").symlink_to(device)
    words = ["-c", tools.CONF, "-i", str(osd), "--mkfs", "--osd-uuid", uuid]
    words += ["--bluestore-block-db-path", cache] if cache else []
    call([tool("ceph-osd"), *words, "--no-mon-config"], folder)


def _wait(folder: Path, count: int) -> None:
    clock = SystemClock()
    until_s = clock.monotonic_s() + PATIENCE_S
    while (up := sum(serves(folder, osd) for osd in range(count))) < count:
        if clock.monotonic_s() > until_s:
            raise InfrastructureError(
                f"only {up} of {count} OSDs came up within {PATIENCE_S:g} s",
                where="cluster",
                remedy=f"look into the logs in {folder}; free CPU and memory, and try again",
            )
        clock.sleep_s(0.2)


TIMEOUT_S = 5.0
IMAGE_DAEMON = "image"
"""What the way from the image to its block device is called, by the name of its socket."""


def try_ask(folder: Path, daemon: str, command: str) -> Any | None:
    """The answer of `osd.0` and the like; None where it does not answer."""
    try:
        with connected(folder / f"{daemon}.asok", TIMEOUT_S) as line, line.makefile("rb") as answer:
            line.sendall(json.dumps({"prefix": command, "format": "json"}).encode() + b"\0")
            return json.loads(answer.read(int.from_bytes(answer.read(4), "big")))
    except (OSError, ValueError):
        return None


def serves(folder: Path, osd: int) -> bool:
    """Whether an OSD says that it serves; it is asked itself, which takes no program."""
    status = try_ask(folder, f"osd.{osd}", "status")
    return status is not None and status.get("state") == "active"


def readings(folder: Path) -> dict[str, Any]:
    """The counters of each OSD of the cluster, by its name; None of one that does not answer."""
    entry = read_entry(folder)
    osds = [f"osd.{osd}" for osd, _ in entry.osds] if entry else []
    return {osd: try_ask(folder, osd, "perf dump") for osd in osds}


def image_counters(folder: Path) -> Any | None:
    """The counters of the image's client; None where it does not answer, as the kernel's own."""
    told = try_ask(folder, IMAGE_DAEMON, "perf dump")
    if not isinstance(told, dict):
        return None
    image = next((each for name, each in told.items() if name.startswith("librbd-")), None)
    return image and {**image, "active": told.get("objecter", {}).get("op_active")}


INTERFACES = Path("/sys/class/net")
BRIDGE = re.compile(r"sc([0-9a-f]{6})")


def make(folder: Path, entry: Entry, gbit: float | None) -> None:
    """Make the bridge and a namespace for each host, with links that are no faster than `gbit`."""
    ip = tool("ip")
    call([ip, "link", "add", entry.bridge, "type", "bridge"])
    call([ip, "link", "set", entry.bridge, "alias", str(folder)])
    call([ip, "address", "add", f"{entry.address(0)}/24", "dev", entry.bridge])
    call([ip, "link", "set", entry.bridge, "up"])
    for host in range(1, entry.hosts + 1):
        space, link = entry.namespace(host), entry.link(host)
        call([ip, "netns", "add", space])
        call([ip, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space])
        call([ip, "link", "set", link, "master", entry.bridge, "up"])
        call([ip, "-n", space, "address", "add", f"{entry.address(host)}/24", "dev", "eth0"])
        call([ip, "-n", space, "link", "set", "eth0", "up"])
        call([ip, "-n", space, "link", "set", "lo", "up"])
        if gbit is not None:
            _limit([tool("tc")], link, gbit)
            _limit([tool("tc"), "-n", space], "eth0", gbit)


def _limit(tc: list[str], link: str, gbit: float) -> None:
    call([*tc, "qdisc", "add", "dev", link, "root", *bucket(gbit).split()])


def bucket(gbit: float) -> str:
    """A token bucket of 4 ms at that rate, and a queue of 10 ms, as words of `tc`."""
    burst = max(65536, round(gbit * 1e9 / 8 / 250))
    return f"tbf rate {gbit * 1e9:.0f}bit burst {burst} latency 10ms"


def set_link(entry: Entry, host: int, *, up: bool) -> None:
    """Plug a host in, or out."""
    call([tool("ip"), "link", "set", entry.link(host), "up" if up else "down"])


def all_plugged(entry: Entry) -> bool:
    """Whether every host's port is there and up."""
    return all(is_plugged(entry, host) for host in range(1, entry.hosts + 1))


def is_plugged(entry: Entry, host: int) -> bool:
    """Whether the port of one host is there and up."""
    return text_of(INTERFACES / entry.link(host) / "operstate") == "up"


def tags() -> Mapping[str, Path]:
    """The tag of each cluster whose bridge is there, with the folder that it names."""
    found = {}
    with suppress(OSError):
        for each in INTERFACES.iterdir():
            if (match := BRIDGE.fullmatch(each.name)) and (alias := text_of(each / "ifalias")):
                found[match[1]] = Path(alias)
    return found


def remove(tag: str) -> None:
    """Remove all of the cluster with this tag, the bridge last. Idempotent."""
    for each in INTERFACES.glob(f"sc{tag}p*"):
        _try(["link", "delete", each.name])
    for space in NAMESPACES.glob(f"stithy-{tag}-h*"):
        _try(["netns", "delete", space.name])
        with suppress(OSError):  # one that was never mounted is a file only
            space.unlink(missing_ok=True)
    if (INTERFACES / f"sc{tag}").exists():
        _try(["link", "delete", f"sc{tag}"])


def _try(words: list[str]) -> None:
    LocalRunner().run(Command(argv=[tool("ip"), *words]), timeout_s=30)
