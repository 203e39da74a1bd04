"""The network of a cluster: a bridge, and a network namespace for each host."""

from pathlib import Path

from stithy.cluster.layout import Entry
from stithy.cluster.tools import call, tool
from stithy.hosts.runner import Command, LocalRunner

NAMESPACES = Path("/run/netns")
INTERFACES = Path("/sys/class/net")


def make(entry: Entry, gbit: float | None) -> None:
    """Make the bridge and a namespace for each host, with links that are no faster than `gbit`."""
    ip = tool("ip")
    call([ip, "link", "add", entry.bridge, "type", "bridge"])
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
    """A token bucket of a millisecond at that rate, and a queue of 10 ms."""
    rate_bytes = gbit * 1e9 / 8
    burst = max(65536, round(rate_bytes / 250))
    shape = ["tbf", "rate", f"{gbit * 1e9:.0f}bit", "burst", f"{burst}", "latency", "10ms"]
    call([*tc, "qdisc", "add", "dev", link, "root", *shape])


def inside(entry: Entry, host: int) -> list[str]:
    """The words by which a program starts on a host.

    `ip netns exec` would also copy all mounts, which then could not be unmounted.
    """
    return [tool("nsenter"), f"--net={NAMESPACES / entry.namespace(host)}", "--"]


def set_link(entry: Entry, host: int, *, up: bool) -> None:
    """Plug a host in, or out."""
    call([tool("ip"), "link", "set", entry.link(host), "up" if up else "down"])


def all_plugged(entry: Entry) -> bool:
    """Whether every host's port is there and up."""
    return all(_is_up(entry.link(host)) for host in range(1, entry.hosts + 1))


def _is_up(link: str) -> bool:
    try:
        return (INTERFACES / link / "operstate").read_text().strip() == "up"
    except OSError:
        return False


def remove(entry: Entry) -> None:
    """Remove all of it. Idempotent."""
    for host in range(1, entry.hosts + 1):
        if (INTERFACES / entry.link(host)).exists():
            _try(["link", "delete", entry.link(host)])
        if (NAMESPACES / entry.namespace(host)).exists():
            _try(["netns", "delete", entry.namespace(host)])
    if (INTERFACES / entry.bridge).exists():
        _try(["link", "delete", entry.bridge])


def _try(words: list[str]) -> None:
    LocalRunner().run(Command(argv=[tool("ip"), *words]), timeout_s=30)
