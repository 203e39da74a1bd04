"""Links between this machine and network namespaces of it: made, limited, measured, removed.

The load driver may be at the far end of one (`load.network`), and the hosts of a laboratory cluster
are. Limits are token buckets (`tc … tbf`), which every kernel with networking has; delays are not.
"""

import ctypes
import hashlib
import os
import secrets
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from statistics import median

from stithy.errors import InfrastructureError, PreconditionError, give_reason
from stithy.hosts.devices import read_text
from stithy.hosts.host import NAMESPACES, LocalHost
from stithy.hosts.runner import Command
from stithy.needs import Need, Networking, Package, ProgramNeed, Root

TESTS = IPv4Network("198.18.0.0/15")
"""Networks for benchmarks, which lead nowhere else. Source: RFC 2544."""

ROUTES = Path("/proc/net/route")
INTERFACES = Path("/sys/class/net")
FAR = "eth0"
"""What the far end of a link is called in its namespace."""

CLONE_NEWNET = 0x40000000
"""Source: include/uapi/linux/sched.h of Linux."""

PATIENCE_S = 10.0
ROUND_TRIPS = 101

PACKAGES = {
    "ip": Package("iproute2", "iproute"),
    "tc": Package("iproute2", "iproute-tc"),
    "nsenter": Package("util-linux", "util-linux"),
}
"""What brings each program."""


def make_bucket_words(gbit: float) -> str:
    """A token bucket of 4 ms at that rate, and a queue of 10 ms, as words of `tc`."""
    burst = max(65536, round(gbit * 1e9 / 8 / 250))
    return f"tbf rate {gbit * 1e9:.0f}bit burst {burst} latency 10ms"


LIMITS = Networking(
    what="limits of links (tbf)",
    tried=(("tc", *f"qdisc add dev lo root {make_bucket_words(1.0)}".split()),),
    options="CONFIG_NET_SCH_TBF",
    why="load drivers over a network (`load.network`)",
)
NEEDS: tuple[Need, ...] = (
    Root(why=LIMITS.why),
    *(ProgramNeed(name=name, package=brings, why=LIMITS.why) for name, brings in PACKAGES.items()),
    Networking(
        what="links (veth)",
        tried=(("ip", "link", "add", "stithy", "type", "veth", "peer", "name", "stithy-peer"),),
        options="CONFIG_VETH",
        why=LIMITS.why,
    ),
    LIMITS,
)
"""Of a load driver over a network."""


def find_free_subnet(routes: Path = ROUTES) -> str:
    """The first three numbers of a network for tests that no route of this machine leads to.

    Raises PreconditionError where there is none.
    """
    taken = []
    for line in read_text(routes).splitlines()[1:]:
        words = line.split()
        # Addresses are the machine's own words. Source: proc(5).
        address, mask = (int(words[n], 16).to_bytes(4, sys.byteorder) for n in (1, 7))
        route = IPv4Network(f"{IPv4Address(address)}/{IPv4Address(mask)}", strict=False)
        taken += [route] if route.prefixlen > 0 else []
    free = [
        subnet for subnet in TESTS.subnets(new_prefix=24) if not any(map(subnet.overlaps, taken))
    ]
    if not free:
        raise PreconditionError(
            f"all of {TESTS}, the networks for tests, is in use",
            where="this machine",
            remedy="remove a route to a part of it (ip route)",
        )
    return str(secrets.choice(free).network_address).rpartition(".")[0]


def find_free_port(address: str) -> int:
    """Find a port of an address of this machine on which nobody listens."""
    with socket.create_server((address, 0)) as free:
        return int(free.getsockname()[1])


def connect_namespace(namespace: str, interface: str, address: str, gbit: float | None) -> None:
    """Make a namespace with this address, linked to an interface of this machine that is up.

    The link is no faster than `gbit` in either direction.
    """
    _call("ip", "netns", "add", namespace)
    peer = ("peer", "name", FAR, "netns", namespace)
    _call("ip", "link", "add", interface, "type", "veth", *peer)
    _call("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", FAR)
    for name in (FAR, "lo"):
        _call("ip", "-n", namespace, "link", "set", name, "up")
    _call("ip", "link", "set", interface, "up")
    if gbit is not None:
        words = ("root", *make_bucket_words(gbit).split())
        _call("tc", "qdisc", "add", "dev", interface, *words)
        _call("tc", "-n", namespace, "qdisc", "add", "dev", FAR, *words)


