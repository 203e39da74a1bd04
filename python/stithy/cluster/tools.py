"""The programs of Ceph, of the network and of images: found, called, and what they say.

What Ceph's daemons are told: ceph.conf, and a key for each of them.
Memory and threads are those of a laboratory on one machine. All paths are relative to the folder in
which every daemon works, for the address of a socket holds 107 bytes only.
"""

import base64
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.clock import SystemClock
from stithy.cluster.layout import ClusterEntry
from stithy.environment import search_path
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.devices import write_private
from stithy.hosts.runner import Command, LocalRunner
from stithy.needs import Package

CONF = "ceph.conf"
IMAGE_CONF = "image.conf"
"""The same for the way from the image to its block device, the only client that tells its own."""
KEYRING = "keyring"
CACHE_BYTES = 64 * 2**20
"""An OSD's cache: small, so that reads reach the drives, as they do in a cluster of full size."""

ALL = 'caps mon = "allow *"', 'caps osd = "allow *"', 'caps mgr = "allow *"'

SILENT = "[client]\nadmin socket ="
"""Commands of clients end before anybody could ask them."""

GLOBAL = """[global]
fsid = {fsid}
mon host = [v2:{mon}:3300,v1:{mon}:6789]
mon initial members = a
public network = {subnet}.0/24
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
keyring = {folder}/keyring
run dir = .
admin socket = $name.asok
log file = $name.log
pid file = $name.pid
crash dir = .
log max recent = 100
debug ms = 0
osd pool default pg autoscale mode = off
mon max pg per osd = 1000
mon allow pool size one = true
mon allow pool delete = true
mon data avail warn = 2
mon data avail crit = 1
mon osd full ratio = .98
mon osd backfillfull ratio = .97
mon osd nearfull ratio = .96
mon osd adjust heartbeat grace = false
[client]
admin socket =
log file =
[mon]
mon data = mon.$id
mon osd min down reporters = 1
[osd]
osd data = osd.$id
keyring = osd.$id/keyring
bluestore cache autotune = false
bluestore cache size = {cache}
bluestore debug enforce settings = ssd
osd op num shards = 2
osd op num threads per shard = 1
osd class load list = *
osd class default list = *
osd fast shutdown = true
"""

CACHED = "bluestore prefer deferred size = 65536\n"
"""Writes of up to 64 KiB go through the log, and so to the faster device first: what OSDs of disks
do by default."""


def make_key() -> str:
    """A cephx key: kind 1 (AES), its time, and 16 random bytes.

    Source: CryptoKey::encode in src/auth/Crypto.cc of Ceph.
    """
    head = struct.pack("<hiih", 1, int(SystemClock().now_s()), 0, 16)
    return base64.b64encode(head + os.urandom(16)).decode()


def write(folder: Path, entry: ClusterEntry, fsid: str, *, cached: bool = False) -> None:
    """Write the configuration, and every key into the keyrings that need it.

    `cached`: each OSD has a faster device beside its own.
    """
    keys = {f"osd.{osd}": make_key() for osd, _ in entry.osds}
    admin = _write_section("client.admin", make_key(), ALL)
    osds = ('caps mon = "allow profile osd"', 'caps osd = "allow *"')
    every = [_write_section("mon.", make_key(), ('caps mon = "allow *"',)), admin]
    every += [_write_section(name, key, osds) for name, key in keys.items()]
    write_private(folder / "mon.keyring", "".join(every))
    write_private(folder / KEYRING, admin)
    for name, key in keys.items():
        (folder / name).mkdir(mode=0o700)
        write_private(folder / name / "keyring", _write_section(name, key, osds))
    mon = entry.get_address(0)
    text = GLOBAL.format(folder=folder, fsid=fsid, mon=mon, subnet=entry.subnet, cache=CACHE_BYTES)
    places = [
        f"[osd.{osd}]\ncrush location = root=default host=h{host}\n" for osd, host in entry.osds
    ]
    text += (CACHED if cached else "") + "".join(places)
    write_private(folder / CONF, text)
    write_private(folder / IMAGE_CONF, text.replace(SILENT, f"{SILENT} image.asok"))


