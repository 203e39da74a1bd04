"""The network of a cluster: a bridge, and a network namespace for each host.

The bridge carries the folder of its cluster as its alias: so the kernel itself tells whose it is,
also when the folder has gone.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from stithy.cluster.layout import Entry
from stithy.cluster.tools import call, tool
from stithy.hosts.files import text_of
from stithy.hosts.host import NAMESPACES
from stithy.hosts.runner import Command, LocalRunner

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
