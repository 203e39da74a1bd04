"""The image of a volume: its pool by the policy, and its way to a block device.

The kernel's own client is used where it is there. Elsewhere the image goes through QEMU's NBD
export, nbdfuse and a loop device. QEMU's own FUSE export mixes up concurrent writes, and rbd-fuse
drops errors: neither is ever used.

On that way the kernel asks for zeros by a discard, so a discard of any size must give zeros. librbd
skips parts of 64 KiB unless it is told not to, and QEMU must not ignore discards. A thick image
therefore stays allocated because its file system sends none (`VolumeSpec.whole`).
"""

from collections.abc import Callable
from pathlib import Path

from stithy.clock import SystemClock
from stithy.cluster import kernel
from stithy.cluster.configuration import IMAGE_CONF, write_told
from stithy.cluster.daemons import start
from stithy.cluster.layout import METADATA_POOL, POOL, Entry
from stithy.cluster.policy import Policy
from stithy.cluster.tools import Access, call, ceph, rbd, tool
from stithy.errors import InfrastructureError

PGS = 32
OWN = Access()
"""To a laboratory cluster, in its folder."""

SOCKET = "nbd.sock"
CONNECTIONS = 4
PATIENCE_S = 30.0
FEATURES = "layering,exclusive-lock"
WHOLE_DISCARDS = ("rbd_skip_partial_discard", "false")
THICK_TIMEOUT_S = 3600.0
"""Every byte of the image is written, as often as the policy says."""


def make(folder: Path, entry: Entry, policy: Policy, size_bytes: int) -> None:
    """Make the pool or pools of the policy, and the image."""
    pgs = str(PGS)
    if policy.coded:
        _coded_pool(folder, policy, pgs)
        _copies(folder, METADATA_POOL, "8", policy.failures + 1)
    else:
        _copies(folder, POOL, pgs, policy.hosts)
    _qualities(folder, policy)
    image = f"{entry.pool}/{entry.image}"
    words = ["create", "--size", f"{size_bytes // 2**20}M", "--image-feature", FEATURES]
    words += ["--data-pool", POOL] if policy.coded else []
    words += ["--thick-provision", "--no-progress"] if policy.thick else []
    rbd(folder, *words, image, timeout_s=THICK_TIMEOUT_S)
    rbd(folder, "config", "image", "set", image, *WHOLE_DISCARDS)


def limit(folder: Path, entry: Entry, iops: int) -> None:
    """Limit the requests of the image, a second; clients that have it open take that over."""
    image = f"{entry.pool}/{entry.image}"
    rbd(folder, "config", "image", "set", image, "rbd_qos_iops_limit", str(iops))


def _coded_pool(folder: Path, policy: Policy, pgs: str) -> None:
    shards = [f"k={policy.data_shards}", f"m={policy.failures}", "crush-failure-domain=host"]
    ceph(folder, "osd", "erasure-code-profile", "set", "policy", *shards)
    ceph(folder, "osd", "pool", "create", POOL, pgs, pgs, "erasure", "policy")
    ceph(folder, "osd", "pool", "set", POOL, "allow_ec_overwrites", "true")
    ceph(folder, "osd", "pool", "set", POOL, "min_size", str(policy.min_size))
    ceph(folder, "osd", "pool", "application", "enable", POOL, "rbd")


def _copies(folder: Path, pool: str, pgs: str, count: int) -> None:
    ceph(folder, "osd", "pool", "create", pool, pgs, pgs, "replicated")
    sure = ["--yes-i-really-mean-it"] if count == 1 else []
    ceph(folder, "osd", "pool", "set", pool, "size", str(count), *sure)
    ceph(folder, "osd", "pool", "set", pool, "min_size", "1")
    ceph(folder, "osd", "pool", "application", "enable", pool, "rbd")


def _qualities(folder: Path, policy: Policy) -> None:
    wanted = {"csum_type": policy.checksum} if policy.checksum != "crc32c" else {}
    if policy.compression != "none":
        wanted |= {"compression_algorithm": policy.compression, "compression_mode": "force"}
    for key, value in wanted.items():
        ceph(folder, "osd", "pool", "set", POOL, key, value)


def attach(folder: Path, entry: Entry, access: Access = OWN, *, limited: bool = False) -> str:
    """Make a block device of the image, by the kernel's client where there is one.

    `limited`: limits of the image must hold.
    """
    by_kernel = kernel.mapped(entry.pool, entry.image, access, folder, limited=limited)
    return by_kernel or _bridged(folder, entry, access)


def _bridged(folder: Path, entry: Entry, access: Access) -> str:
    """Through programs, with a client of the cluster in QEMU."""
    node = f"driver=rbd,node-name=image,pool={entry.pool},image={entry.image}"
    own = access == OWN
    conf = IMAGE_CONF if own else write_told(folder, Path(access.conf), access.user)
    return bridge(folder, f"{node},conf={conf},user={access.user},discard=unmap,cache.direct=on")


def bridge(folder: Path, options: str) -> str:
    """The block device of QEMU's node `image`, by its options; all of it is found by `folder`."""
    server = f"addr.type=unix,addr.path={SOCKET},max-connections={4 * CONNECTIONS}"
    export = "type=nbd,id=export,node-name=image,name=image,writable=on"
    words = ["--blockdev", options, "--nbd-server", server, "--export", export]
    start(folder, [tool("qemu-storage-daemon"), *words])
    _wait_for(folder / SOCKET, folder, lambda: (folder / SOCKET).exists())
    file = folder / "device"
    file.touch(mode=0o600)
    address = f"nbd+unix:///image?socket={SOCKET}"
    start(folder, [tool("nbdfuse"), "-C", str(CONNECTIONS), "device", address])
    _wait_for(file, folder, lambda: file.stat().st_size > 0)
    return call(
        [tool("losetup"), "--direct-io=on", "--sector-size", "4096", "-f", "--show", str(file)]
    ).strip()


def _wait_for(what: Path, folder: Path, there: Callable[[], bool]) -> None:
    clock = SystemClock()
    until_s = clock.monotonic_s() + PATIENCE_S
    while not there():
        if clock.monotonic_s() > until_s:
            said = (folder / "errors.txt").read_text(errors="replace").strip().splitlines()[-2:]
            raise InfrastructureError(
                f"{what.name} did not appear" + "".join(f": {each}" for each in said),
                where=str(folder),
                remedy="install what `stithy doctor` says is missing, and try again",
            )
        clock.sleep_s(0.05)