def write_told(folder: Path, conf: Path, user: str) -> Path:
    """A copy of a configuration of somebody's cluster, by which the image's client tells its own.

    It keeps its name, for that is the name of the cluster, by which keyrings are found.
    """
    copy = folder / "client" / conf.name
    copy.parent.mkdir(mode=0o700)
    text = conf.read_text(encoding="utf-8", errors="replace")  # of comments in another encoding
    write_private(copy, f"{text}\n[client.{user}]\nadmin socket = image.asok\n")
    return copy


def _write_section(name: str, key: str, caps: tuple[str, ...]) -> str:
    return "\n".join([f"[{name}]", f"key = {key}", *caps, ""])


SYSTEM_FOLDERS = tuple(map(Path, ("/usr/sbin", "/sbin", "/usr/bin", "/bin")))
PACKAGES = {
    "ceph-mon": Package("ceph-mon", "ceph-mon"),
    "ceph-osd": Package("ceph-osd", "ceph-osd"),
    "ceph": Package("ceph-common", "ceph-common"),
    "rbd": Package("ceph-common", "ceph-common"),
    "rbd-nbd": Package("rbd-nbd", "rbd-nbd"),
    "monmaptool": Package("ceph-common", "ceph-common"),
    "qemu-storage-daemon": Package("qemu-system-common qemu-block-extra", "qemu-block-rbd"),
    "nbdfuse": Package("libnbd-bin", "nbdfuse"),
    "umount": Package("mount", "util-linux"),
    "ip": Package("iproute2", "iproute"),
    "tc": Package("iproute2", "iproute-tc"),
    "nsenter": Package("util-linux", "util-linux"),
    "losetup": Package("mount", "util-linux"),
}
"""What brings each program."""


@dataclass(frozen=True)
class Access:
    """How a client reaches a cluster: its configuration, absolute, and the user's name."""

    conf: str = CONF
    user: str = "admin"

    def list_rbd_words(self, *words: str) -> list[str]:
        """The words of a command of `rbd`."""
        return [find_program("rbd"), "-c", self.conf, "--id", self.user, *words]


def find_program(name: str) -> str:
    """The full path of a program. Raises PreconditionError where it is not there."""
    for folder in (*search_path(), *SYSTEM_FOLDERS):
        if os.access(folder / name, os.X_OK):
            return str(folder / name)
    raise PreconditionError(
        f"the program {name} was not found", where="this machine", remedy=PACKAGES[name].install()
    )


def call(argv: Sequence[str], folder: Path | None = None, *, timeout_s: float = 60.0) -> str:
    """Run to the end; what it wrote. Raises InfrastructureError where it fails."""
    finished = LocalRunner().run(Command(argv=argv, directory=folder), timeout_s=timeout_s)
    if finished.code != 0:
        said = (finished.stderr + finished.stdout).strip().splitlines()
        last = said[-1].rstrip(".") if said else f"it ended with code {finished.code}"
        raise InfrastructureError(
            f"{Path(argv[0]).name} failed: {last}",
            where=" ".join(argv[1:6]),
            remedy="look into the logs in the cluster's folder; free memory and CPU, and try again",
        )
    return finished.stdout


def ask_ceph(folder: Path, *words: str) -> str:
    """Ask the cluster in this folder, as its administrator."""
    return call([find_program("ceph"), "-c", CONF, "--connect-timeout", "20", *words], folder)


def run_rbd(folder: Path, *words: str, timeout_s: float = 60.0) -> str:
    """Do something to images of the cluster in this folder."""
    return call([find_program("rbd"), "-c", CONF, *words], folder, timeout_s=timeout_s)
