"""A cluster's folder: everything that belongs to a cluster lies in it, or is found from it.

The folder has an entry, written before anything is made, with names that were drawn for this
cluster alone. Its processes work in the folder, and by that they are found; so whoever is killed
leaves nothing that could not be removed.

What a storage policy means for Ceph: copies or shards, hosts, and the least that still serves.
`min_size` is such that a policy serves through as many failed hosts as its name says; Ceph's own
would stop earlier, to be safe from a further failure while data are written.

Memory and threads in ceph.conf are those of a laboratory on one machine. All paths in it are
relative to the folder in which every daemon works: the address of a socket holds 107 bytes only.
"""

import base64
import json
import math
import os
import re
import secrets
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from stithy.clock import SystemClock
from stithy.drives import filesystems
from stithy.drives.bridge import PACKAGES as OF_BRIDGES
from stithy.environment import state_home
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.hosts.devices import write_private
from stithy.hosts.links import PACKAGES as OF_LINKS
from stithy.hosts.links import find_free_subnet
from stithy.hosts.runner import Command, LocalRunner
from stithy.needs import Package

OSD_OVERHEAD_BYTES = 640 * 2**20
"""What BlueStore takes of a drive for its own database and log, with the share that must be free.
"""
SPARE = 1.3
"""Placement by hash fills some OSDs more than others."""

CODES: dict[str, tuple[int, int]] = {"2+1": (2, 1), "3+1": (3, 1), "4+2": (4, 2)}
"""Erasure codes by name: shards of data, shards of parity."""


