"""Faults of a cluster, by one vocabulary: of studies and of `stithy cluster fault`.

They are done for real, and healed again. A daemon that dies is noticed at once, for its connections
are refused; a host that is cut off is noticed only by its silence. A host whose power fails is cut
off first and killed then. Packets are dropped within the host's own network namespace: no rule of
this machine's network is touched.

A cluster that was there before has only what its administrator may do: no process and no host of it
is touched.
"""

import os
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal
from uuid import uuid4

from stithy.cluster.daemons import find_osd_pids, make_osd, set_link, start_osd
from stithy.cluster.layout import Access, ClusterEntry, ask_ceph, call, find_program, list_devices
from stithy.errors import InfrastructureError
from stithy.hosts.host import NamespaceHost
from stithy.hosts.processes import end, resume_processes
from stithy.hosts.runner import Command

Direction = Literal["both", "in", "out"]


@dataclass(frozen=True)
class Packets:
    """Which packets of a host are dropped: what it is sent (`in`), what it sends, or both.

    `peer`: only those from and to this host, None for all others, monitor and clients among them.
    `share` is above 0 and at most 1.
    """

    direction: Direction = "both"
    peer: int | None = None
    share: float = 1.0

    def list_rules(self, entry: ClusterEntry) -> Iterator[tuple[str, ...]]:
        """The rules of the host's packet filter, as words of `iptables`."""
        chance = ("-m", "statistic", "--mode", "random", "--probability", f"{self.share:.6f}")
        for direction, chain, link, address in (("in", "INPUT", "-i", "-s"),
                                                ("out", "OUTPUT", "-o", "-d")):  # fmt: skip
            if self.direction in ("both", direction):
                peer = () if self.peer is None else (address, entry.get_address(self.peer))
                some = chance if self.share < 1 else ()
                yield ("-A", chain, link, "eth0", *peer, *some, "-j", "DROP")


Strike = Callable[[Path, ClusterEntry, int, Packets], object]


@dataclass(frozen=True)
class ClusterFault:
    """A kind of fault: of an OSD or a host, by its number.

    `takes`: which of `Packets` it has. `remote`: whether an administrator's commands do it, so that
    a cluster that was there before can have it. `loses`: whether what the OSD stored is gone.
    `strike` None: the host's drives lose their power, too, which `storage.power` does.
    """

    name: str
    of: Literal["OSD", "host"]
    text: str
    strike: Strike | None
    takes: frozenset[str] = frozenset()
    remote: bool = False
    loses: bool = False


def _signal_osds(
    folder: Path, entry: ClusterEntry, number: int, packets: Packets,
    *, sent: signal.Signals, of_host: bool = False,
) -> None:  # fmt: skip
    """Send a signal to the OSD of that number, or to all of the host of that number."""
    osds = [osd for osd, host in entry.osds if host == number] if of_host else [number]
    pids = find_osd_pids(folder)
    running = [pids[osd] for osd in osds if osd in pids]
    if sent == signal.SIGKILL:
        end(running, sent)
        return
    for pid in running:
        with suppress(ProcessLookupError):
            os.kill(pid, sent)


LOST = "lost"
"""The file of an OSD whose data are gone, with its devices: it is made anew when it is healed."""

LABEL_BYTES = 2**20
"""More than an OSD's label and the superblock by which all else on its device is found."""


def lose_osd(folder: Path, entry: ClusterEntry, osd: int, packets: Packets = Packets()) -> None:
    """Kill an OSD, and overwrite that by which its data are found."""
    _signal_osds(folder, entry, osd, packets, sent=signal.SIGKILL)
    devices = list_devices(folder, osd)
    (folder / f"osd.{osd}" / LOST).write_text("\n".join(devices))
    for device in devices:
        descriptor = os.open(device, os.O_WRONLY | os.O_SYNC)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(bytes(LABEL_BYTES))


FILTERED = "filtered."
"""How the names of files begin that say which hosts drop packets."""


def _drop_packets(folder: Path, entry: ClusterEntry, host: int, packets: Packets) -> None:
    (folder / f"{FILTERED}{host}").touch()
    for rule in packets.list_rules(entry):
        _filter(entry, host, *rule)


def _filter(entry: ClusterEntry, host: int, *words: str) -> None:
    runner = NamespaceHost(entry.name_namespace(host)).runner
    command = Command(argv=[find_program("iptables"), "-w", *words])
    if (finished := runner.run(command, timeout_s=30)).code != 0:
        raise InfrastructureError(
            f"the host's packet filter refuses a rule: {finished.stderr.strip()}",
            where=f"host {host}: iptables {' '.join(words)}",
            remedy="`stithy doctor` says what the kernel lacks; leave this fault out",
        )