def remove_interface(name: str) -> None:
    """Remove an interface, its far end with it. Idempotent.

    Raises InfrastructureError where it stays.
    """
    try:
        if (INTERFACES / name).exists():
            _call("ip", "link", "delete", name)
    except InfrastructureError:
        if (INTERFACES / name).exists():  # else it has gone meanwhile
            raise


def remove_namespace(name: str) -> None:
    """Remove a namespace. Idempotent. Raises OSError where it stays."""
    if (NAMESPACES / name).exists():
        with suppress(InfrastructureError):  # of one that was never mounted, which is a file only
            _call("ip", "netns", "delete", name)
        (NAMESPACES / name).unlink(missing_ok=True)


def _call(*words: str) -> None:
    host = LocalHost()
    argv = [host.program(words[0]) or words[0], *words[1:]]
    finished = host.runner.run(Command(argv), timeout_s=30)
    if finished.code != 0:
        raise InfrastructureError(
            f"`{' '.join(words)}` failed: {finished.stderr.strip().rstrip('.')}",
            where="network",
            remedy="see `stithy doctor`, which tries what links need, then try again",
        )


@dataclass(frozen=True)
class DriverLink:
    """The way from a load driver's namespace to the server on this machine.

    `tag` is in its names; `subnet` are the first three numbers of its addresses.
    """

    tag: str
    bits_per_s: float
    subnet: str = ""

    @classmethod
    def of_run(cls, run_id: str, bits_per_s: float) -> "DriverLink":
        """The link of a run, which has one at a time."""
        return cls(hashlib.sha256(run_id.encode()).hexdigest()[:6], bits_per_s)

    @property
    def namespace(self) -> str:
        """The load driver's host."""
        return f"stithy-{self.tag}-driver"

    @property
    def interface(self) -> str:
        """This machine's end."""
        return f"sl{self.tag}"

    @property
    def address(self) -> str:
        """This machine's, on which a server may listen."""
        return f"{self.subnet}.1"

    def make(self) -> "DriverLink":
        """Make it, with addresses that nobody has; what a killed process left of it goes first."""
        self.remove()
        made = replace(self, subnet=find_free_subnet())
        far = f"{made.subnet}.2"
        connect_namespace(self.namespace, self.interface, far, self.bits_per_s / 1e9)
        _call("ip", "address", "add", f"{made.address}/24", "dev", self.interface)
        return made

    def remove(self) -> None:
        """Remove all of it. Idempotent."""
        remove_interface(self.interface)
        remove_namespace(self.namespace)

    def measure_round_trip_s(self) -> float:
        """Measure the median time of a byte there and back, seconds; no work is done for it.

        Raises InfrastructureError where nothing comes through.
        """
        try:
            with socket.create_server((self.address, 0)) as server, ThreadPoolExecutor(1) as pool:
                server.settimeout(PATIENCE_S)
                place = server.getsockname()
                with (
                    pool.submit(_connect_inside, self.namespace, place).result() as far,
                    server.accept()[0] as near,
                ):
                    return _measure_round_trip_s(near, far)
        except OSError as error:
            raise InfrastructureError(
                f"the load driver's network does not reach this machine: {give_reason(error)}",
                where=f"{self.interface}, {self.subnet}.0/24",
                remedy=f"let this machine's firewall pass {TESTS}",
            ) from error


def _connect_inside(namespace: str, place: tuple[str, int]) -> socket.socket:
    """Connect from a namespace, which the thread that calls it does not leave again."""
    with (NAMESPACES / namespace).open() as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return socket.create_connection(place, timeout=PATIENCE_S)


def _measure_round_trip_s(near: socket.socket, far: socket.socket) -> float:
    took_s = []
    for each in (near, far):
        each.settimeout(PATIENCE_S)
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(ROUND_TRIPS):
        began_s = time.perf_counter()
        near.sendall(b"?")
        far.sendall(far.recv(1))
        near.recv(1)
        took_s.append(time.perf_counter() - began_s)
    return median(took_s)