@dataclass(frozen=True)
class RedundancyPolicy:
    """What is kept of each object, and how.

    `data_shards` is 1 for copies; `failures` is how many hosts may fail. `checksum` and
    `compression` are Ceph's names of algorithms, `none` for without. `iops_limit` None: no limit.
    """

    data_shards: int
    failures: int
    checksum: str = "crc32c"
    compression: str = "none"
    thick: bool = False
    iops_limit: int | None = None

    @property
    def is_coded(self) -> bool:
        return self.data_shards > 1

    @property
    def hosts(self) -> int:
        """How many hosts it needs, which is the pool's `size`."""
        return self.data_shards + self.failures

    @property
    def min_size(self) -> int:
        """With how many copies or shards it still serves."""
        return self.data_shards

    @property
    def redundancy(self) -> float:
        """Physical bytes for each byte, without compression."""
        return self.hosts / self.data_shards

    def count_drive_bytes(self, image_bytes: int, osds: int) -> int:
        """How large each drive must be that the whole image has room, bytes; whole MiB."""
        share = image_bytes * self.redundancy * SPARE / osds
        return -(-round(share + OSD_OVERHEAD_BYTES) // 2**20) * 2**20

    def __str__(self) -> str:
        """`FTT 1 (2 copies, min_size 1)`, with what else was asked for."""
        if self.is_coded:
            kept = f"erasure coding {self.data_shards}+{self.failures}"
            words = [f"{kept} (min_size {self.min_size})"]
        else:
            copies = "1 copy" if self.hosts == 1 else f"{self.hosts} copies"
            words = [f"FTT {self.failures} ({copies}, min_size {self.min_size})"]
        words += [f"checksum {self.checksum}"] if self.checksum != "crc32c" else []
        words += [f"compression {self.compression}"] if self.compression != "none" else []
        words += ["thick"] if self.thick else []
        words += [f"at most {self.iops_limit} IOPS"] if self.iops_limit else []
        return ", ".join(words)


GRACE_S, INTERVAL_S = 20.0, 6
"""Ceph's own of heartbeats. Source: osd_heartbeat_grace and osd_heartbeat_interval of Ceph."""

ENTRY = "cluster.json"
VERSION = 1
IMAGE = "image"
"""The beginning of the name of a volume's image."""

POOL = "volumes"
METADATA_POOL = "volumes-metadata"
"""Headers of images, which an erasure-coded pool cannot hold."""

PGS, METADATA_PGS = 32, 8
"""Placement groups of each."""


@dataclass(frozen=True)
class ClusterEntry:
    """What is written of a cluster before it is made.

    `tag` is in the names of its bridge and namespaces. `subnet` are the first three numbers of its
    addresses. `policy` in words; `least` copies or shards must serve. `image` is made in `pool`,
    under a name that no other has; `limited`: its limits must hold. `access`: how a cluster is
    reached that was there before, and has no hosts here.
    """

    name: str
    run_id: str | None
    tag: str
    subnet: str
    hosts: int
    drives_per_host: int
    policy: str = ""
    least: int | None = None
    pool: str = POOL
    image: str = IMAGE
    limited: bool = False
    access: Mapping[str, str] = field(default_factory=dict)

    @property
    def bridge(self) -> str:
        """The network between the hosts."""
        return f"sc{self.tag}"

    @property
    def groups(self) -> int:
        """How many placement groups its pools have."""
        return PGS + METADATA_PGS if self.pool == METADATA_POOL else PGS

    def name_namespace(self, host: int) -> str:
        """The network namespace that is a host, counted from 1."""
        return f"stithy-{self.tag}-h{host}"

    def link(self, host: int) -> str:
        """The host's port at the bridge."""
        return f"sc{self.tag}p{host}"

    def get_address(self, host: int) -> str:
        """The address of a host; 0 is this machine's, where monitor and clients are."""
        return f"{self.subnet}.{1 if host == 0 else 10 + host}"

    @property
    def osds(self) -> tuple[tuple[int, int], ...]:
        """The number of each OSD, and of the host that it is on."""
        count = self.hosts * self.drives_per_host
        return tuple((osd, osd // self.drives_per_host + 1) for osd in range(count))


def get_home() -> Path:
    """Where the folders of clusters lie, links resolved: processes are found by it."""
    return state_home().resolve() / "clusters"


def check_home() -> None:
    """Raise PreconditionError where Ceph, which takes lists of files, would split the path."""
    if odd := re.search(r"""[\s,;#$"'\\]""", str(get_home())):
        raise PreconditionError(
            f"Ceph cannot take a path with {odd[0]!r}",
            where=str(get_home()),
            remedy="name another directory in STITHY_STATE",
        )


def get_folder(name: str, run_id: str | None = None) -> Path:
    """The folder of a cluster, or of a candidate of a run."""
    return get_home() / (name if run_id is None else f"{run_id}.{name}")


def list_folders() -> list[Path]:
    """The folders of all clusters, sorted; also of those that nobody finished making or removing.

    One that a living process is about to give its name is not among them.
    """
    try:
        found = sorted(get_home().iterdir())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    return [each for each in found if each.is_dir() and not _is_being_made(each)]


def _is_being_made(folder: Path) -> bool:
    """Its name is `.NAME.PID` until its entry is in it."""
    pid = folder.name.rpartition(".")[2]
    return folder.name.startswith(".") and Path("/proc", pid).exists()


def make_entry(
    name: str,
    run_id: str | None,
    hosts: int,
    drives_per_host: int,
    policy: RedundancyPolicy | None = None,
) -> ClusterEntry:
    """An entry with names that nothing else has."""
    tag = secrets.token_hex(3)
    entry = ClusterEntry(
        name, run_id, tag, find_free_subnet(), hosts, drives_per_host, image=f"{IMAGE}-{tag}"
    )
    if policy is None:
        return entry
    pool = METADATA_POOL if policy.is_coded else POOL
    limited = policy.iops_limit is not None
    return replace(
        entry, policy=str(policy), least=policy.min_size, pool=pool, limited=limited
    )  # fmt: skip


def list_devices(folder: Path, osd: int) -> list[str]:
    """The block devices under an OSD: that of its data, and the faster one beside it."""
    links = (folder / f"osd.{osd}" / name for name in ("block", "block.db"))
    return [str(link.readlink()) for link in links if link.is_symlink()]


def make(folder: Path, entry: ClusterEntry) -> None:
    """Make the folder with its entry. Raises UserError where there is one."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
    fresh.mkdir(mode=0o700, exist_ok=True)
    write_private(fresh / ENTRY, json.dumps({"stithy_cluster": VERSION, **asdict(entry)}))
    try:
        fresh.rename(folder)
    except OSError as error:
        (fresh / ENTRY).unlink(missing_ok=True)
        fresh.rmdir()
        raise UserError(
            "a cluster of this name is already up, or was killed",
            where=folder.name,
            remedy="remove what killed runs have left with `stithy clean`, then run again",
        ) from error


def read_entry(folder: Path) -> ClusterEntry | None:
    """The entry of a folder; None where there is none that this version can read."""
    try:
        fields = json.loads((folder / ENTRY).read_text())
        if fields.pop("stithy_cluster") != VERSION:
            return None
        return ClusterEntry(**fields)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


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
osd pool default min size = 1
mon max pg per osd = 1000
mon allow pool size one = true
mon allow pool delete = true
mon data avail warn = 2
mon data avail crit = 1
mon osd full ratio = .98
mon osd backfillfull ratio = .97
mon osd nearfull ratio = .96
mon osd adjust heartbeat grace = false
osd heartbeat grace = {grace}
osd heartbeat interval = {interval}
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
bluestore fsck on mkfs = false
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


def write(
    folder: Path, entry: ClusterEntry, fsid: str, *, cached: bool = False, grace_s: float = GRACE_S
) -> None:
    """Write the configuration, and every key into the keyrings that need it.

    `cached`: each OSD has a faster device beside its own. `grace_s`: how long one may be silent,
    which monitor and OSDs count in whole seconds.
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
    grace = math.ceil(grace_s)
    text = GLOBAL.format(
        folder=folder, fsid=fsid, mon=mon, subnet=entry.subnet, cache=CACHE_BYTES,
        grace=grace, interval=min(INTERVAL_S, max(1, grace // 3)),
    )  # fmt: skip
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


PACKAGES = {
    "ceph-mon": Package("ceph-mon", "ceph-mon"),
    "ceph-osd": Package("ceph-osd", "ceph-osd"),
    "ceph": Package("ceph-common", "ceph-common"),
    "rados": Package("ceph-common", "ceph-common"),
    "rbd": Package("ceph-common", "ceph-common"),
    "rbd-nbd": Package("rbd-nbd", "rbd-nbd"),
    "monmaptool": Package("ceph-common", "ceph-common"),
    **OF_BRIDGES,
    "qemu-storage-daemon": Package("qemu-system-common qemu-block-extra", "qemu-block-rbd"),
    "iptables": Package("iptables", "iptables-nft"),
    **OF_LINKS,
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
    return filesystems.find_program(name, PACKAGES[name])


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