def _mark_osd(folder: Path, entry: ClusterEntry, osd: int, packets: Packets, *, down: bool) -> None:
    if down:
        run_admin_command(folder, entry, "osd", "set-group", "noup", f"osd.{osd}")
    run_admin_command(folder, entry, "osd", "down" if down else "out", str(osd))


def run_admin_command(folder: Path, entry: ClusterEntry, *words: str) -> str:
    """Ask the cluster as its administrator, or as the user of one that was there before."""
    if not entry.access:
        return ask_ceph(folder, *words)
    access = Access(**entry.access)
    user = ["-c", access.conf, "--id", access.user, "--connect-timeout", "20"]
    return call([find_program("ceph"), *user, *words])


PARTITION = frozenset({"direction", "peer"})
FAULTS: Mapping[str, ClusterFault] = {
    fault.name: fault
    for fault in (
        ClusterFault("osd-killed", "OSD", "a killed OSD",
                     partial(_signal_osds, sent=signal.SIGKILL)),
        ClusterFault("osd-hung", "OSD", "an OSD that hangs",
                     partial(_signal_osds, sent=signal.SIGSTOP)),
        ClusterFault("osd-lost", "OSD", "an OSD that is lost with its data", lose_osd, loses=True),
        ClusterFault("osd-down", "OSD", "an OSD marked down", partial(_mark_osd, down=True),
                     remote=True),
        ClusterFault("osd-out", "OSD", "an OSD taken out", partial(_mark_osd, down=False),
                     remote=True),
        ClusterFault("host-link-down", "host", "a host cut off",
                     lambda folder, entry, host, _: set_link(entry, host, up=False)),
        ClusterFault("host-off", "host", "a host without power", None),
        ClusterFault("host-hung", "host", "a host that hangs",
                     partial(_signal_osds, sent=signal.SIGSTOP, of_host=True)),
        ClusterFault("host-partitioned", "host", "a partitioned network", _drop_packets,
                     takes=PARTITION),
        ClusterFault("host-packet-loss", "host", "a network that loses packets", _drop_packets,
                     takes=PARTITION | {"share"}),
    )
}  # fmt: skip


def readmit_osds(ask: Callable[..., object], osds: Iterable[int | str]) -> None:
    """Let a cluster use OSDs again that were marked down or out. Idempotent.

    `ask`: does a command of `ceph` by its words.
    """
    names = [f"osd.{osd}" for osd in osds]
    ask("osd", "unset-group", "noup", *names)
    ask("osd", "in", *names)


def repair_cluster(folder: Path, entry: ClusterEntry) -> None:
    """End all faults but those of `readmit_osds`: all that a laboratory's hosts suffer. Idempotent.

    Plugs all hosts in, lets packets pass, lets go on what is held, starts the OSDs that are not
    there, and makes those anew whose data are lost.
    """
    for host in range(1, entry.hosts + 1):
        set_link(entry, host, up=True)
    for path in folder.glob(f"{FILTERED}*"):
        _filter(entry, int(path.name.removeprefix(FILTERED)), "-F")
        path.unlink()
    present = find_osd_pids(folder)
    resume_processes(present.values())
    for osd, host in entry.osds:
        if osd not in present:
            if (folder / f"osd.{osd}" / LOST).exists():
                _replace_osd(folder, osd)
            start_osd(folder, entry, osd, host)


def _replace_osd(folder: Path, osd: int) -> None:
    """An empty OSD in the place of one whose data are lost, under its number and key."""
    home, number = folder / f"osd.{osd}", str(osd)
    device, *faster = (home / LOST).read_text().splitlines()
    for path in home.iterdir():
        if path.name not in ("keyring", LOST):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    uuid = str(uuid4())
    ask_ceph(folder, "osd", "down", number)
    # The command without `-actual` is a manager's, which asks whether it is safe.
    ask_ceph(folder, "osd", "destroy-actual", number, "--yes-i-really-mean-it")
    ask_ceph(folder, "osd", "new", uuid, number)
    ask_ceph(folder, "auth", "import", "-i", f"osd.{osd}/keyring")
    make_osd(folder, osd, device, faster[0] if faster else None, uuid)
    (home / LOST).unlink()
